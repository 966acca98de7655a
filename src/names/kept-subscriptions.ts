import path from 'node:path';
import type { Context } from '../context.ts';
import { makeFolder, serviceCacheFile } from '../files/folders.ts';
import { readRegularFile, replaceFile } from '../files/whole-files.ts';
import { isObject } from '../items/items.ts';
import type { RunSettings } from '../settings/settings.ts';
import { shownAddress } from './callback-address.ts';
import type { NamedSubscription } from './subscription-names.ts';

type Surroundings = Pick<Context, 'environment' | 'machine'>;

interface Owner {
  readonly profile: string;
  readonly baseUrl: URL;
}

export interface KeptSubscription {
  readonly id: string;
  readonly name: string;
}

/**
 * Caches names of subscriptions for shell completion, which must not use the service. Secrets of addresses
 * are left out. Failing to write the cache is not an error.
 */
export async function keepSubscriptions(
  listed: readonly NamedSubscription[],
  owner: Owner,
  context: Surroundings,
): Promise<void> {
  const kept = listed.flatMap(({ id, callbackUrl = '' }): KeptSubscription[] => {
    const name = shownAddress(callbackUrl);
    return name === undefined ? [] : [{ id, name }];
  });
  const file = cacheFile(owner, context);
  try {
    makeFolder(path.dirname(file));
    await replaceFile(file, JSON.stringify(kept));
  } catch {
    // Completion then offers fewer words.
  }
}

/** Returns the subscriptions in the service's latest list for this profile; none without a list. */
export async function keptSubscriptions(
  settings: RunSettings,
  context: Surroundings,
): Promise<readonly KeptSubscription[]> {
  try {
    const { profile, baseUrl } = settings.checked();
    if (!baseUrl) return [];
    const text = readRegularFile(cacheFile({ profile, baseUrl }, context)).toString();
    const kept: unknown = JSON.parse(text);
    return Array.isArray(kept) ? kept.filter(isKept) : [];
  } catch {
    return [];
  }
}

function isKept(value: unknown): value is KeptSubscription {
  return isObject(value) && typeof value['id'] === 'string' && typeof value['name'] === 'string';
}

/**
 * Returns the word for a subscription on a command line: its address up to the hidden part, if that is
 * unique, and otherwise its id.
 */
export function wordFor({ id, name }: KeptSubscription, all: readonly KeptSubscription[]): string {
  const [shown = ''] = name.split('…');
  const isAlone = all.every((other) => other.id === id || !other.name.includes(shown));
  return isAlone ? shown : id;
}

function cacheFile(owner: Owner, context: Surroundings): string {
  return serviceCacheFile('subscriptions', owner, context);
}
