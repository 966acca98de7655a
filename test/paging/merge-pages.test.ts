import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Items } from '../../src/items/items.ts';
import { mergePages } from '../../src/paging/merge-pages.ts';
import type { FoundPage } from '../../src/paging/page.ts';

const signal = new AbortController().signal;

/** Makes pages of items from JSON texts. */
async function* pagesOf(items: readonly string[], size: number): AsyncGenerator<FoundPage> {
  if (items.length === 0) yield { items: new Items(Buffer.alloc(0), []), total: 0 };
  for (let from = 0; from < items.length; from += size)
    yield {
      items: Items.of(items.slice(from, from + size).map((text) => Buffer.from(text))),
      total: items.length,
    };
}

async function merged(searches: readonly (readonly string[])[], size = 3) {
  const doubts: string[] = [];
  const texts: string[] = [];
  const totals = new Set<number | undefined>();
  const streams = searches.map((items) => pagesOf(items, size));
  for await (const { items, total } of mergePages(
    streams,
    () => 4,
    signal,
    (doubt) => doubts.push(doubt),
  )) {
    texts.push(...items.texts().map(String));
    totals.add(total);
  }
  return { texts, doubts, totals: [...totals] };
}

const event = (ticks: number, search: number) => {
  const createdOn = `2026-11-20T12:00:00.${String(ticks).padStart(7, '0')}Z`;
  return JSON.stringify({ createdOn, search });
};
const ticksOf = (text: string) => Number(/\.(\d{7})Z/.exec(text)?.[1]);

describe('the pages of several searches', () => {
  test.each([1, -1])('become one list, in their own direction (%i), exact to 100 ns', async (sign) => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(fc.integer({ min: 0, max: 20 }), { maxLength: 12 }), {
          minLength: 2,
          maxLength: 5,
        }),
        fc.integer({ min: 1, max: 5 }),
        async (lists, size) => {
          const searches = lists.map((list, search) =>
            list.toSorted((a, b) => sign * (b - a)).map((ticks) => event(ticks, search)),
          );
          const { texts, doubts, totals } = await merged(searches, size);
          expect([...texts].sort()).toEqual(searches.flat().sort());
          const count = searches.flat().length;
          expect(totals).toEqual(count === 0 ? [] : [count]);
          const tells = searches.some(
            (one) => ticksOf(one[0] ?? '') !== ticksOf(one.slice(0, size).at(-1) ?? '') && one.length > 1,
          );
          if (sign === 1 || tells) {
            const ticks = texts.map(ticksOf);
            expect(ticks).toEqual(ticks.toSorted((a, b) => sign * (b - a)));
            expect(doubts).toEqual([]);
          }
        },
      ),
      // The first two of a page may be of one moment.
      { examples: [[[[], [2, 1, 1]], 3]] },
    );
  });

  test('without order lose nothing, and say so once', async () => {
    const searches = [
      [5, 9, 1, 7].map((ticks) => event(ticks, 0)),
      [3, 8, 2].map((ticks) => event(ticks, 1)),
    ];
    const { texts, doubts } = await merged(searches, 2);
    expect([...texts].sort()).toEqual(searches.flat().sort());
    expect(doubts).toEqual([
      'the service does not return events in order of time: the events of several filters are not in order either',
    ]);
    const unheard: string[] = [];
    for await (const { items } of mergePages(
      searches.map((one) => pagesOf(one, 2)),
      () => 4,
      signal,
    ))
      unheard.push(...items.texts().map(String));
    expect(unheard).toEqual(texts);
  });

  test('of one time come in the order of the searches, and those without a time before all others', async () => {
    const untimed = (text: string) => JSON.stringify({ text });
    const at = (ticks: number, search: number) => event(ticks, search);
    expect((await merged([[at(5, 0), at(4, 0)], [at(5, 1)], [at(4, 2)]])).texts).toEqual([
      ...[at(5, 0), at(5, 1), at(4, 0), at(4, 2)],
    ]);
    const { texts, doubts } = await merged([
      [at(9, 0), untimed('a'), at(5, 0)],
      [at(8, 1), untimed('b'), untimed('c'), at(7, 1)],
      [untimed('d'), at(6, 2)],
    ]);
    expect(texts).toEqual([
      ...[
        untimed('d'),
        at(9, 0),
        untimed('a'),
        at(8, 1),
        untimed('b'),
        untimed('c'),
        at(7, 1),
        at(6, 2),
        at(5, 0),
      ],
    ]);
    expect(doubts).toEqual([
      'some events have no creation time: the events of several filters are not in order',
    ]);
    expect((await merged([[untimed('a'), untimed('b')], [untimed('c')]])).texts).toEqual([
      ...[untimed('a'), untimed('b'), untimed('c')],
    ]);
  });

  test('have no total where a search has none', async () => {
    const totalsOf = async (...totals: readonly (number | undefined)[]) => {
      const searches = totals.map(async function* (total, search): AsyncGenerator<FoundPage> {
        yield { items: Items.of([Buffer.from(event(search, search))]), total };
      });
      const found = new Set<number | undefined>();
      for await (const { total } of mergePages(searches, () => 4, signal)) found.add(total);
      return [...found];
    };
    expect(await totalsOf(2, 3, 5)).toEqual([10]);
    expect(await totalsOf(2, undefined)).toEqual([undefined]);
    expect(await totalsOf(undefined, 2)).toEqual([undefined]);
    expect(await totalsOf(undefined, 2, undefined)).toEqual([undefined]);
  });

  test('are passed on as they are read, and at most 500 events together', async () => {
    const search = Array.from({ length: 1203 }, (_, index) => event(5000 - index, 0));
    const sizesOf = async (size: number) => {
      const sizes: number[] = [];
      for await (const { items } of mergePages([pagesOf(search, size)], () => 4, signal))
        sizes.push(items.count);
      return sizes;
    };
    expect(await sizesOf(1203)).toEqual([500, 500, 203]);
    expect(await sizesOf(401)).toEqual([401, 401, 401]);
  });

  test('without times stay in the order in which they are read', async () => {
    const { texts, doubts } = await merged([['{"a":1}', '{"a":2}'], ['{"b":1}']]);
    expect([...texts].sort()).toEqual(['{"a":1}', '{"a":2}', '{"b":1}']);
    expect(doubts).toEqual([
      'some events have no creation time: the events of several filters are not in order',
    ]);
  });

  test('a failure of one fails the whole, and ends the others', async () => {
    let left = false;
    async function* failing(): AsyncGenerator<FoundPage> {
      yield* pagesOf([event(9, 0)], 1);
      throw new Error('page 2');
    }
    async function* other(): AsyncGenerator<FoundPage> {
      try {
        yield* pagesOf([event(8, 1), event(7, 1)], 1);
      } finally {
        left = true;
      }
    }
    const texts: string[] = [];
    await expect(async () => {
      for await (const { items } of mergePages([failing(), other()], () => 4, signal))
        texts.push(...items.texts().map(String));
    }).rejects.toThrow('page 2');
    expect(texts).toEqual([event(9, 0)]);
    expect(left).toBe(true);
  });
});
