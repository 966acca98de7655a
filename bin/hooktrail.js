#!/usr/bin/env node
// CommonJS in plain old syntax: any Node can read it and say what is wrong, and it starts sooner than a
// module.
'use strict';

var fs = require('fs');
var path = require('path');

var version = process.versions.node.split('.').map(Number);
var program = path.join(__dirname, '..', 'dist', 'start.cjs');

function fail(what, next) {
  process.stderr.write('error: ' + what + '\nnext: ' + next + '\n');
  process.exitCode = 2;
}

/** The version with the commit that was built, as the program prints it. */
function fullVersion() {
  var commit = require('../dist/build.json').commit;
  return require('../package.json').version + (commit ? '+' + commit : '');
}

/**
 * Scripts ask for the version often, and the program takes ten milliseconds to load. It reports whatever
 * fails here.
 */
function printVersion() {
  var text;
  try {
    text = fullVersion() + '\n';
    return fs.writeSync(1, text) === text.length;
  } catch (_error) {
    return false;
  }
}

var isForVersion = process.argv.length === 3 && ['--version', '-V', '-v'].indexOf(process.argv[2]) !== -1;

if (version[0] < 20 || (version[0] === 20 && version[1] < 19)) {
  fail(
    'hooktrail needs Node.js 20.19 or newer, this is ' + process.versions.node,
    'install a current Node.js',
  );
} else if (!fs.existsSync(program)) {
  fail('the program is not built: there is no ' + program, 'run `npm ci && npm run build` in the checkout');
} else if (!isForVersion || !printVersion()) {
  require(program).start();
}
