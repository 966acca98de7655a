'use strict';
// Loaded into a program by NODE_OPTIONS: of its operations on files of its home and of /proc, the one with the number
// HOOKTRAIL_FAULT_AT fails once with HOOKTRAIL_FAULT_CODE. How many there were is written to HOOKTRAIL_FAULT_COUNT.
const fs = require('node:fs');
const { syncBuiltinESMExports } = require('node:module');

const { HOOKTRAIL_TEST_HOME: home, HOOKTRAIL_FAULT_AT: at, HOOKTRAIL_FAULT_CODE: code } = process.env;
const { writeFileSync } = fs;
let count = 0;
process.on('exit', () => writeFileSync(process.env.HOOKTRAIL_FAULT_COUNT, String(count)));

function strike(syscall, file) {
  count++;
  if (count === Number(at))
    throw Object.assign(new Error(`${code}: injected, ${syscall} '${file}'`), { code, syscall, path: file });
}

const isOurs = (file) =>
  typeof file === 'string' &&
  (file.startsWith(home) || file.startsWith('/proc/')) &&
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
  for (const name of ['write', 'writeFile', 'read', 'sync', 'stat']) {
    const original = handle[name].bind(handle);
    handle[name] = async (...given) => {
      strike(name, file);
      return await original(...given);
    };
  }
}

syncBuiltinESMExports();
