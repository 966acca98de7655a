import path from 'node:path';
import type { Context } from '../context.ts';
import { ServiceError, UsageError } from '../errors.ts';
import { makeFolder } from '../files/folders.ts';
import { configFolder } from '../files/places.ts';
import { readRegularFile } from '../files/read-file.ts';
import { replaceFile, UnsyncedError } from '../files/replace-file.ts';
import { refusePlanted } from '../files/trusted-path.ts';
import type { HeldLock } from '../lock/lock.ts';

/** The saved settings of one profile: texts by setting key (`auth-url`), never secrets. */
export type SavedProfile = Record<string, string>;

export interface SavedConfig {
  version: 1;
  /** The profile used where neither flag nor variable names one. */
  profile?: string;
  profiles: Record<string, SavedProfile>;
}

type Place = Pick<Context, 'environment' | 'machine'>;

export function configPath(context: Place): string {
  return path.join(configFolder(context), 'config.json');
}

/** Reads the saved settings; none saved is an empty configuration. Throws `UsageError` where the file is not ours. */
export async function readConfig(context: Place): Promise<SavedConfig> {
  const file = configPath(context);
  refusePlanted(file, 'the settings', context.machine);
  let text: string;
  try {
    text = readRegularFile(file).toString();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { version: 1, profiles: {} };
    throw new UsageError(`the settings in ${file} cannot be read: ${(error as Error).message}`, {
      cause: error,
    });
  }
  return checkConfig(text, file);
}

/**
 * Applies a change to the saved settings and writes them, whole or not at all, one process after the other. An interrupt waits:
 * what a sign-in stored has to be found again.
 */
export async function changeConfig(
  { environment, machine, clock, lockRhythm }: Place & Pick<Context, 'clock' | 'lockRhythm'>,
  change: (config: SavedConfig) => void,
): Promise<void> {
  const { withLock } = await import('../lock/lock.ts');
  const file = configPath({ environment, machine });
  const { signal } = new AbortController();
  const surroundings = { machine, clock, signal, ...(lockRhythm ? { lockRhythm } : {}) };
  const work = async (lock: HeldLock) => {
    const config = await readConfig({ environment, machine });
    change(config);
    if (!(await lock.isStillHeld()))
      throw new ServiceError('another process changed the settings meanwhile', {
        next: 'run the command again',
      });
    try {
      makeFolder(path.dirname(file));
      await replaceFile(file, `${JSON.stringify(config, null, 2)}\n`);
    } catch (error) {
      if (error instanceof UnsyncedError) {
        const message = `the settings are saved in ${file}, but a loss of power could undo that: ${error.message}`;
        throw new ServiceError(message, { next: 'check the disk', cause: error });
      }
      throw new UsageError(`the settings cannot be written to ${file}: ${(error as Error).message}`, {
        next: 'make the folder writable and free some space, or choose another with HOOKTRAIL_CONFIG_DIR',
        cause: error,
      });
    }
  };
  await withLock(`settings ${file}`, surroundings, work, { patience: 30_000, subject: 'the saved settings' });
}

function checkConfig(text: string, file: string): SavedConfig {
  const broken = (what: string) =>
    new UsageError(`the settings in ${file} are damaged: ${what}`, {
      next: 'repair the file, or remove it and sign in again',
    });
  let value: SavedConfig;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw broken((error as Error).message);
  }
  if (value === null || typeof value !== 'object' || value.version !== 1)
    throw broken('not a version 1 configuration');
  const profiles = Object.entries(value.profiles ?? {});
  const flat = (profile: unknown) =>
    profile !== null &&
    typeof profile === 'object' &&
    Object.values(profile).every((text) => typeof text === 'string');
  if (!profiles.every(([, profile]) => flat(profile))) throw broken('a profile is not a map of texts');
  return { ...value, profiles: Object.fromEntries(profiles) };
}
