import { expect, test } from 'vitest';
import type { Items } from '../../src/items/items.ts';
import { EventGroups } from '../../src/questions/event-groups.ts';
import { FailureReasons } from '../../src/questions/failure-reasons.ts';
import { failuresOf, LatestFailures } from '../../src/questions/latest-failures.ts';
import { Receivers } from '../../src/questions/receivers.ts';
import { UTC } from '../../src/time/time-zone.ts';
import { inShape } from '../support/shape.ts';
import { pageOf } from './outcome-pages.ts';

const ID = '22284310-c2cd-4a3e-a9e8-1d7b8995da7f';

const idsOf = (items: Items) =>
  [...items.values()].map((item) => {
    const { eventId, eventData } = item as { eventId?: string; eventData?: { eventId: string } };
    return inShape({ flat: eventId, published: eventData?.eventId });
  });

const at = (second: number) => `2026-11-20T10:00:${String(second).padStart(2, '0')}Z`;
const failedAt = (second: number) => ({
  eventId: `e${second}`,
  createdOn: at(second),
  publishStatus: 'FAILED',
});

test('the failures of a page are those of its events, or all or none where the page is of one outcome', () => {
  const events = [failedAt(1), { eventId: 's', publishStatus: 'SUCCESS' }, { eventId: 'u' }];
  expect(idsOf(failuresOf()(pageOf(events)))).toEqual(['e1']);
  expect(idsOf(failuresOf()(pageOf(events, true)))).toEqual(['e1', 's', 'u']);
  expect(idsOf(failuresOf()(pageOf(events, false)))).toEqual([]);
});

test('the latest failures are those created last, newest first, whatever the order of the pages', () => {
  const seconds = [3, 9, 1, 7, 5, 8, 2, 6, 4, 0];
  const latest = new LatestFailures(2);
  for (const second of seconds) {
    latest.see(pageOf([failedAt(second), { ...failedAt(59), eventId: 's', publishStatus: 'SUCCESS' }]));
    latest.see(pageOf([failedAt(30)], false));
  }
  expect(idsOf(latest.result())).toEqual(['e9', 'e8']);
  const few = new LatestFailures(2);
  few.see(pageOf([failedAt(1)]));
  expect(idsOf(few.result())).toEqual(['e1']);
});

test('events are counted by their outcome, or by that of their page, and others are not', () => {
  const count = new EventGroups([], UTC);
  const outcomes = () => ({ events: count.failed + count.delivered, failed: count.failed });
  expect(outcomes()).toEqual({ events: 0, failed: 0 });
  count.see(pageOf([failedAt(1), { publishStatus: 'SUCCESS' }, { publishStatus: 'PENDING' }, {}]));
  expect(outcomes()).toEqual({ events: 2, failed: 1 });
  count.see(pageOf([{}, {}], true));
  count.see(pageOf([failedAt(1)], false));
  expect(outcomes()).toEqual({ events: 5, failed: 3 });
});

test('receivers are the subscriptions of events, in lower case, and those that are added', () => {
  const receivers = new Receivers();
  receivers.add('added');
  receivers.see(pageOf([{ subscriptionId: ID.toUpperCase() }, { subscriptionId: ID }, {}]));
  expect([...receivers.result()]).toEqual(['added', ID]);
});

function reasonsOf(events: readonly object[]) {
  const reasons = new FailureReasons();
  const { items } = pageOf(events);
  for (let item = 0; item < items.count; item++) reasons.note(10 + item, items, item);
  return { reasons, items };
}

test('the reason of the first row that has one is told, by the field that the first event with a reason has', () => {
  const { reasons, items } = reasonsOf([
    {},
    { delivery: { lastError: '' } },
    { delivery: { lastError: 'timeout' }, other: { reason: 'x' } },
    { delivery: { lastError: 'refused' } },
    { other: { reason: 'y' } },
    { delivery: { lastError: 'timeout' } },
    { delivery: { lastError: '-' } },
  ]);
  expect(reasons.firstOf([10, 11, 12, 13])).toBe('timeout');
  expect(reasons.firstOf([13, 12])).toBe('refused');
  expect(reasons.firstOf([14, 16, 15])).toBe('timeout');
  expect(reasons.firstOf([10, 11, 14, 16])).toBeUndefined();
  expect(reasons.firstOf([])).toBeUndefined();
  expect(reasons.textOf(items, 1)).toBeUndefined();
  expect(reasons.textOf(items, 3)).toBe('refused');
  expect(reasons.textOf(items, 4)).toBeUndefined();
});

test('a reason is cut after 200 characters', () => {
  const { reasons } = reasonsOf([{ delivery: { lastError: 'x'.repeat(500) } }]);
  expect(reasons.firstOf([10])).toBe('x'.repeat(200));
});
