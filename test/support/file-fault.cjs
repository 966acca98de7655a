'use strict';
// Loaded into a program by NODE_OPTIONS: of its operations on files of its home, of the last resort and of /proc, the one with the number
// HOOKTRAIL_FAULT_AT fails once with HOOKTRAIL_FAULT_CODE. Two codes mean something else: `FULL` is a disk on which from
// that operation on nothing is written any more, and the name of a signal sends it there. How many operations there were
// is written to HOOKTRAIL_FAULT_COUNT.
const fs = require('node:fs');
const { syncBuiltinESMExports } = require('node:module');
const { promisify } = require('node:util');

const { HOOKTRAIL_TEST_HOME: home, HOOKTRAIL_FAULT_AT: at, HOOKTRAIL_FAULT_CODE: code } = process.env;
const { writeFileSync } = fs;
let count = 0;
process.on('exit', () => writeFileSync(process.env.HOOKTRAIL_FAULT_COUNT, String(count)));

// A full disk leaves no room there either. given-machine.cjs puts it elsewhere below these wrappers.
const lastResort = `/tmp/hooktrail-${process.getuid?.()}/`;
const WRITES = new Set(['write', 'writeFile', 'mkdir', 'link', 'sync', 'fdatasync']);

function strike(syscall, file) {
  count++;
  if (code === 'FULL') {
    if (Number(at) > 0 && count >= Number(at) && WRITES.has(syscall)) fail('ENOSPC', syscall, file);
  } else if (count === Number(at)) {
    if (code.startsWith('SIG')) process.kill(process.pid, code);
    else fail(code, syscall, file);
  }
}

// Waiting gives a full disk no room.
if (code === 'FULL') {
  const timers = require('node:timers/promises');
  const { setTimeout } = timers;
  timers.setTimeout = (milliseconds, ...rest) => setTimeout(Math.min(milliseconds, 20), ...rest);
}

function fail(code, syscall, file) {
  throw Object.assign(new Error(`${code}: injected, ${syscall} '${file}'`), { code, syscall, path: file });
}

const isOurs = (file) =>
  typeof file === 'string' &&
  (file.startsWith(home) || file.startsWith('/proc/') || file.startsWith(lastResort)) &&
  !file.includes('/compile-cache');

for (const name of [
  'open',
  'readFile',
  'writeFile',
  'mkdir',
  'stat',
  'lstat',
  'readdir',
  'rename',
  'rm',
  'unlink',
  'chmod',
  'access',
  'realpath',
  'readlink',
  'link',
]) {
  for (const [owner, key] of [
    [fs, `${name}Sync`],
    [fs.promises, name],
  ]) {
    const original = owner[key];
    const fails = (file) => isOurs(file) && strike(name, file);
    owner[key] =
      owner === fs
        ? (file, ...rest) => {
            fails(file);
            return original(file, ...rest);
          }
        : async (file, ...rest) => {
            fails(file);
            const result = await original(file, ...rest);
            if (name === 'open' && isOurs(file)) watch(result, file);
            return result;
          };
  }
}

function watch(handle, file) {
  for (const name of ['write', 'writeFile', 'read', 'sync', 'datasync', 'stat']) {
    const original = handle[name].bind(handle);
    handle[name] = async (...given) => {
      strike(name, file);
      return await original(...given);
    };
  }
}

// What holds a file open by its number: the journal, and streams.
const opened = new Map();
const { openSync, closeSync, open } = fs;
fs.openSync = (file, ...rest) => {
  const fd = openSync(file, ...rest);
  if (isOurs(file)) opened.set(fd, file);
  return fd;
};
fs.closeSync = (fd) => {
  opened.delete(fd);
  closeSync(fd);
};
fs.open = (file, ...rest) => {
  const done = rest.pop();
  try {
    if (isOurs(file)) strike('open', file);
  } catch (error) {
    return process.nextTick(done, error);
  }
  open(file, ...rest, (error, fd) => {
    if (!error && isOurs(file)) opened.set(fd, file);
    done(error, fd);
  });
};
for (const name of ['writeSync', 'readSync', 'fstatSync', 'ftruncateSync']) {
  const original = fs[name];
  fs[name] = (fd, ...rest) => {
    if (opened.has(fd)) strike(name.replace('Sync', ''), opened.get(fd));
    return original(fd, ...rest);
  };
}
for (const name of ['write', 'read', 'fdatasync', 'fsync']) {
  const original = fs[name];
  const wrapped = (fd, ...rest) => {
    try {
      if (opened.has(fd)) strike(name, opened.get(fd));
    } catch (error) {
      return process.nextTick(rest.at(-1), error);
    }
    return original(fd, ...rest);
  };
  const result = { write: 'bytesWritten', read: 'bytesRead' }[name];
  wrapped[promisify.custom] = (fd, ...rest) =>
    new Promise((resolve, reject) => {
      wrapped(fd, ...rest, (error, number) =>
        error ? reject(error) : resolve(result && { [result]: number, buffer: rest[0] }),
      );
    });
  fs[name] = wrapped;
}

syncBuiltinESMExports();
