import { cp, mkdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { rolldown } from 'rolldown';
import type { TestProject } from 'vitest/node';
import { describeAll, manualPage } from '../../build/manual-page.ts';
import config from '../../build/rolldown.config.ts';
import { version } from '../../src/version.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The built `bin/hooktrail.js` of this test run. */
    program: string;
  }
}

const root = path.resolve(import.meta.dirname, '../..');

/**
 * Builds the program once a test run, into a folder of this run's own: an edit or a build meanwhile changes nothing
 * under the tests, and the folder can be packed as it is. It lies under `node_modules`, so that the native keychain package is found from it.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = path.join(root, 'node_modules', '.cache', 'hooktrail-test', String(process.pid));
  await mkdir(folder, { recursive: true });
  const { output, ...input } = config as { output: object };
  const bundle = await rolldown({ ...input, cwd: root });
  await bundle.write({ ...output, dir: path.join(folder, 'dist') });
  await bundle.close();
  const { program, commands } = await describeAll();
  await writeFile(path.join(folder, 'dist', 'hooktrail.1'), manualPage(program, commands, version));
  for (const name of ['bin', 'completions', 'package.json', '.npmignore', 'README.md', 'LICENSE']) {
    await cp(path.join(root, name), path.join(folder, name), { recursive: true });
  }
  project.provide('program', path.join(folder, 'bin', 'hooktrail.js'));
  return () => rm(folder, { recursive: true, force: true });
}
