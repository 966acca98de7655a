import { compareInstants, type Instant, parseInstant } from '../time/instant.ts';
import { memberPath } from './field-path.ts';
import type { Items } from './items.ts';
import { createCursor } from './known-fields.ts';

/** Searches filter by this field (service description, part 4). */
export function createdOnReader(): (bytes: Buffer, at: number) => Instant | undefined {
  const cursor = createCursor([memberPath('createdOn')]);
  return (bytes, at) => {
    cursor.read(bytes, at);
    const text = cursor.text(0);
    return text === undefined ? undefined : parseInstant(text);
  };
}

export type Direction = 'newest first' | 'oldest first';

/** Undefined if the times are equal or unknown. The service description promises no order. */
export function directionBetween(first: Items, last: Items): Direction | undefined {
  if (first.count === 0 || last.count === 0) return undefined;
  const createdOn = createdOnReader();
  const [a, b] = [createdOn(first.bytes, first.start(0)), createdOn(last.bytes, last.start(last.count - 1))];
  const order = a && b ? compareInstants(a, b) : 0;
  if (order === 0) return undefined;
  return order > 0 ? 'newest first' : 'oldest first';
}

export function holdsEventsFrom(items: Items, time: Instant): boolean {
  const createdOn = createdOnReader();
  for (let index = 0; index < items.count; index++) {
    const created = createdOn(items.bytes, items.start(index));
    if (created !== undefined && compareInstants(created, time) >= 0) return true;
  }
  return false;
}
