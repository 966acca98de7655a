import { describe, expect, test } from 'vitest';
import { type FieldPath, memberPath, parseFieldPath, parseFieldPaths } from '../../src/items/field-path.ts';
import { HealthFold } from '../../src/questions/health-fold.ts';
import { UTC } from '../../src/time/time-zone.ts';
import { inShape } from '../support/shape.ts';
import { at, eventsOf, pageOf } from './outcome-pages.ts';

const SUBSCRIPTION = memberPath('subscriptionId');
const CUSTOMER = parseFieldPath(inShape({ flat: 'customer', published: 'eventData.customer' }), '--by');

/** The rows of the fold, with times as texts. */
const rowsOf = (fold: HealthFold, grouping?: number) =>
  fold.result(grouping).map(({ failingSince, firstFailed, lastFailed, lastSuccess, ...row }) => ({
    ...row,
    failingSince: failingSince?.text,
    firstFailed: firstFailed?.text,
    lastFailed: lastFailed?.text,
    lastSuccess: lastSuccess?.text,
  }));

/** Folds pages of events by their subscription. */
function folded(...pages: readonly (readonly object[])[]): HealthFold {
  const fold = new HealthFold([[SUBSCRIPTION]], UTC);
  for (const events of pages) fold.see(pageOf(events));
  return fold;
}

const rowOf = (outcomes: string) => rowsOf(folded(eventsOf(outcomes)))[0];

describe('a row of events health', () => {
  const errors = ['', '', 'refused', '', 'timeout', ''];
  const events = eventsOf('SSFSFF', { subscriptionId: 'one' }).map((event, index) => ({
    ...event,
    delivery: { lastError: errors[index] },
    // Only failures have a reason.
    ...(index === 1 ? { other: { reason: 'delivered at last' } } : {}),
  }));
  const row = {
    key: '"one"',
    values: ['one'],
    state: 'failing',
    failed: 3,
    events: 6,
    failingSince: at(2),
    edge: false,
    firstFailed: at(2),
    lastFailed: at(5),
    lastError: 'timeout',
    lastSuccess: at(3),
    silentSince: undefined,
    usualGapSeconds: undefined,
    recent: 'FFSFSS',
    who: null,
    isShared: false,
  };

  test('has its counts, its run of failures and its last events, whatever the order of the pages', () => {
    const [a, b, c, d, e, f] = events as [object, object, object, object, object, object];
    expect(rowsOf(folded([a, b, c, d, e, f]))).toEqual([row]);
    expect(rowsOf(folded([f, e, d], [], [c, b, a]))).toEqual([row]);
    expect(rowsOf(folded([e, a], [c, f, b, d]))).toEqual([row]);
  });

  test.each<[string, object]>([
    ['FSF', { state: 'failing', edge: true, failingSince: at(0), firstFailed: at(0), lastFailed: at(2) }],
    ['SFS', { state: 'failing', edge: false, failingSince: at(1) }],
    ['FSSF', { state: 'failing', edge: false, failingSince: at(3), firstFailed: at(0) }],
    ['SFSS', { state: 'recovered', edge: false, failingSince: undefined, firstFailed: at(1), failed: 1 }],
    [
      'SS',
      { state: 'ok', edge: false, failingSince: undefined, lastFailed: undefined, lastError: undefined },
    ],
    ['FF', { state: 'failing', lastSuccess: undefined, events: 2, failed: 2 }],
  ])('of the outcomes %s is %j', (outcomes, expected) => {
    expect(rowOf(outcomes)).toMatchObject(expected);
  });

  test('has the last ten events, newest first', () => {
    expect(rowOf('FFSSSSSSSSFS')?.recent).toBe('SFSSSSSSSS');
    expect(rowOf('FS')?.recent).toBe('SF');
  });

  test('has no events of unknown outcome, which are counted apart, unless their page has one', () => {
    const fold = folded(eventsOf('SPF'), [{ createdOn: at(9) }]);
    expect([fold.events, fold.unknownOutcomes, fold.times.bounds.last?.text]).toEqual([2, 2, at(2)]);
    expect(rowsOf(fold)).toMatchObject([{ values: [null], events: 2, failed: 1 }]);
    expect([fold.hasFailed(0), fold.hasFailed(1), fold.hasFailed(2)]).toEqual([false, true, false]);
    fold.see(pageOf([{ createdOn: at(7) }], false));
    fold.see(pageOf([{ createdOn: at(8) }, { createdOn: at(9) }], true));
    expect(rowsOf(fold)).toMatchObject([{ events: 5, failed: 3, recent: 'FFSFS' }]);
    expect(fold.unknownOutcomes).toBe(2);
  });

  test('has events without a time after the others, in the order in which they are listed', () => {
    const undated = (outcomes: string) => eventsOf(outcomes, { createdOn: null });
    const fold = folded(undated('FS'), eventsOf('SF'), undated('SF'));
    expect(rowsOf(fold)).toMatchObject([{ recent: 'FSFSSF', lastFailed: at(1), failed: 3 }]);
    expect(rowsOf(folded(undated('FF')))).toMatchObject([
      { state: 'failing', failingSince: undefined, lastFailed: undefined },
    ]);
    expect(rowsOf(folded(undated('F'), eventsOf('SF')))).toMatchObject([
      { state: 'failing', edge: true, failingSince: at(1) },
    ]);
    expect([...fold.instants()].map(([key, times]) => [key, times.map(({ text }) => text)])).toEqual([
      ['null', [at(0), at(1)]],
    ]);
  });
});

