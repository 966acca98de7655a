'use strict';
// Loaded into a program by NODE_OPTIONS: the random bytes that its temporary files are named with are the same in each
// run, so that a fault at one of them can be asked for by its path.
const crypto = require('node:crypto');
const { syncBuiltinESMExports } = require('node:module');

let drawn = 0;
const { randomBytes } = crypto;
crypto.randomBytes = (size, done) => {
  if (done || size !== 8) return randomBytes(size, done);
  const bytes = Buffer.alloc(size);
  bytes.writeUInt32BE(++drawn, 4);
  return bytes;
};
syncBuiltinESMExports();
