import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { rolldown } from 'rolldown';
import type { Context } from '../src/context.ts';
import { describeCommands } from '../src/help/command-description.ts';
import { buildProgram } from '../src/program.ts';
import { version } from '../src/version.ts';
import { manualPage } from './manual-page.ts';
import config from './rolldown.config.ts';

const root = path.resolve(import.meta.dirname, '..');

/** Writes the bundle and the manual page into a folder. */
export async function build(folder: string): Promise<void> {
  const { output, ...input } = config as { output: object };
  const bundle = await rolldown({ ...input, cwd: root });
  await bundle.write({ ...output, dir: folder });
  await bundle.close();
  // No command runs, so the declarations need no real context.
  const program = buildProgram({} as Context, async () => 0);
  const commands = await describeCommands(program);
  await writeFile(path.join(folder, 'hooktrail.1'), manualPage(program, commands, version));
}

// `npm run build`. Tests import the function for their own builds.
if (process.argv[1] === import.meta.filename) await build(path.join(root, 'dist'));
