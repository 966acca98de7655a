import { promises as files } from 'node:fs';
import path from 'node:path';
import type { Context } from '../context.ts';
import { makeFolder } from '../files/folders.ts';
import { cacheFolder } from '../files/places.ts';
import { replaceFile } from '../files/replace-file.ts';
import type { Items } from '../items/items.ts';
import { loadSettings } from '../settings/settings.ts';
import { eventTypeNames } from './event-types.ts';

type Surroundings = Pick<Context, 'environment' | 'machine'>;

interface Owner {
  readonly profile: string;
  readonly baseUrl: URL;
}

/**
 * Saves the names of the listed types for shell completion, which must not use the service, the keychain or the
 * identity provider. A cache that cannot be written is not an error.
 */
export async function keepEventTypes(items: Items, owner: Owner, context: Surroundings): Promise<void> {
  const names = eventTypeNames(items);
  const file = cacheFile(owner, context);
  if (JSON.stringify(names) === JSON.stringify(await namesIn(file))) return;
  try {
    makeFolder(path.dirname(file));
    await replaceFile(file, JSON.stringify({ names }));
  } catch {
    // Completion then offers fewer words.
  }
}

/** The names that the service listed last for this profile; empty if it never listed any. */
export async function keptEventTypes(
  profile: string | undefined,
  context: Surroundings,
): Promise<readonly string[]> {
  const settings = await loadSettings(profile === undefined ? {} : { profile }, context);
  const { baseUrl } = settings;
  return baseUrl ? await namesIn(cacheFile({ profile: settings.profile, baseUrl }, context)) : [];
}

async function namesIn(file: string): Promise<readonly string[]> {
  try {
    const { names } = JSON.parse(await files.readFile(file, 'utf8'));
    return Array.isArray(names) ? names.map(String) : [];
  } catch {
    return [];
  }
}

/** One file per profile and service: another base URL has other types. */
function cacheFile({ profile, baseUrl }: Owner, context: Surroundings): string {
  return path.join(
    cacheFolder(context),
    `event-types-${profile}-${baseUrl.host.replaceAll(/[^\w.-]/g, '_')}.json`,
  );
}
