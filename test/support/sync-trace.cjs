'use strict';
// Loaded into `webhooks listen` by NODE_OPTIONS: records, in order, what happens to the journal on the disk and which
// deliveries are acknowledged. A line is JSON: `{op: 'write', at, bytes}` begins a write, `{op: 'written', at, length}`
// ends one that is on the disk by then, `{op: 'sync'}` ends a sync of all before, `{op: 'cut', size}` a truncation,
// `{op: 'folder'}` a sync of the folder, and `{op: 'ack', id}` is written right before a 200 is sent.
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { promisify } = require('node:util');

const journal = process.env.HOOKTRAIL_TRACED_JOURNAL;
const trace = fs.openSync(process.env.HOOKTRAIL_SYNC_TRACE, 'a');
const { openSync, closeSync, write, writeSync, fdatasync, ftruncateSync, fstatSync } = fs;
const note = (line) => writeSync(trace, `${JSON.stringify(line)}\n`);

/** Descriptors of the journal; true if their writes are on the disk when they return. */
const traced = new Map();
fs.openSync = (file, flags, ...rest) => {
  const fd = openSync(file, flags, ...rest);
  if (file === journal) traced.set(fd, typeof flags === 'number' && (flags & fs.constants.O_DSYNC) !== 0);
  return fd;
};
fs.closeSync = (fd) => {
  traced.delete(fd);
  closeSync(fd);
};
fs.write = (fd, bytes, offset, length, position, done) => {
  const syncs = traced.get(fd);
  if (syncs === undefined) return write(fd, bytes, offset, length, position, done);
  const at = fstatSync(fd).size;
  note({ op: 'write', at, bytes: Buffer.from(bytes.subarray(offset, offset + length)).toString('base64') });
  write(fd, bytes, offset, length, position, (error, written) => {
    if (!error && syncs) note({ op: 'written', at, length: written });
    done(error, written, bytes);
  });
};
fs.write[promisify.custom] = (fd, bytes, ...rest) =>
  new Promise((resolve, reject) => {
    fs.write(fd, bytes, ...rest, (error, bytesWritten) =>
      error ? reject(error) : resolve({ bytesWritten, buffer: bytes }),
    );
  });
fs.fdatasync = (fd, done) =>
  fdatasync(fd, (error) => {
    if (!error && traced.has(fd)) note({ op: 'sync' });
    done(error);
  });
fs.ftruncateSync = (fd, size) => {
  ftruncateSync(fd, size);
  if (traced.has(fd)) note({ op: 'cut', size });
};
const open = fs.promises.open;
fs.promises.open = async (file, ...rest) => {
  const handle = await open(file, ...rest);
  if (file !== path.dirname(journal)) return handle;
  const sync = handle.sync.bind(handle);
  handle.sync = async () => {
    await sync();
    note({ op: 'folder' });
  };
  return handle;
};

const { end } = http.ServerResponse.prototype;
http.ServerResponse.prototype.end = function (...args) {
  if (this.statusCode === 200) note({ op: 'ack', id: this.req.headers['x-event-id'] });
  return end.apply(this, args);
};
