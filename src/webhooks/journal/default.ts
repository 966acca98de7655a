import path from 'node:path';
import type { Context } from '../../context.ts';
import { UsageError } from '../../errors.ts';
import { makeFolder } from '../../files/folders.ts';
import { configFolder } from '../../files/places.ts';

/** The journal of a profile that none is named for, in a folder that exists. Throws `UsageError` where there can be none. */
export async function defaultJournal(
  profile: string,
  context: Pick<Context, 'environment' | 'machine'>,
): Promise<string> {
  const folder = path.join(configFolder(context), 'webhooks');
  try {
    makeFolder(folder);
  } catch (error) {
    throw new UsageError(`there can be no journal in ${folder}: ${(error as Error).message}`, {
      next: 'make the folder writable, or name a file elsewhere with --journal',
      cause: error,
    });
  }
  return path.join(folder, `${profile}.journal`);
}
