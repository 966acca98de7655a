import { chmod, mkdtemp, realpath, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder for all temporary files of this test run. */
    folder: string;
  }
}

/**
 * Gives a test run its folder and its seed. The name is short, because the folder contains sockets, whose
 * paths are limited.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await realpath(await mkdtemp(path.join(os.tmpdir(), 'hooktrail-')));
  // Some tests run the program as another user, who needs access.
  await chmod(folder, 0o711);
  project.provide('folder', folder);
  project.provide('seed', Number(project.vitest.config.env['HOOKTRAIL_TEST_SEED']));
  return () => rm(folder, { recursive: true, force: true, maxRetries: 3 });
}
