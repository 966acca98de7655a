import type { Clock } from '../context.ts';
import type { Store } from '../secrets/vault.ts';

/**
 * Milliseconds between attempts to store irreplaceable secrets: a disk or a keychain may fail for a moment.
 */
const PAUSES_MS = [100, 400, 1_000, 2_000, 4_000, 4_000];

/**
 * Stores irreplaceable content: tries the store several times over some seconds, then another file. Resolves
 * to that file, or to undefined if the store accepted it. Throws the first error if both failed. Takes no
 * abort signal: an interrupt has to wait.
 */
export async function storeSurely<Content>(
  store: Pick<Store<Content>, 'write' | 'rescue'>,
  content: Content,
  clock: Pick<Clock, 'sleep'>,
): Promise<string | undefined> {
  let first: unknown;
  for (const pause of [0, ...PAUSES_MS]) {
    if (pause > 0) await clock.sleep(pause);
    try {
      await store.write(content);
      return undefined;
    } catch (error) {
      first ??= error;
    }
  }
  try {
    return await store.rescue(content);
  } catch {
    throw first;
  }
}

/** `undurable`: stored, but a loss of power could still lose it. */
export type Stored =
  | { readonly state: 'stored' | 'elsewhere'; readonly place: string }
  | { readonly state: 'undurable'; readonly place: string; readonly fault: Error };

/**
 * Stores a secret that has made its predecessor invalid. `isStored`: recognizes it among what the store
 * holds. Throws the store's error if the secret is stored nowhere.
 */
export async function storeSuccessor<Content>(
  store: Store<Content>,
  content: Content,
  isStored: (found: Content) => boolean,
  clock: Pick<Clock, 'sleep'>,
): Promise<Stored> {
  const { place } = store;
  try {
    const elsewhere = await storeSurely(store, content, clock);
    if (elsewhere === undefined || elsewhere === place) return { state: 'stored', place };
    return { state: 'elsewhere', place: elsewhere };
  } catch (error) {
    // The error may come after the write, from syncing the folder.
    const found = await store.read().catch(() => undefined);
    if (found === undefined || !isStored(found)) throw error;
    return { state: 'undurable', place, fault: error as Error };
  }
}
