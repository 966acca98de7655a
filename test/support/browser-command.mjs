#!/usr/bin/env node
// The HOOKTRAIL_BROWSER of tests: visits its one argument and follows redirects.
if (process.argv.length !== 3) throw new Error(`one argument expected, got ${process.argv.length - 2}`);
await fetch(process.argv[2]);
