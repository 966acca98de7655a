import { Items } from '../../src/items/items.ts';
import type { PageOfOutcomes } from '../../src/sources/event-source.ts';
import { itemOf } from '../support/shape.ts';

/** A page of flat events, in the shape in which the test runs. */
export function pageOf(events: readonly object[], haveFailed?: boolean): PageOfOutcomes {
  const texts = events.map((event) => Buffer.from(JSON.stringify(itemOf({ eventType: 'a', ...event }))));
  return { items: Items.of(texts), haveFailed };
}

/** A time of 20 November 2026, from 10:00 on. */
export function at(minute: number): string {
  return new Date(Date.UTC(2026, 10, 20, 10, minute)).toISOString();
}

/** An event for each letter, minute by minute: `F` failed, `S` delivered, `P` neither. */
export function eventsOf(outcomes: string, more: object = {}): object[] {
  const statuses: Readonly<Record<string, string>> = { F: 'FAILED', S: 'SUCCESS', P: 'PENDING' };
  return [...outcomes].map((outcome, minute) => ({
    eventId: `e${minute}`,
    createdOn: at(minute),
    publishStatus: statuses[outcome],
    ...more,
  }));
}
