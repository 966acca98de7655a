import { valueText } from '../items/value-text.ts';
import type { Palette } from '../terminal/palette.ts';
import { terminalSafeLine, unicodeEscape } from '../terminal/terminal-safe.ts';
import { NONE } from './table-layout.ts';

/** Line ends beyond those that act on a terminal: a row of a table stays a row. */
const BREAKS = /[\u2028\u2029]/g;
/** UTF-16 units after which a cell is cut whatever the terminal's width; no line shows as many. */
const LONGEST = 4000;

/** A value as a cell of a terminal's table. */
export function terminalCell(bytes: Buffer, start: number, end: number): string {
  const text = bytes[start] === 0x6e ? NONE : valueText(bytes, start, end);
  return oneLine(text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text);
}

/** A value as a cell of a table in a pipe: whole. */
export function plainCell(bytes: Buffer, start: number, end: number): string {
  return bytes[start] === 0x6e ? NONE : oneLine(valueText(bytes, start, end));
}

/** Text that keeps to its line and does nothing to a terminal. */
export function oneLine(text: string): string {
  // Half a surrogate pair is written as U+FFFD in the end, and measured as that.
  return terminalSafeLine(text.toWellFormed()).replace(BREAKS, unicodeEscape);
}

/** What the texts of a column are, as far as it matters to how they are shown. */
export type CellKind = 'time' | 'guid' | 'status' | 'text';

const TIME = /^(\d{4})-(\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:?\d\d)?$/;
const GUID = /^\{?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\}?$/i;
const BAD = /^(fail|error|reject|dead|undeliver|expired)/i;
const GOOD = /^(success|succeed|ok$|deliver|sent$|complete|published$|done$|active$)/i;
const WAITING = /^(pending|retry|queued|progress|in[ _-]?progress|waiting|unknown)/i;

/** The kind of a column by its title and its texts, those that are missing left out. */
export function kindOf(title: string, texts: readonly string[]): CellKind {
  if (/(status|state)$/i.test(title)) return 'status';
  if (texts.length === 0) return 'text';
  if (texts.every((text) => TIME.test(text))) return 'time';
  return texts.every((text) => GUID.test(text)) ? 'guid' : 'text';
}

/** A time in less and less room: date and time as they came but for the `T`, without the fraction, without the year. */
export function timeForms(text: string): readonly string[] {
  const match = TIME.exec(text);
  if (!match) return [text];
  const [, year, day, time, fraction = '', zone = ''] = match;
  return [
    `${year}-${day} ${time}${fraction}${zone}`,
    `${year}-${day} ${time}${zone}`,
    `${day} ${time}${zone}`,
  ];
}

/** A status, `padded` as it is shown, in the colour of what it means. */
export function coloredStatus(text: string, padded: string, palette: Palette): string {
  if (BAD.test(text)) return palette.bad(padded);
  if (GOOD.test(text)) return palette.good(padded);
  return WAITING.test(text) ? palette.caution(padded) : padded;
}
