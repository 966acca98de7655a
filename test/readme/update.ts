import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { withFreshOutput } from './examples.ts';

/** `npm run readme`: writes what the commands of the README print now. */
const file = path.resolve(import.meta.dirname, '../../README.md');
const program = path.resolve(import.meta.dirname, '../../bin/hooktrail.js');
await writeFile(file, await withFreshOutput(await readFile(file, 'utf8'), program));
