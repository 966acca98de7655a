import { memberPath } from '../items/field-path.ts';
import type { Items } from '../items/items.ts';
import { createCursor, MISSING } from '../items/json-cursor.ts';
import { valueText } from '../items/value-text.ts';

/** The item's `eventId`; undefined where it has none. */
export function eventIdOf(item: Items): string | undefined {
  const cursor = createCursor([memberPath('eventId')]);
  cursor.read(item.bytes, item.start(0));
  const start = cursor.starts[0] as number;
  return start === MISSING ? undefined : valueText(item.bytes, start, cursor.ends[0] as number) || undefined;
}

/**
 * The escape sequence by which a terminal puts text on the clipboard of the machine it runs on (OSC 52 of xterm's control
 * sequences): it needs no program beside, and works through SSH.
 */
export function clipboardSequence(text: string): string {
  return `\u001b]52;c;${Buffer.from(text).toString('base64')}\u0007`;
}
