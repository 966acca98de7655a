import { Items } from '../../src/items/items.ts';
import { createEventReader, type FoundEvent } from '../../src/webhooks/found-events.ts';
import { itemOf } from './shape.ts';

/** Returns events as a search finds them, of items with these fields. */
export function foundOf(fields: readonly Readonly<Record<string, unknown>>[]): FoundEvent[] {
  return createEventReader('event')(Items.of(fields.map((one) => Buffer.from(JSON.stringify(itemOf(one))))));
}
