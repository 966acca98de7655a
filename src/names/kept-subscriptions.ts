import type { Context } from '../context.ts';
import { KeptList } from '../files/kept-list.ts';
import type { Service } from '../http/service.ts';
import { isObject } from '../items/items.ts';
import type { RunSettings } from '../settings/settings.ts';
import { shownAddress } from './callback-address.ts';
import type { NamedSubscription } from './subscription-names.ts';

export interface KeptSubscription {
  readonly id: string;
  readonly name: string;
}

/** Keeps the names of subscriptions, without the secrets of their addresses. */
export async function keepSubscriptions(
  listed: readonly NamedSubscription[],
  { keptList }: Pick<Service, 'keptList'>,
): Promise<void> {
  const kept = listed.flatMap(({ id, callbackUrl = '' }): KeptSubscription[] => {
    const name = shownAddress(callbackUrl);
    return name === undefined ? [] : [{ id, name }];
  });
  await keptList('subscriptions').replace(kept);
}

/** Returns the subscriptions in the service's latest list for this profile; none without a list. */
export function keptSubscriptions(
  settings: RunSettings,
  context: Pick<Context, 'environment' | 'machine'>,
): readonly KeptSubscription[] {
  try {
    const { profile, baseUrl } = settings.checked();
    if (!baseUrl) return [];
    const kept = new KeptList('subscriptions', { profile, baseUrl }, context).read();
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
