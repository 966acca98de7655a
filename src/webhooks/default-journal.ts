import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { configFolder } from '../config/folder.ts';
import type { Context } from '../context.ts';

/** The journal of a profile that none is named for, in a folder that exists. */
export async function defaultJournal(
  profile: string,
  context: Pick<Context, 'environment' | 'machine'>,
): Promise<string> {
  const folder = path.join(configFolder(context), 'webhooks');
  await mkdir(folder, { recursive: true, mode: 0o700 });
  return path.join(folder, `${profile}.journal`);
}
