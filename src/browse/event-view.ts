import { wrapAnsi } from 'fast-wrap-ansi';
import type { Items } from '../items/items.ts';
import { prettyJson } from '../output/pretty-json.ts';
import { cutTo } from '../terminal/cell-width.ts';
import { grouped } from '../terminal/numbers-text.ts';
import type { Palette } from '../terminal/palette.ts';
import type { Browsing } from './browsing.ts';
import { footerLine } from './list-view.ts';

const KEYS = 'esc back  arrows scroll  y copy id  o report  q quit';

/** An event as indented JSON, its lines broken to the screen's width. */
export function eventLines(item: Items, columns: number, palette: Palette): string[] {
  const text = prettyJson(item.bytes, item.start(0), item.end(0), palette);
  return wrapAnsi(text, columns, { hard: true, trim: false }).split('\n');
}

/** The open event as lines, exactly as many as the screen has rows. */
export function openedLines(
  browsing: Browsing,
  lines: readonly string[],
  columns: number,
  palette: Palette,
): string[] {
  const { opened, eventRows, message } = browsing;
  const from = Math.min(opened?.line ?? 0, Math.max(0, lines.length - eventRows));
  const to = Math.min(lines.length, from + eventRows);
  const title = `event, lines ${grouped(from + 1)} to ${grouped(to)} of ${grouped(lines.length)}`;
  const body = lines.slice(from, to);
  return [
    palette.bold(cutTo(title, columns - 1)),
    ...body,
    ...Array.from({ length: eventRows - body.length }, () => ''),
    footerLine(message, KEYS, columns, palette),
  ];
}
