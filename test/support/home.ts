import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { clock } from './clock.ts';

/** A home for one test: settings, secrets, locks, caches, temporary files and working directory. */
export interface Home extends AsyncDisposable {
  readonly folder: string;
  /** The whole environment of the program, without anything from this process. */
  readonly env: Readonly<Record<string, string>>;
}

const givenMachine = path.join(import.meta.dirname, 'given-machine.cjs');

/** Secrets go to the encrypted file, since a test machine has no keychain. Ends with `await using`. */
export async function createHome(): Promise<Home> {
  // At once: a run creates thousands of homes, and the way through the pool of threads takes longer than each
  // of these calls.
  const place = mkdtempSync(path.join(os.tmpdir(), 'test-'));
  const [folder, temporary] = [path.join(place, 'home'), path.join(place, 'tmp')];
  chmodSync(place, 0o711);
  for (const one of [folder, temporary]) mkdirSync(one, { mode: 0o700 });
  const shared = path.join(place, 'shared');
  mkdirSync(shared);
  // Accessible like `/tmp`: some tests run the program as another user.
  chmodSync(shared, 0o1777);
  return {
    folder,
    env: {
      // Needed to find Node and the tools of a shell.
      PATH: `${path.dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
      HOME: folder,
      TMPDIR: temporary,
      HOOKTRAIL_CONFIG_DIR: path.join(folder, 'config'),
      HOOKTRAIL_STORE: 'file',
      // A key as `keygen` makes it, which unlike a passphrase takes no time to derive.
      HOOKTRAIL_PASSPHRASE: `htk1-${'k3y'.repeat(14)}0`,
      // For programs that run as separate processes.
      NODE_OPTIONS: `--require="${givenMachine}"`,
      ...clock.environment,
      HOOKTRAIL_TEST_HOME: folder,
      HOOKTRAIL_TEST_SHARED: shared,
    },
    [Symbol.asyncDispose]: async () => rmSync(place, { recursive: true, force: true, maxRetries: 3 }),
  };
}

/**
 * Creates a folder to put first on a `PATH`, in which the command `hooktrail` runs `program`, a
 * `bin/hooktrail.js`.
 */
export async function binFolder(parent: string, program: string): Promise<string> {
  const folder = path.join(parent, 'bin');
  await mkdir(folder, { recursive: true });
  const script = `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`;
  await writeFile(path.join(folder, 'hooktrail'), script, { mode: 0o755 });
  return folder;
}
