import { describe, expect, test } from 'vitest';
import { storeSuccessor, storeSurely } from '../../src/sign-in/store-surely.ts';

const PAUSES_MS = [100, 400, 1_000, 2_000, 4_000, 4_000];

interface Faults {
  /** Writes that fail before the first that succeeds. */
  readonly writes?: number;
  /** True if the failing writes store the content all the same. */
  readonly afterwards?: boolean;
  readonly rescue?: Error;
  readonly read?: Error;
}

/** A store of texts that has the faults given, and a clock; both note what happens, in order. */
function startStore({ writes = 0, afterwards = false, rescue, read }: Faults = {}) {
  const done: (string | number)[] = [];
  let stored: string | undefined;
  let failed = 0;
  return {
    done,
    place: '/here',
    clock: { sleep: async (milliseconds: number) => void done.push(milliseconds) },
    read: async () => {
      done.push('read');
      if (read) throw read;
      return stored;
    },
    write: async (content: string) => {
      done.push(`write ${content}`);
      if (failed < writes && !afterwards) throw new Error(`fault ${++failed}`);
      stored = content;
      if (failed < writes) throw new Error(`fault ${++failed}`);
    },
    rescue: async (content: string) => {
      done.push(`rescue ${content}`);
      if (rescue) throw rescue;
      return '/elsewhere';
    },
  };
}

const ALWAYS = Number.POSITIVE_INFINITY;
const TRIES = ['write new', ...PAUSES_MS.flatMap((pause) => [pause, 'write new'])];

describe('content that cannot be made again', () => {
  const surely = (store: ReturnType<typeof startStore>) => storeSurely(store, 'new', store.clock);

  test('is written once if the store takes it', async () => {
    const store = startStore();
    expect(await surely(store)).toBeUndefined();
    expect(store.done).toEqual(['write new']);
  });

  test('is written again, after longer and longer pauses, until the store takes it', async () => {
    for (const writes of [1, 3, PAUSES_MS.length]) {
      const store = startStore({ writes });
      expect(await surely(store)).toBeUndefined();
      expect(store.done).toEqual(TRIES.slice(0, 2 * writes + 1));
    }
  });

  test('goes to another file after the last try', async () => {
    const store = startStore({ writes: ALWAYS });
    expect(await surely(store)).toBe('/elsewhere');
    expect(store.done).toEqual([...TRIES, 'rescue new']);
  });

  test('is lost with the first error if the other file fails too', async () => {
    const store = startStore({ writes: ALWAYS, rescue: new Error('no other file') });
    await expect(surely(store)).rejects.toThrow(/^fault 1$/);
  });
});

describe('a secret that has made its predecessor invalid', () => {
  const successor = (store: ReturnType<typeof startStore>) =>
    storeSuccessor(store, 'new', (found) => found.startsWith('new'), store.clock);

  test('is stored in its place or elsewhere', async () => {
    expect(await successor(startStore())).toEqual({ state: 'stored', place: '/here' });
    const shut = startStore({ writes: ALWAYS });
    expect(await successor(shut)).toEqual({ state: 'elsewhere', place: '/elsewhere' });
    const rescued = { ...startStore({ writes: ALWAYS }), rescue: async () => '/here' };
    expect(await successor(rescued)).toEqual({ state: 'stored', place: '/here' });
  });

  test('is there although every write failed, if the store returns it: a loss of power may undo that', async () => {
    const store = startStore({ writes: ALWAYS, afterwards: true, rescue: new Error('no other file') });
    expect(await successor(store)).toEqual({
      state: 'undurable',
      place: '/here',
      fault: new Error('fault 1'),
    });
  });

  test('is lost with the error of the store if that returns nothing, another one, or an error', async () => {
    const rescue = new Error('no other file');
    const faults = { writes: ALWAYS, rescue };
    const other = { ...startStore(faults), read: async () => 'old' };
    for (const store of [startStore(faults), other, startStore({ ...faults, read: new Error('unreadable') })])
      await expect(successor(store)).rejects.toThrow(/^fault 1$/);
  });
});