describe('the names of a row', () => {
  const named = (...names: readonly unknown[]) =>
    names.map((customer) => ({ ...eventsOf('S')[0], customer }));
  const whoOf = (...names: readonly unknown[]) => {
    const fold = new HealthFold([[SUBSCRIPTION], [CUSTOMER], [SUBSCRIPTION, CUSTOMER]], UTC, CUSTOMER);
    fold.see(pageOf(named(...names)));
    return [0, 1, 2].map((grouping) => rowsOf(fold, grouping).map(({ who, isShared }) => [who, isShared]));
  };
  test('are the different ones of its events; a row by name has none', () => {
    const none = [null, false];
    expect(whoOf('Hill', 'Hill')).toEqual([[['Hill', false]], [none], [none]]);
    const ofNames = Array.from({ length: 4 }, () => none);
    expect(whoOf('Hill', undefined, 'Harbour', 'Hill', 'Lights')).toEqual([
      [['Hill and 2 more', true]],
      ofNames,
      ofNames,
    ]);
    expect(whoOf(undefined)).toEqual([[none], [none], [none]]);
  });

  test('are counted up to a hundred', () => {
    const many = Array.from({ length: 102 }, (_, index) => `n${index}`);
    expect(whoOf(...many.slice(0, 100))[0]).toEqual([['n0 and 99 more', true]]);
    expect(whoOf(...many)[0]).toEqual([['n0 and 99 more', true]]);
  });
});

test('each grouping has its own rows, by several fields together or by each value of a list', () => {
  const [region, tags] = ['region', 'tags[]'].map((path) =>
    parseFieldPath(inShape({ flat: path, published: `eventData.${path}` }), '--by'),
  ) as [FieldPath, FieldPath];
  const fold = new HealthFold([[SUBSCRIPTION, region], [tags], []], UTC);
  fold.see(
    pageOf([
      ...eventsOf('F', { subscriptionId: 'one', region: 'north', tags: ['x', 'y'] }),
      ...eventsOf('S', { subscriptionId: 'one', region: 'south', tags: ['y'] }),
    ]),
  );
  const counts = (grouping: number) =>
    rowsOf(fold, grouping).map(({ values, failed, events }) => [...values, failed, events]);
  expect(counts(0)).toEqual([
    ['one', 'north', 1, 1],
    ['one', 'south', 0, 1],
  ]);
  expect(counts(1)).toEqual([
    ['x', 1, 1],
    ['y', 1, 2],
  ]);
  expect(counts(2)).toEqual([[1, 2]]);
  expect(counts(3)).toEqual([]);
  expect([...fold.instants().keys()]).toEqual(fold.result().map(({ key }) => key));
});

test('a field of the first grouping that no event has is doubted, if there are events', () => {
  const fold = new HealthFold([parseFieldPaths('subscriptionid,createdOn'), parseFieldPaths('none')], UTC);
  fold.see(pageOf(eventsOf('P', { subscriptionId: 'one' })));
  expect(fold.doubts()).toEqual([]);
  fold.see(pageOf(eventsOf('S', { subscriptionId: 'one' })));
  expect(fold.doubts()).toEqual([
    "--by: no event has the field 'subscriptionid'; did you mean subscriptionId?",
  ]);
  fold.see(pageOf(eventsOf('S', { subscriptionid: 'one' })));
  const isTop = inShape({ flat: true, published: false });
  expect(fold.doubts()).toHaveLength(isTop ? 0 : 1);
});

test('the order is unknown if the service sorts events by outcome and none has a time', () => {
  const isUnordered = (events: readonly object[], haveFailed?: boolean) => {
    const fold = new HealthFold([[SUBSCRIPTION]], UTC);
    fold.see(pageOf(events, haveFailed));
    return fold.isUnordered;
  };
  const undated = eventsOf('F', { createdOn: 'never' });
  expect([isUnordered(undated, true), isUnordered(undated, false)]).toEqual([true, true]);
  expect([isUnordered(undated), isUnordered([], true)]).toEqual([false, false]);
  expect(isUnordered([...undated, ...eventsOf('F')], true)).toBe(false);
});

describe('more values than fit in memory are an error that names the fields', () => {
  const list = (length: number) => Array.from({ length }, (_, index) => index);
  const fields = parseFieldPaths(inShape({ flat: 'a[],b[]', published: 'eventData.a[],eventData.b[]' }));
  const see = (...lists: readonly object[]) =>
    new HealthFold([fields], UTC).see(pageOf(lists.map((more) => ({ ...eventsOf('F')[0], ...more }))));
  const error = expect.objectContaining({
    name: 'ServiceError',
    message: `--by ${fields.map(({ text }) => text).join()}: more than 100000 values`,
    next: 'name a field with fewer different values, or narrow the search',
  });

  test('if one event has them', () => {
    expect(() => see({ a: list(400), b: list(251) })).toThrow(error);
  });

  test('if several events have them, each a part', () => {
    expect(() => see({ a: list(400), b: list(250) }, { a: [0], b: [-1] })).toThrow(error);
  });
});
