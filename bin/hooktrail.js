#!/usr/bin/env node
// Plain old syntax up to the version check, so that any Node can read it and say what is wrong.
import process from 'node:process';

var version = process.versions.node.split('.').map(Number);

if (version[0] < 20 || (version[0] === 20 && version[1] < 19)) {
  process.stderr.write(
    'error: hooktrail needs Node.js 20.19 or newer, this is ' +
      process.versions.node +
      '\nnext: install a current Node.js, or run it with `npx -p node@22 -p hooktrail hooktrail`\n',
  );
  process.exitCode = 2;
} else {
  import('../dist/start.js').then((program) => program.start());
}
