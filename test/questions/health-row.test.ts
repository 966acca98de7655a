import { expect, test } from 'vitest';
import type { SubscriptionNames } from '../../src/names/subscription-names.ts';
import {
  lastOf,
  NO_EVENTS,
  namedRows,
  receiverOf,
  shownNames,
  subscriptionIdOf,
  type UnnamedHealth,
  withoutPast,
} from '../../src/questions/health-row.ts';
import { knownInstant } from '../../src/time/instant.ts';

const [early, late] = [knownInstant(1_000), knownInstant(2_000)];

const row = (id: unknown, parts: Partial<UnnamedHealth> = {}): UnnamedHealth => ({
  ...NO_EVENTS,
  key: JSON.stringify(id),
  values: [id],
  ...parts,
});

/** The values of the rows in their order. */
const order = (...rows: readonly UnnamedHealth[]) =>
  namedRows(rows, false, undefined).map(({ values }) => values[0]);

test('the last event is the later of the last failure and the last success', () => {
  expect(lastOf({ lastFailed: early, lastSuccess: late })).toBe(late);
  expect(lastOf({ lastFailed: late, lastSuccess: early })).toBe(late);
  expect(lastOf({ lastFailed: early, lastSuccess: undefined })).toBe(early);
  expect(lastOf({ lastFailed: undefined, lastSuccess: early })).toBe(early);
  expect(lastOf({ lastFailed: undefined, lastSuccess: undefined })).toBeUndefined();
});

test('several names of a row are the first one and the number of others', () => {
  expect(shownNames([])).toBeNull();
  expect(shownNames(['Hill'])).toBe('Hill');
  expect(shownNames(['Hill', 'Harbour', 'Lights'])).toBe('Hill and 2 more');
});

test('the receiver of a row is its name, but of several names the address; each replaces the other', () => {
  const [who, address] = ['Hill', 'a.example'];
  const receivers = (isShared: boolean) => [
    receiverOf({ who, isShared, address }),
    receiverOf({ who, isShared, address: null }),
    receiverOf({ who: null, isShared, address }),
    receiverOf({ who: null, isShared, address: null }),
  ];
  expect(receivers(false)).toEqual([who, who, address, null]);
  expect(receivers(true)).toEqual([address, who, address, null]);
});

test('the id of a subscription is a text', () => {
  expect(subscriptionIdOf({ values: ['a', 1] })).toBe('a');
  expect(subscriptionIdOf({ values: [1] })).toBeUndefined();
  expect(subscriptionIdOf({ values: [] })).toBeUndefined();
});

test('rows are in order of urgency: failing, silent against the rhythm, and then by state', () => {
  const states = ['ok', 'gone', 'off', 'silent', 'recovered', 'failing'] as const;
  const rows = states.map((state) => row(state, { state, failed: state === 'ok' ? 0 : 1, events: 1 }));
  const rhythm = row('rhythm', { silentSince: early });
  expect(order(...rows, rhythm)).toEqual(['failing', 'rhythm', 'recovered', 'silent', 'off', 'gone', 'ok']);
});

test('rows of one state are in order of the rate that is proven, of events, and of values', () => {
  expect(order(row('1 of 1', { failed: 1, events: 1 }), row('40 of 50', { failed: 40, events: 50 }))).toEqual(
    ['40 of 50', '1 of 1'],
  );
  expect(order(row('few', { events: 5 }), row('many', { events: 9 }))).toEqual(['many', 'few']);
  const [one, none] = [row('1', { failed: 1, events: 1e9 }), row('none', { events: 2e9 })];
  expect([order(one, none), order(none, one)]).toEqual([
    ['1', 'none'],
    ['1', 'none'],
  ]);
  expect(order(row('b'), row('a'), row('c'))).toEqual(['a', 'b', 'c']);
});

test('a subscription that is off or gone is in no run of failures, and others stay as they are', () => {
  const failing = { state: 'failing', failingSince: early, edge: true } as const;
  expect(withoutPast(failing, undefined)).toBe(failing);
  expect(withoutPast(failing, 'on')).toBe(failing);
  for (const state of ['off', 'gone'] as const)
    expect(withoutPast(failing, state)).toEqual({ state, failingSince: undefined, edge: false });
});

test('rows of subscriptions get their address and state, and rows of other values none', () => {
  const names = {
    of: (id: string) => (id === 'other' ? undefined : { state: 'off' }),
    nameOf: (id: string) => (id === 'known' ? 'a.example/in' : undefined),
  } as SubscriptionNames;
  const rows = [row('known', { state: 'failing' }), row('other'), row(1)];
  const shown = (areSubscriptions: boolean, given: SubscriptionNames | undefined) =>
    namedRows(rows, areSubscriptions, given).map(({ values, state, address }) => [values[0], state, address]);
  expect(shown(true, names)).toEqual([
    ['known', 'off', 'a.example/in'],
    ['other', 'ok', null],
    [1, 'ok', null],
  ]);
  const without = [
    ['known', 'failing', null],
    ['other', 'ok', null],
    [1, 'ok', null],
  ];
  expect(shown(false, names)).toEqual(without);
  expect(shown(true, undefined)).toEqual(without);
  expect(namedRows(rows, false, undefined)[0]).not.toHaveProperty('key');
});
