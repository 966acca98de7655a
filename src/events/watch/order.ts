import { memberPath } from '../../output/field-path.ts';
import { createCursor, MISSING } from '../../output/json/cursor.ts';
import { stringText } from '../../output/value-text.ts';
import { compareInstants, type Instant, parseInstant } from '../instant.ts';

/** One event's own bytes. */
export interface WatchedItem {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
  /** Undefined where the item does not tell it. */
  readonly createdOn: Instant | undefined;
}

/** Reads when items were created, from the field that searches go by (service description, part 4). */
export function createdOnReader(): (bytes: Buffer, at: number) => Instant | undefined {
  const cursor = createCursor([memberPath('createdOn')]);
  return (bytes, at) => {
    cursor.read(bytes, at);
    const start = cursor.starts[0] as number;
    if (start === MISSING || bytes[start] !== 0x22) return undefined;
    const text = stringText(bytes, start, cursor.ends[0] as number);
    // Spans and words are for people: an item has a date or none.
    if (!/^\d{4}-/.test(text)) return undefined;
    try {
      return parseInstant(text, 'createdOn', 0);
    } catch {
      return undefined;
    }
  };
}

/**
 * Oldest first, as a follower expects it. Where an item does not tell its time all stay in the service's order, the last
 * first: searches are answered newest first as far as services are known to do.
 */
export function oldestFirst(items: readonly WatchedItem[]): WatchedItem[] {
  const reversed = items.toReversed();
  if (!reversed.every(({ createdOn }) => createdOn)) return reversed;
  return reversed.sort((a, b) => compareInstants(a.createdOn as Instant, b.createdOn as Instant));
}
