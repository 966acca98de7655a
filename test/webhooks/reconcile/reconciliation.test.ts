import { expect, test } from 'vitest';
import { EventKeys, eventKey } from '../../../src/ids/event-keys.ts';
import { Items } from '../../../src/items/items.ts';
import { parseInstant } from '../../../src/time/instant.ts';
import { TimeZone, UTC } from '../../../src/time/time-zone.ts';
import { Reconciliation } from '../../../src/webhooks/reconcile/reconciliation.ts';
import { itemOf } from '../../support/shape.ts';

const id = (number: number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`;
const at = (time: string) => `2026-11-20T${time}Z`;
const instant = (time: string) => parseInstant(at(time));
const time = (text: string) => Date.parse(at(text));

function receivedOf(...ids: string[]): EventKeys {
  const keys = new EventKeys();
  for (const one of ids) keys.count(eventKey(one));
  return keys;
}

function pageOf(events: readonly object[]): Items {
  return Items.of(events.map((event) => Buffer.from(JSON.stringify(itemOf({ eventType: 'a', ...event })))));
}

interface Fields {
  readonly subscriptionId?: string;
  readonly createdOn?: string;
  readonly publishStatus?: string;
}
const event = (number: number, fields: Fields) => ({ eventId: id(number), ...fields });

/** Compares one page with the ids, and returns the result with the indexes of the items that are missing. */
function compared(received: EventKeys, events: readonly object[], zone = UTC) {
  const comparison = new Reconciliation(received, zone);
  const page = pageOf(events);
  const starts = Array.from(events, (_, index) => page.start(index));
  const missing = comparison.see(page, undefined);
  const indexes = Array.from({ length: missing.count }, (_, index) => starts.indexOf(missing.start(index)));
  return { ...comparison.result(), indexes };
}

test('nothing compared is nothing found', () => {
  expect(new Reconciliation(receivedOf(id(1)), UTC).result()).toEqual({
    records: 0,
    both: 0,
    groups: [],
    gaps: [],
    missing: { records: 0, failed: 0, succeeded: 0 },
    failedButReceived: 0,
    receivedTwice: 0,
    notInWindow: 1,
    severalReceivers: 0,
    bounds: { first: undefined, last: undefined },
  });
});

test('a record is received if the ids have its event, whatever their case, and missing if it has no id', () => {
  const received = receivedOf(id(1), id(1), id(1), id(2), id(2), id(3), id(4).toUpperCase(), 'other', id(99));
  const found = compared(received, [
    event(1, { subscriptionId: 'a', publishStatus: 'FAILED' }),
    event(1, { subscriptionId: 'b', publishStatus: 'SUCCESS' }),
    event(2, { subscriptionId: 'a' }),
    event(2, { subscriptionId: 'b' }),
    event(2, { subscriptionId: 'c', publishStatus: 'FAILED' }),
    event(3, { subscriptionId: 'a', publishStatus: 'PENDING' }),
    event(4, { subscriptionId: 'a' }),
    { eventId: 'other', subscriptionId: 'a' },
    event(5, { subscriptionId: 'a', publishStatus: 'FAILED' }),
    { eventId: 'another', subscriptionId: 'a', publishStatus: 'FAILED' },
    event(6, { subscriptionId: 'a', publishStatus: 'SUCCESS' }),
    { subscriptionId: 'a', publishStatus: 'PENDING' },
  ]);
  expect(found).toMatchObject({
    indexes: [8, 9, 10, 11],
    records: 12,
    both: 8,
    missing: { records: 4, failed: 2, succeeded: 1 },
    failedButReceived: 2,
    receivedTwice: 2,
    notInWindow: 1,
    severalReceivers: 2,
  });
});

test('the outcome of a page is that of its records', () => {
  const comparison = new Reconciliation(receivedOf(id(1)), UTC);
  const page = () => pageOf([event(1, { publishStatus: 'PENDING' }), event(2, {})]);
  comparison.see(page(), true);
  expect(comparison.result()).toMatchObject({
    missing: { records: 1, failed: 1, succeeded: 0 },
    failedButReceived: 1,
  });
  comparison.see(page(), false);
  expect(comparison.result()).toMatchObject({
    records: 4,
    missing: { records: 2, failed: 1, succeeded: 1 },
    failedButReceived: 1,
  });
});

test('missing records are grouped by subscription, hour of the zone and outcome', () => {
  const [A, B] = ['a0000000-0000-4000-8000-00000000000a', 'b0000000-0000-4000-8000-00000000000b'];
  const FAILED = { subscriptionId: A, publishStatus: 'FAILED' };
  const { groups, bounds } = compared(
    receivedOf(id(9)),
    [
      event(1, { ...FAILED, createdOn: at('10:29:30.25') }),
      event(2, { ...FAILED, createdOn: at('09:30:00') }),
      event(3, { ...FAILED, subscriptionId: A.toUpperCase(), createdOn: at('10:29:30.5') }),
      event(4, { ...FAILED, createdOn: at('10:30') }),
      event(5, { ...FAILED, subscriptionId: B, createdOn: at('10:00:00') }),
      event(6, { subscriptionId: A, publishStatus: 'SUCCESS', createdOn: at('10:00:00') }),
      event(7, { subscriptionId: A, publishStatus: 'OTHER', createdOn: at('10:00:00') }),
      event(8, { subscriptionId: A, createdOn: at('10:01:00') }),
      event(9, { ...FAILED, createdOn: at('08:00:00') }),
      event(10, { ...FAILED, createdOn: 'soon' }),
      event(11, FAILED),
      event(12, {}),
    ],
    new TimeZone('Asia/Kolkata'),
  );
  // Indian time is 5:30 ahead: its hours begin at half past.
  const hour = '2026-11-20T15:00:00+05:30';
  expect(groups).toEqual([
    {
      subscriptionId: A,
      hour,
      status: 'FAILED',
      count: 3,
      first: instant('09:30:00'),
      last: instant('10:29:30.5'),
    },
    {
      subscriptionId: A,
      hour: '2026-11-20T16:00:00+05:30',
      status: 'FAILED',
      count: 1,
      first: instant('10:30'),
      last: instant('10:30'),
    },
    {
      subscriptionId: B,
      hour,
      status: 'FAILED',
      count: 1,
      first: instant('10:00:00'),
      last: instant('10:00:00'),
    },
    {
      subscriptionId: A,
      hour,
      status: 'SUCCESS',
      count: 1,
      first: instant('10:00:00'),
      last: instant('10:00:00'),
    },
    {
      subscriptionId: A,
      hour,
      status: null,
      count: 2,
      first: instant('10:00:00'),
      last: instant('10:01:00'),
    },
    { subscriptionId: A, hour: null, status: 'FAILED', count: 2, first: undefined, last: undefined },
    { subscriptionId: null, hour: null, status: null, count: 1, first: undefined, last: undefined },
  ]);
  expect(bounds).toEqual({ first: instant('08:00:00'), last: instant('10:30') });
});

test('a gap is two records or more of one subscription that are missing between received ones', () => {
  const received = receivedOf(...[1, 5, 6, 8, 20].map(id));
  const of = (subscriptionId: string | undefined, numbers: readonly number[]) =>
    numbers.map((number) =>
      event(number, {
        ...(subscriptionId === undefined ? {} : { subscriptionId }),
        createdOn: at(`10:00:${String(number).padStart(2, '0')}.5`),
      }),
    );
  // The service lists the newest first; the records of others lie between.
  const { gaps } = compared(received, [
    ...of('a', [10, 9, 8, 7, 6, 5, 4, 3, 2, 1]),
    ...of('b', [22, 21, 20, 19]),
    ...of(undefined, [30, 31]),
    { eventId: id(40), subscriptionId: 'a' },
  ]);
  expect(gaps).toEqual([
    { subscriptionId: 'a', count: 3, first: time('10:00:02.5'), last: time('10:00:04.5') },
    { subscriptionId: 'a', count: 2, first: time('10:00:09.5'), last: time('10:00:10.5') },
    { subscriptionId: 'b', count: 2, first: time('10:00:21.5'), last: time('10:00:22.5') },
    { subscriptionId: null, count: 2, first: time('10:00:30.5'), last: time('10:00:31.5') },
  ]);
});

test('a gap has no record from the millisecond of a received one', () => {
  const of = (...numbers: readonly number[]) => numbers.map((number) => event(number, SAME));
  const SAME = { subscriptionId: 'a', createdOn: at('10:00:01.5') };
  const later = event(9, { ...SAME, createdOn: at('10:00:02.5') });
  expect(compared(receivedOf(id(1)), of(3, 2, 1)).gaps).toEqual([]);
  expect(compared(receivedOf(id(1)), [later, ...of(3, 2, 1)]).gaps).toEqual([]);
  expect(compared(receivedOf(id(8)), of(3, 2)).gaps).toEqual([
    { subscriptionId: 'a', count: 2, first: time('10:00:01.5'), last: time('10:00:01.5') },
  ]);
});
