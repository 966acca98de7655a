import { describe, expect, test } from 'vitest';
import { readPage } from '../../src/paging/page.ts';
import { CountAgreement, ReadLedger } from '../../src/paging/reading.ts';

const pageOf = (ids: readonly string[], count?: number) =>
  readPage(Buffer.from(JSON.stringify({ count, items: ids.map((eventId) => ({ eventId })) })));
const itemsOf = (...ids: string[]) => pageOf(ids).items;

describe('the ledger of a read', () => {
  test('passes on each item up to its limit, and drops repeated ones once it is told to', () => {
    const ledger = new ReadLedger(6);
    const passOn = (...ids: string[]) =>
      ledger
        .passOn(itemsOf(...ids))
        .texts()
        .map(String)
        .join('');
    expect([passOn('a', 'b'), passOn('a', 'c')]).toEqual([
      '{"eventId":"a"}{"eventId":"b"}',
      '{"eventId":"a"}{"eventId":"c"}',
    ]);
    ledger.dropRepeated();
    expect([passOn('b', 'd'), ledger.passedOn, ledger.isFull]).toEqual(['{"eventId":"d"}', 5, false]);
    expect([passOn('d', 'e', 'f'), ledger.passedOn, ledger.isFull]).toEqual(['{"eventId":"e"}', 6, true]);
    expect(passOn('g')).toBe('');
  });

  test('knows the keys of the last pages alone', () => {
    const ledger = new ReadLedger(10);
    const pages = [itemsOf('a'), itemsOf('b', 'c'), itemsOf('d')];
    for (const items of pages) ledger.passOn(items);
    expect(ledger.lastPages(2)).toEqual(pages.slice(1).map(({ keys }) => keys));
  });
});

describe('the agreement with the counts', () => {
  test('a count that is missing is no change, and one that comes only later is not taken', () => {
    const counted = new CountAgreement(pageOf(['a'], 3));
    expect([counted.note(pageOf(['b'])), counted.latest]).toEqual([false, 3]);
    expect([counted.note(pageOf(['b'], 4)), counted.latest]).toEqual([true, 4]);
    const uncounted = new CountAgreement(pageOf(['a']));
    expect([uncounted.note(pageOf(['b'], 3)), uncounted.latest]).toEqual([false, undefined]);
    expect(uncounted.holdsFor(7)).toBe(true);
  });

  test('holds for the first count and the latest, but not once an item may have moved up unseen', () => {
    const counts = new CountAgreement(pageOf(['a'], 3));
    counts.noteTaken(pageOf(['a'], 3));
    counts.noteTaken(pageOf(['b'], 4));
    expect([3, 4, 5].map((passedOn) => counts.holdsFor(passedOn))).toEqual([true, true, false]);
    counts.noteTaken(pageOf(['c'], 3));
    expect(counts.holdsFor(3)).toBe(false);
    counts.beginAgain();
    // Nothing can move up onto a page before the first one.
    counts.noteTaken(pageOf(['a'], 2));
    expect([2, 3, 4].map((passedOn) => counts.holdsFor(passedOn))).toEqual([true, true, false]);
  });
});
