import { memberPath } from './field-path.ts';
import { compareInstants, type Instant, parseInstant } from './instant.ts';
import type { ItemPage } from './items.ts';
import { createCursor, MISSING } from './json-cursor.ts';
import { stringText } from './value-text.ts';

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

/** Whether a page begins with a newer event than it ends with; the service description promises no order. */
export function isNewestFirst({ bytes, spans, count }: ItemPage): boolean {
  if (count < 2) return false;
  const createdOn = createdOnReader();
  const first = createdOn(bytes, spans[0] as number);
  const last = createdOn(bytes, spans[2 * count - 2] as number);
  return first !== undefined && last !== undefined && compareInstants(first, last) > 0;
}
