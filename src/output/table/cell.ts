import { terminalSafeLine, unicodeEscape } from '../terminal-safe.ts';
import { valueText } from '../value-text.ts';
import { NONE } from './layout.ts';

/** Line ends of any kind, and tabs: a row of a table stays a row, and its columns stay where they are. */
const BREAKS = /[\t\n\v\f\r\x85\u2028\u2029]/g;
/** UTF-16 units after which a cell is cut whatever the terminal's width; no line shows as many. */
const LONGEST = 4000;

/** A value as a cell of a terminal's table. */
export function terminalCell(bytes: Buffer, start: number, end: number): string {
  const text = bytes[start] === 0x6e ? NONE : valueText(bytes, start, end);
  return oneLine(text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text, true);
}

/** A value as a cell of a table in a pipe: whole. */
export function plainCell(bytes: Buffer, start: number, end: number): string {
  return bytes[start] === 0x6e ? NONE : oneLine(valueText(bytes, start, end), false);
}

/** Text that keeps to its line, and on a terminal does nothing but show. */
export function oneLine(text: string, forTerminal: boolean): string {
  // Half a surrogate pair is written as U+FFFD in the end, and measured as that.
  const whole = text.toWellFormed();
  return (forTerminal ? terminalSafeLine(whole) : whole).replace(BREAKS, unicodeEscape);
}
