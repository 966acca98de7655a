import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';

/** A place of its own for one test: settings, secrets and working directory of the program it runs. */
export interface Home extends AsyncDisposable {
  readonly folder: string;
  /** The whole environment of the program: nothing of this process's but what finds Node's own tools. */
  readonly env: Readonly<Record<string, string>>;
}

/** Secrets go to the encrypted file, since a test machine has no keychain. Ends with `await using` or `remove()`. */
export async function createHome(): Promise<Home> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'hooktrail-test-'));
  const inherited = ['PATH', 'SystemRoot', 'TEMP', 'TMP'].flatMap((name) =>
    process.env[name] ? [[name, process.env[name]] as [string, string]] : [],
  );
  return {
    folder,
    env: {
      ...Object.fromEntries(inherited),
      HOME: folder,
      HOOKTRAIL_CONFIG_DIR: path.join(folder, 'config'),
      HOOKTRAIL_STORE: 'file',
      HOOKTRAIL_PASSPHRASE: 'correct horse battery staple',
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}
