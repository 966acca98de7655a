'use strict';
// Gives a process the clock and the folders of a test: `Date` is shifted, timers are left alone, the user database names
// the test's home, and what the user's processes share in `/tmp` lies in the test's folder. The setup file gives the clock
// and the home to the test's own process; `NODE_OPTIONS` loads this file into the programs that tests start.
const { syncBuiltinESMExports } = require('node:module');
const fs = require('node:fs');
const os = require('node:os');

const MachineDate = Date;
const machineUser = os.userInfo;
const exists = fs.existsSync;

/** Makes `now`, a function that returns milliseconds since the epoch, the source of `Date`. */
exports.giveDate = (now) => {
  // A function and no `Proxy`, through which each of a million dates would take several times as long.
  function GivenDate(...values) {
    if (new.target === undefined) return new MachineDate(now()).toString();
    if (new.target === GivenDate)
      return values.length === 0 ? new MachineDate(now()) : new MachineDate(...values);
    return Reflect.construct(MachineDate, values.length === 0 ? [now()] : values, new.target);
  }
  Object.setPrototypeOf(GivenDate, MachineDate);
  GivenDate.prototype = MachineDate.prototype;
  GivenDate.now = () => new MachineDate(now()).getTime();
  globalThis.Date = GivenDate;
};

/** Makes `home` the home folder of the user, on a machine that is not a container, even if this one is. */
exports.giveHome = (home) => {
  const marks = ['/.dockerenv', '/run/.containerenv'];
  fs.existsSync = (file) => !marks.includes(file) && exists(file);
  os.userInfo = (...options) => ({ ...machineUser(...options), homedir: home });
  syncBuiltinESMExports();
};

// The functions that take paths and are used on the folder that all processes of a user share.
const TAKE_PATHS = [
  ...['access', 'chmod', 'copyFile', 'link', 'lstat', 'mkdir', 'open', 'readdir', 'readFile', 'readlink'],
  ...['rename', 'rm', 'rmdir', 'stat', 'symlink', 'unlink', 'utimes', 'writeFile'],
];

/** Moves what the user's processes share in `/tmp` to `folder`, whatever TMPDIR says. */
const giveSharedFolder = (folder) => {
  const shared = `/tmp/hooktrail-${process.getuid()}`;
  const moved = (value) =>
    value === shared || (typeof value === 'string' && value.startsWith(`${shared}/`))
      ? `${folder}${value.slice('/tmp'.length)}`
      : value;
  const move = (owner, key) => {
    const original = owner[key];
    owner[key] = (first, second, ...rest) => original(moved(first), moved(second), ...rest);
  };
  for (const name of TAKE_PATHS) {
    move(fs, `${name}Sync`);
    move(fs.promises, name);
  }
  const { existsSync } = fs;
  fs.existsSync = (file) => existsSync(moved(file));
  syncBuiltinESMExports();
};

const { HOOKTRAIL_TEST_NOW, HOOKTRAIL_TEST_SHIFT, HOOKTRAIL_TEST_HOME, HOOKTRAIL_TEST_SHARED } = process.env;
// A machine that is emulated has a monotonic clock of its own.
if (HOOKTRAIL_TEST_NOW) exports.giveDate(() => Number(HOOKTRAIL_TEST_NOW) + performance.now());
// Uses the monotonic clock, which all processes share and nobody sets.
else if (HOOKTRAIL_TEST_SHIFT)
  exports.giveDate(() => Number(process.hrtime.bigint()) / 1e6 + Number(HOOKTRAIL_TEST_SHIFT));
if (HOOKTRAIL_TEST_HOME) exports.giveHome(HOOKTRAIL_TEST_HOME);
if (HOOKTRAIL_TEST_SHARED) giveSharedFolder(HOOKTRAIL_TEST_SHARED);
// Wine sets it anew in each process.
if (process.env.HOOKTRAIL_TEST_APPDATA) process.env.APPDATA = process.env.HOOKTRAIL_TEST_APPDATA;
