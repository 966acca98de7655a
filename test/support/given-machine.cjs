'use strict';
// Gives a process the clock and the home of a test: `Date` is shifted, timers are left alone, and the user database names
// the test's home. The setup file gives them to the test's own process; `NODE_OPTIONS` loads this file into the programs
// that tests start.
const { syncBuiltinESMExports } = require('node:module');
const fs = require('node:fs');
const os = require('node:os');

const MachineDate = Date;
const machineUser = os.userInfo;
const exists = fs.existsSync;

/** Makes `now`, a function that returns milliseconds since the epoch, the source of `Date`. */
exports.giveDate = (now) => {
  const current = () => new MachineDate(now());
  globalThis.Date = new Proxy(MachineDate, {
    apply: () => current().toString(),
    construct: (target, values, newTarget) =>
      Reflect.construct(target, values.length === 0 ? [now()] : values, newTarget),
    get: (target, name) => (name === 'now' ? () => current().getTime() : target[name]),
  });
};

/** Makes `home` the home folder of the user, on a machine that is no container whatever this one is. */
exports.giveHome = (home) => {
  const marks = ['/.dockerenv', '/run/.containerenv'];
  fs.existsSync = (file) => !marks.includes(file) && exists(file);
  os.userInfo = (...options) => ({ ...machineUser(...options), homedir: home });
  syncBuiltinESMExports();
};

const { HOOKTRAIL_TEST_NOW, HOOKTRAIL_TEST_SHIFT, HOOKTRAIL_TEST_HOME } = process.env;
// A machine that is emulated has a monotonic clock of its own.
if (HOOKTRAIL_TEST_NOW) exports.giveDate(() => Number(HOOKTRAIL_TEST_NOW) + performance.now());
// From the monotonic clock, which all processes share and nobody sets.
else if (HOOKTRAIL_TEST_SHIFT)
  exports.giveDate(() => Number(process.hrtime.bigint()) / 1e6 + Number(HOOKTRAIL_TEST_SHIFT));
if (HOOKTRAIL_TEST_HOME) exports.giveHome(HOOKTRAIL_TEST_HOME);
