import { chmod, mkdtemp, readFile, realpath, rm, statfs } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder for all temporary files of this test run. */
    folder: string;
  }
}

const FOLDER_IN_MEMORY = '/dev/shm';
const MIN_ROOM_BYTES = 2 ** 30;

/**
 * True if there is a folder in memory with enough room, in which programs may run: tests create and sync
 * thousands of files, and would wait for the disk most of their time.
 */
async function hasFolderInMemory(): Promise<boolean> {
  const mounts = await readFile('/proc/mounts', 'utf8').catch(() => '');
  const options = new RegExp(`^\\S+ ${FOLDER_IN_MEMORY} tmpfs (\\S+)`, 'm').exec(mounts)?.[1]?.split(',');
  if (!options?.includes('rw') || options.includes('noexec')) return false;
  const { bavail, bsize } = await statfs(FOLDER_IN_MEMORY);
  return bavail * bsize >= MIN_ROOM_BYTES;
}

/**
 * Returns the folder in which the run's lies. Processes and their crashes are tested on the disk that they
 * would have.
 */
async function parentFor({ name }: TestProject): Promise<string> {
  const isInProcess = name.endsWith('source') && process.env['TMPDIR'] === undefined;
  return isInProcess && (await hasFolderInMemory()) ? FOLDER_IN_MEMORY : os.tmpdir();
}

/**
 * Gives a test run its folder and its seed. The name is short, because the folder contains sockets, whose
 * paths are limited.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folder = await realpath(await mkdtemp(path.join(await parentFor(project), 'hooktrail-')));
  // Some tests run the program as another user, who needs access.
  await chmod(folder, 0o711);
  project.provide('folder', folder);
  project.provide('seed', Number(project.vitest.config.env['HOOKTRAIL_TEST_SEED']));
  return () => rm(folder, { recursive: true, force: true, maxRetries: 3 });
}
