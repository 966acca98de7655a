import { describe, expect, test } from 'vitest';
import { allRows, countRows } from '../../src/explain/rows.ts';
import {
  bestSpan,
  heaviestSpans,
  inOrderOfTime,
  isStartOfCurrentRun,
  latestRunOf,
  SpanTest,
} from '../../src/explain/spans.ts';
import { Likelihood } from '../../src/statistics/chance.ts';
import { tableOf, textOf } from './made-tables.ts';

type Minute = Parameters<typeof tableOf>[3];

/** The spans that are found among so many events, each with its failures and its events. */
const spansOf = (count: number, failed: (index: number) => boolean, minute?: Minute) => {
  const table = tableOf(count, failed, () => ({}), minute);
  const all = allRows(table.rows);
  const { failed: allFailed } = countRows(all, table.failures);
  const found = heaviestSpans(table, inOrderOfTime(table, all), allFailed / table.rows);
  return [...new Set(found.map(({ test, events, failed }) => `${textOf(test)}: ${failed} of ${events}`))];
};
const isIn = (index: number, from: number, to: number) => index >= from && index <= to;

test.each<[string, number, (index: number) => boolean, string[]]>([
  ['of which all fail', 100, (i) => isIn(i, 20, 39), ['rows 20..39: 20 of 20']],
  ['of which half fail', 200, (i) => isIn(i, 20, 79) && i % 2 === 0, ['rows 20..78: 30 of 59']],
  ['of which a third fail', 200, (i) => isIn(i, 20, 79) && i % 3 === 0, ['rows 21..78: 20 of 58']],
  ['of which a fifth fail', 200, (i) => isIn(i, 20, 79) && i % 5 === 0, ['rows 20..75: 12 of 56']],
  ['that goes on', 100, (i) => isIn(i, 80, 99), ['rows 80..: 20 of 20']],
  ['that began before the first event', 100, (i) => isIn(i, 0, 19), ['rows ..19: 20 of 20']],
  // Events before or after it fail alike from 0.4 of the rate on.
  [
    'after which two of five fail',
    100,
    (i) => isIn(i, 20, 39) || (i > 39 && i % 5 > 2),
    ['rows 20..: 44 of 80'],
  ],
  [
    'after which a third fail',
    100,
    (i) => isIn(i, 20, 39) || (i > 39 && i % 3 === 0),
    ['rows 20..39: 20 of 20', 'rows 20..: 40 of 80'],
  ],
  [
    'before which two of five fail',
    100,
    (i) => isIn(i, 60, 79) || (i < 60 && i % 5 < 2),
    ['rows ..79: 44 of 80'],
  ],
  [
    'before which a third fail',
    100,
    (i) => isIn(i, 60, 79) || (i < 60 && i % 3 === 0),
    ['rows 60..79: 20 of 20', 'rows ..79: 40 of 80'],
  ],
  [
    'of which half fail, after which a quarter fail',
    300,
    (i) => (isIn(i, 20, 99) ? i % 2 === 0 : i > 99 && i % 4 === 3),
    ['rows 20..: 90 of 280'],
  ],
  ['of most events', 100, (i) => i > 9, ['rows 10..: 90 of 90']],
  ['of nearly all events', 100, (i) => i > 3, ['rows 4..: 96 of 96']],
  ['of two failures and what is between them', 100, (i) => i === 3 || i === 5, ['rows 3..5: 2 of 3']],
  [
    'of few that fail, and one of many that fail sometimes',
    300,
    (i) => isIn(i, 20, 36) || (isIn(i, 200, 299) && i % 10 < 3),
    ['rows 20..36: 17 of 17', 'rows 200..: 30 of 100'],
  ],
  ['of one failure is none', 100, (i) => i === 30, []],
  ['of no failure is none', 100, () => false, []],
  ['of all events is none', 100, () => true, []],
])('a span %s', (_, count, failed, expected) => expect(spansOf(count, failed)).toEqual(expected));

