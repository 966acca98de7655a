import { writeFile } from 'node:fs/promises';
import { version } from '../src/version.ts';
import { describeAll, manualPage } from './manual-page.ts';

// Run by `npm run build`, after the bundle: the manual page of the command tree as it is now.
const { program, commands } = await describeAll();
await writeFile(new URL('../dist/hooktrail.1', import.meta.url), manualPage(program, commands, version));
