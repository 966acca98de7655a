'use strict';
// Kills its process right before an operation: the HOOKTRAIL_TEST_KILL_AT-th of those that the process asks the system
// for without waiting, such as to open, write or rename a file, to connect, to send, or to start a program. Loaded by
// `NODE_OPTIONS` into a process. One that ends before writes the number of its operations to HOOKTRAIL_TEST_OPERATIONS.
const { createHook } = require('node:async_hooks');
const { writeFileSync } = require('node:fs');

const OPERATIONS = new Set(['FSREQCALLBACK', 'FSREQPROMISE', 'PROCESSWRAP', 'TCPCONNECTWRAP', 'WRITEWRAP']);
const { HOOKTRAIL_TEST_KILL_AT, HOOKTRAIL_TEST_OPERATIONS } = process.env;
// What the process starts is not killed.
delete process.env.HOOKTRAIL_TEST_KILL_AT;
delete process.env.HOOKTRAIL_TEST_OPERATIONS;
let count = 0;
if (HOOKTRAIL_TEST_OPERATIONS) {
  createHook({
    init: (_, type) => {
      if (OPERATIONS.has(type) && ++count === Number(HOOKTRAIL_TEST_KILL_AT))
        process.kill(process.pid, 'SIGKILL');
    },
  }).enable();
  process.on('exit', () => writeFileSync(HOOKTRAIL_TEST_OPERATIONS, String(count)));
}
