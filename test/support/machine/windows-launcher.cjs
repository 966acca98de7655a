'use strict';
// Runs one program on Windows as the file given as argument says, its streams in files: pipes of the host do not reach
// programs under Wine. Writes the result beside them. Ends the program when the file `kill` appears there, and sends the event
// whose number is in the file `event` to every program of the console.
const { spawn } = require('node:child_process');
const { existsSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } = require('node:fs');
const path = require('node:path');

const folder = process.argv[2];
const { native, file, args, env, cwd } = JSON.parse(readFileSync(path.join(folder, 'start.json'), 'utf8'));
const at = (name) => path.join(folder, name);
// Under Wine a console has no title, and libuv aborts a process that reads an empty one.
process.title = 'console';
const streams = [openSync(at('stdin'), 'r'), openSync(at('stdout'), 'w'), openSync(at('stderr'), 'w')];
// The variables that Windows needs, and those of the test.
const own = Object.entries(process.env).filter(([name]) =>
  /^(SystemRoot|SystemDrive|windir|PATH|PATHEXT|COMSPEC)$/i.test(name),
);
const child = spawn(file, args, { env: { ...Object.fromEntries(own), ...env }, cwd, stdio: streams });
// This program receives the events, too.
for (const name of ['SIGINT', 'SIGBREAK', 'SIGHUP']) process.on(name, () => {});
const watch = setInterval(() => {
  if (existsSync(at('kill'))) child.kill('SIGKILL');
  if (!existsSync(at('event'))) return;
  spawn(native, ['event', readFileSync(at('event'), 'utf8')], { stdio: 'ignore' });
  rmSync(at('event'));
}, 20);
const finish = (result) => {
  clearInterval(watch);
  writeFileSync(at('result.part'), JSON.stringify(result));
  renameSync(at('result.part'), at('result.json'));
};
child.on('error', (error) => finish({ code: error.code }));
child.on('exit', (code, signal) => finish({ code: signal ?? code }));