test.each<[string, (index: number) => boolean, string | undefined]>([
  ['the only one', (i) => isIn(i, 20, 39), 'rows 20..39'],
  [
    'the one of more failures, where it is as sharp',
    (i) => isIn(i, 20, 29) || isIn(i, 60, 79),
    'rows 60..79',
  ],
  ['the longer one', (i) => isIn(i, 20, 39) || (i > 39 && i % 2 === 0), 'rows 20..'],
  ['the shorter one', (i) => isIn(i, 20, 59) || (i > 59 && i % 5 === 1), 'rows 20..59'],
  ['none', () => false, undefined],
])('the span that makes the failures most likely is %s', (_, failed, expected) => {
  const table = tableOf(100, failed, () => ({}));
  const rows = allRows(table.rows);
  const whole = countRows(rows, table.failures);
  const best = bestSpan(table, inOrderOfTime(table, rows), whole, new Likelihood(table.rows));
  expect(best && textOf(best.test)).toBe(expected);
});

test('a span holds all events of one moment', () => {
  const pairs = (index: number) => index >> 1;
  expect(spansOf(100, (i) => isIn(i, 21, 38), pairs)).toEqual(['rows 20..39: 18 of 20']);
  expect(spansOf(100, (i) => isIn(i, 1, 20), pairs)).toEqual(['rows ..21: 20 of 22']);
  expect(spansOf(100, (i) => isIn(i, 81, 98), pairs)).toEqual(['rows 80..: 18 of 20']);
  const threes = (index: number) => Math.floor(index / 3);
  expect(spansOf(120, (i) => isIn(i, 20, 39), threes)).toEqual(['rows 18..41: 20 of 24']);
});

test('a span has its bounds, and no event of unknown time', () => {
  const { times } = tableOf(
    10,
    () => false,
    () => ({}),
    (index) => (index === 4 ? undefined : index),
  );
  const inside = (from?: number, to?: number) => [...new SpanTest(times, from, to).filter(allRows(10))];
  expect(inside(3, 6)).toEqual([3, 5, 6]);
  expect(inside(undefined, 2)).toEqual([0, 1, 2]);
  expect(inside(7)).toEqual([7, 8, 9]);
});

/** `F` failed, one a minute, and other events are delivered. */
const historyOf = (history: string) =>
  tableOf(
    history.length,
    (index) => history[index] === 'F',
    () => ({}),
  );

test.each([
  ['SSFFF', { since: 2, isAtEdge: false, isFirstAtEdge: false }],
  ['FFSSF', { since: 4, isAtEdge: false, isFirstAtEdge: true }],
  ['FSFSF', { since: 0, isAtEdge: true, isFirstAtEdge: true }],
  ['FFSS', { since: undefined, isAtEdge: true, isFirstAtEdge: true }],
  ['SFSS', { since: undefined, isAtEdge: false, isFirstAtEdge: false }],
  ['SS', { since: undefined, isAtEdge: false, isFirstAtEdge: false }],
])('of %s, the latest run and the first are at the edge of the window or not', (history, expected) => {
  const table = historyOf(history);
  expect(latestRunOf(table, inOrderOfTime(table, allRows(table.rows)))).toEqual(expected);
});

describe('a span marks where the current run of failures begins', () => {
  const isMarked = (history: string, own = history.length, general = history.length) => {
    const table = historyOf(history);
    return isStartOfCurrentRun(table, allRows(general), allRows(table.rows).slice(-own));
  };

  test.each<[string, string, boolean]>([
    ['if the run has all of its failures', 'SSFFFFF', true],
    ['if it has nine of ten', 'FSSFFFFFFFFF', true],
    ['not if it has fewer', 'FFSSFFFFFFFFF', false],
    ['not if it has ended', 'SFFFFFSS', false],
  ])('%s', (_, history, expected) => {
    expect(isMarked(history)).toBe(expected);
  });

  test('of those that fulfil the other conditions', () => {
    expect(isMarked('FFSSFFFFF', 5)).toBe(true);
    expect(isMarked('FFSSFFFFF', 5, 8)).toBe(false);
  });
});
