'use strict';
// Records for a test which signals a program has handled, and when. Loaded by `NODE_OPTIONS` into a process, it appends
// a line to the file HOOKTRAIL_TEST_SIGNALS for each signal, with the milliseconds of its own clock before and after
// its listeners ran.
const { appendFileSync } = require('node:fs');

const emit = process.emit;
process.emit = function (name, ...values) {
  const before = performance.now();
  const isHeard = emit.call(this, name, ...values);
  if (/^SIG[A-Z]+$/.test(name))
    appendFileSync(process.env.HOOKTRAIL_TEST_SIGNALS, `${name} ${before} ${performance.now()}\n`);
  return isHeard;
};
