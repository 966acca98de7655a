'use strict';
// Loaded into a program by NODE_OPTIONS: the first write of 44 bytes, a journal's record, writes 10 of them, as on a
// disk that becomes full and has room again right afterwards.
const fs = require('node:fs');
const { promisify } = require('node:util');

const { write } = fs;
let isCut = false;
fs.write = (fd, bytes, offset, length, ...rest) => {
  const cut = !isCut && length === 44;
  isCut ||= cut;
  return write(fd, bytes, offset, cut ? 10 : length, ...rest);
};
fs.write[promisify.custom] = (fd, bytes, ...rest) =>
  new Promise((resolve, reject) => {
    fs.write(fd, bytes, ...rest, (error, bytesWritten) =>
      error ? reject(error) : resolve({ bytesWritten, buffer: bytes }),
    );
  });
