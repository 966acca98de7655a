import type { Output } from '../context.ts';
import { MISSING } from '../items/field-cursor.ts';
import type { FieldPath } from '../items/field-path.ts';
import { FieldReader, type UseValue } from '../items/field-reader.ts';
import { Items } from '../items/items.ts';
import { type Palette, statusPaint } from '../terminal/palette.ts';
import { terminalSafe, terminalSafeLine } from '../terminal/terminal-text.ts';
import { type TimeZone, UTC } from '../time/time-zone.ts';
import type { ItemWriter } from './format-options.ts';

interface PickedFields {
  readonly fields?: readonly FieldPath[] | undefined;
  readonly zone?: TimeZone;
}

/**
 * Prints the service's own bytes, or objects of the picked `fields`. `json` is an array with one item per
 * line, `ndjson` the items alone. Writes once per page; decodes text only for a terminal, which gets it
 * indented and coloured.
 */
export function createJsonWriter(
  format: 'json' | 'ndjson',
  { fields, zone = UTC }: PickedFields,
  stdout: Output,
  palette: Palette,
): ItemWriter {
  const pick = fields ? createPicker(fields, zone) : (page: Items) => page;
  const print = (bytes: Buffer) => stdout.write(stdout.isTerminal ? terminalSafe(bytes.toString()) : bytes);
  if (format === 'ndjson') return { write: (page) => print(pick(page).toLines()) };
  let opened = false;
  const close = () => stdout.write(opened ? '\n]\n' : '[]\n');
  return {
    write: async (page) => {
      if (page.count === 0) return;
      const items = pick(page);
      const lead = opened ? ',\n' : '[\n';
      opened = true;
      await stdout.write(stdout.isTerminal ? lead + indented(items, palette) : items.joined(lead, ',\n', ''));
    },
    end: close,
    abort: () => close().catch(() => undefined),
  };
}

function indented(items: Items, palette: Palette): string {
  const texts = Array.from({ length: items.count }, (_, index) =>
    prettyJson(items.bytes, items.start(index), items.end(index), palette, 1),
  );
  return texts.join(',\n');
}

/** Values stay as written. A missing field is `null`, so every object has every member. */
export function createPicker(fields: readonly FieldPath[], zone: TimeZone): (page: Items) => Items {
  const reader = new FieldReader(fields, zone);
  // Latin-1 keeps each byte of UTF-8 as a character, as for the values.
  const leads = fields.map(({ text }, index) =>
    Buffer.from(`${index === 0 ? '{' : ','}${JSON.stringify(text)}:`).toString('latin1'),
  );
  return (items) => {
    const { bytes, count } = items;
    const spans: number[] = [];
    let text = '';
    const addValue: UseValue = (value, start, end) => {
      text += start === MISSING ? 'null' : value.toString('latin1', start, end);
    };
    for (let item = 0; item < count; item++) {
      reader.read(bytes, items.start(item));
      spans.push(text.length);
      for (const [field, lead] of leads.entries()) {
        text += lead;
        reader.whole(field, addValue);
      }
      spans.push(text.length + 1);
      text += '},';
    }
    return new Items(Buffer.from(text, 'latin1'), spans);
  };
}

/** Maximum indentation: otherwise output would grow with the square of a hostile text's depth. */
const DEEPEST = 40;
/** A string with its colon, if a name; a bracket, with its closer if empty; a comma; or another value. */
const TOKEN = /("[^"\\]*(?:\\.[^"\\]*)*")\s*(:)?|[{[]\s*([}\]])?|[}\],]|[^\s"{}[\],:]+/g;

/** Keeps numbers, escapes and duplicate keys as written. `outer` is the initial depth. */
export function prettyJson(bytes: Buffer, start: number, end: number, palette: Palette, outer = 0): string {
  let text = '  '.repeat(outer);
  let depth = outer;
  let name = '';
  const newLine = () => `\n${'  '.repeat(Math.min(depth, DEEPEST))}`;
  for (const [token, quoted, colon, closer = ''] of bytes.toString('utf8', start, end).matchAll(TOKEN)) {
    const first = token[0] as string;
    if (quoted !== undefined && colon) {
      name = quoted;
      text += `${palette.accent(terminalSafeLine(name))}: `;
    } else if (OPENERS.includes(first)) {
      depth += Number(closer === '');
      text += first + (closer || newLine());
    } else if (CLOSERS.includes(first)) {
      depth--;
      text += newLine() + first;
    } else if (first === ',') text += first + newLine();
    else text += colored(quoted ?? token, name, palette);
  }
  return text;
}

const OPENERS = '{[';
const CLOSERS = '}]';

function colored(token: string, name: string, palette: Palette): string {
  const shown = terminalSafeLine(token);
  if (!token.startsWith('"')) return /^[a-z]/.test(token) ? palette.dim(shown) : palette.caution(shown);
  const paint = /status"$/i.test(name) && statusPaint(token.slice(1, -1), palette);
  return paint ? paint(shown) : shown;
}

export function createPrettyWriter(stdout: Output, palette: Palette): ItemWriter {
  return {
    write: async (items) => {
      for (let item = 0; item < items.count; item++) {
        const text = prettyJson(items.bytes, items.start(item), items.end(item), palette);
        await stdout.write(`${text}\n`);
      }
    },
  };
}
