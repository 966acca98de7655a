import { compareInstants, type Instant, parseInstant } from '../time/instant.ts';
import { memberPath } from './field-path.ts';
import type { Items } from './items.ts';
import { stringText } from './json-bytes.ts';
import { createCursor, MISSING } from './json-cursor.ts';

/** Reads when items were created, from the field that searches filter by (service description, part 4). */
export function createdOnReader(): (bytes: Buffer, at: number) => Instant | undefined {
  const cursor = createCursor([memberPath('createdOn')]);
  return (bytes, at) => {
    cursor.read(bytes, at);
    const start = cursor.starts[0] as number;
    if (start === MISSING || bytes[start] !== 0x22) return undefined;
    const text = stringText(bytes, start, cursor.ends[0] as number);
    return parseInstant(text);
  };
}

/** True if a page begins with a newer event than it ends with; the service description promises no order. */
export function isNewestFirst(items: Items): boolean {
  return directionBetween(items, items) === 'newest first';
}

export type Direction = 'newest first' | 'oldest first';

/** The direction in which events are listed, by the first of some items and the last of others; undefined if they do not tell. */
export function directionBetween(first: Items, last: Items): Direction | undefined {
  if (first.count === 0 || last.count === 0) return undefined;
  const createdOn = createdOnReader();
  const [a, b] = [createdOn(first.bytes, first.start(0)), createdOn(last.bytes, last.start(last.count - 1))];
  const order = a && b ? compareInstants(a, b) : 0;
  if (order === 0) return undefined;
  return order > 0 ? 'newest first' : 'oldest first';
}

/** True if the page has an event that was created at that time or later. */
export function holdsEventsFrom(items: Items, time: Instant): boolean {
  const createdOn = createdOnReader();
  for (let index = 0; index < items.count; index++) {
    const created = createdOn(items.bytes, items.start(index));
    if (created !== undefined && compareInstants(created, time) >= 0) return true;
  }
  return false;
}
