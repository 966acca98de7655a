import { Items } from '../../src/items/items.ts';
import { createEventReader, type FoundEvent } from '../../src/webhooks/found-events.ts';
import { itemOf, knownOf } from './shape.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Returns items of these fields. */
export function itemsOf(...events: readonly Fields[]): Items {
  return Items.of(events.map((fields) => Buffer.from(JSON.stringify(itemOf(fields)))));
}

/** Returns the event's id of each item. */
export function idsIn(items: Items): string[] {
  return [...items.values()].map((item) => knownOf(item as object).eventId);
}

/** Returns events as a search finds them, of items with these fields. */
export function foundOf(events: readonly Fields[]): FoundEvent[] {
  return createEventReader('event')(itemsOf(...events));
}
