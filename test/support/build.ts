import { existsSync } from 'node:fs';
import { cp, mkdir, rm } from 'node:fs/promises';
import path from 'node:path';
import type { TestProject } from 'vitest/node';
import { build } from '../../build/build.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The built `bin/hooktrail.js` of this test run. */
    program: string;
  }
}

const root = path.resolve(import.meta.dirname, '../..');
const PACKAGED = ['bin', 'completions', 'docs/help', 'package.json', '.npmignore', 'README.md', 'LICENSE'];

/**
 * Builds the program once per test run, into a folder of this run, so that an edit or a build meanwhile does
 * not affect the tests, and the folder can be packed as it is. It is below `node_modules`, so that the native
 * keychain package is found from it.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = path.join(root, 'node_modules', '.cache', 'hooktrail-test', String(process.pid));
  // Projects of one run are set up one after the other, and share it.
  if (!existsSync(folder)) await buildInto(folder);
  project.provide('program', path.join(folder, 'bin', 'hooktrail.js'));
  return () => rm(folder, { recursive: true, force: true });
}

async function buildInto(folder: string): Promise<void> {
  // Some tests run the program as another user, who needs read access.
  const umask = process.umask(0o022);
  await mkdir(folder, { recursive: true });
  await build(path.join(folder, 'dist'));
  for (const name of PACKAGED) await cp(path.join(root, name), path.join(folder, name), { recursive: true });
  process.umask(umask);
}
