import type { Output } from '../context.ts';
import { MISSING } from '../items/field-cursor.ts';
import { type FieldPath, fieldPath, memberPath } from '../items/field-path.ts';
import { FieldReader, type UseValue } from '../items/field-reader.ts';
import { emptyColumns, itemColumn, knownNames, nothingFound } from '../items/item-columns.ts';
import type { Items, ItemWriter, ListKind } from '../items/items.ts';
import { isObject } from '../items/items.ts';
import { stringText, valueText } from '../items/json-scanner.ts';
import { pathsInEvent, withKnownFieldsAtTop } from '../items/known-fields.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { terminalSafe } from '../terminal/terminal-text.ts';
import { type TimeZone, UTC } from '../time/time-zone.ts';
import type { FormatOptions } from './format-flags.ts';

/**
 * Prints items as CSV, with one column for each scalar inside an object. The first page decides the columns,
 * of `fields` those that are objects. Without matches it prints the header only, with `fields` or the
 * standard ones.
 */
export function createCsvWriter(
  options: FormatOptions,
  stdout: Pick<Output, 'isTerminal' | 'write'>,
  reporter: Reporter,
): ItemWriter {
  const { fields, zone = UTC, csvZone, list, csvRaw: isRaw = false, hasHeader = true, onLate } = options;
  const safe = (text: string) => (stdout.isTerminal ? terminalSafe(text) : text);
  const header = (columns: readonly FieldPath[]) =>
    csvMark(options) + (hasHeader ? csvTable([columns.map(({ text }) => csvText(text, isRaw))], stdout) : '');
  let recordOf: ((bytes: Buffer, at: number) => string) | undefined;
  const open = (page: Items) => {
    const columns = fields ? pickedColumns(page, fields, zone) : allColumns(page, list);
    // Members that known columns show are no late ones.
    const shown = fields ? [] : eventPaths(page);
    const noteLate = (bytes: Buffer, start: number, end: number) =>
      onLate?.(bytes.toString('utf8', start, end));
    const reader = new FieldReader([...columns, ...shown], zone, noteLate);
    const hasItemColumn = columns.some(({ steps }) => steps.length === 0);
    /** The cells of the record up to `last`, and the column that is read. */
    let text = '';
    let last = 0;
    let column = 0;
    const addCell: UseValue = (value, start, end) => {
      if (start === MISSING || (columns[column]?.isOuter && value[start] === OBJECT)) return;
      text += ','.repeat(column - last) + csvQuoted(safe(csvCell(value, start, end, isRaw, csvZone)));
      last = column;
    };
    recordOf = (bytes, at) => {
      reader.read(bytes, at);
      if (!hasItemColumn && bytes[at] !== 0x7b) onLate?.('an item that is no object');
      text = '';
      last = 0;
      for (column = 0; column < columns.length; column++) reader.whole(column, addCell);
      return csvRecord(text + ','.repeat(Math.max(0, columns.length - 1 - last)), columns.length);
    };
    return header(columns);
  };

  return {
    write: async (page) => {
      if (page.count === 0) return;
      let text = recordOf ? '' : open(page);
      for (let item = 0; item < page.count; item++) text += recordOf?.(page.bytes, page.start(item));
      await stdout.write(text);
    },
    end: async () => {
      if (recordOf) return;
      await stdout.write(header(fields ?? emptyColumns(list)));
      reporter.notice(nothingFound(list));
    },
  };
}

/** What the output begins with: Excel reads a file as UTF-8 if it begins with this mark. */
export function csvMark({ csvBom }: Pick<FormatOptions, 'csvBom'>): string {
  return csvBom ? '\ufeff' : '';
}

/**
 * Characters at the start of a cell that make a spreadsheet run it as a formula (OWASP, "CSV Injection"):
 * also after white space, which some spreadsheets remove, and in the full-width forms that some locales
 * type. NUL is in OWASP's ASVS.
 */
const FORMULA = /^(?:[\t\r\n\0]|[\s\u200b-\u200d\u2060]*[=+\-@\uff1d\uff0b\uff0d\uff20])/;

/**
 * Places inside a text where a formula would begin in a spreadsheet that parts cells at semicolons or tabs,
 * as in countries with a decimal comma. Such a one takes quotes for text unless they begin a cell, so that a
 * line break parts, too.
 */
const INNER_FORMULA = /([;\t\r\n])(?=[ \u00a0\v"]{0,20}[=+\-@\0\uff1d\uff0b\uff0d\uff20])/g;

/** Finds out in a third of the time that a text has no such place, as hardly any has one. */
const MAY_HAVE_INNER_FORMULA = /[;\t\r\n][ \u00a0\v"=+\-@\0\uff1d\uff0b\uff0d\uff20]/;

/** Returns a text cell. Unless `raw`, apostrophes keep a spreadsheet from running it or a part of it. */
export function csvText(text: string, raw = false): string {
  if (raw) return text;
  const inert = MAY_HAVE_INNER_FORMULA.test(text) ? text.replace(INNER_FORMULA, "$1'") : text;
  return FORMULA.test(inert) ? `'${inert}` : inert;
}

/**
 * The cell of a JSON value: guarded text, numbers as the service wrote them, lists as JSON, empty for null.
 * Times are in the zone, if there is one.
 */
function csvCell(
  bytes: Buffer,
  start: number,
  end: number,
  raw: boolean,
  zone: TimeZone | undefined,
): string {
  if (bytes[start] === 0x22) {
    const text = stringText(bytes, start, end);
    return csvText(zone ? zone.shown(text) : text, raw);
  }
  const text = valueText(bytes, start, end);
  const isNumber = bytes[start] !== 0x5b && bytes[start] !== 0x7b;
  return isNumber ? text : csvText(text, raw);
}

/** Text of others is guarded by `csvText`. */
export type CsvCell = string | number | null;
export type CsvRow = readonly CsvCell[];

/** Rows as CSV (RFC 4180), every line ended by CR LF. A terminal does not act on their texts. */
export function csvTable(rows: readonly CsvRow[], { isTerminal }: Pick<Output, 'isTerminal'>): string {
  const cellOf = (cell: CsvCell) => {
    const text = String(cell ?? '');
    return csvQuoted(isTerminal ? terminalSafe(text) : text);
  };
  return rows.map((row) => csvRecord(row.map(cellOf).join(','), row.length)).join('');
}

/** Ends a line. Readers would skip an empty one. */
function csvRecord(text: string, cells: number): string {
  return `${text === '' && cells === 1 ? '""' : text}\r\n`;
}

/** RFC 4180, section 2.6: a comma, a quote or a line break of any kind belongs in quotes. */
function csvQuoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

interface CsvColumn extends FieldPath {
  /** True if what is inside an object has columns of its own, so that this one shows no object. */
  readonly isOuter: boolean;
}

/** The columns of some fields: of one that is an object, those of its members. */
function pickedColumns(page: Items, fields: readonly FieldPath[], zone: TimeZone): CsvColumn[] {
  const reader = new FieldReader(fields, zone);
  const values: unknown[][] = fields.map(() => []);
  for (let item = 0; item < page.count; item++) {
    reader.read(page.bytes, page.start(item));
    for (const [field, some] of values.entries())
      reader.whole(field, (bytes, start, end) => {
        if (start !== MISSING) some.push(JSON.parse(bytes.toString('utf8', start, end)));
      });
  }
  return fields.flatMap((field, index) => {
    const some = values[index] ?? [];
    // Where some are scalars the column is the one that was asked for, and an object is JSON in its cell.
    return some.some(isPlain) ? [{ ...field, isOuter: false }] : columnsOf(some, field);
  });
}

/** The columns for items such as these: known fields before others, an object's members in its place. */
function allColumns(page: Items, list: ListKind): CsvColumn[] {
  const items = [...page.values()];
  const shown =
    list === 'events' ? items.map((item) => (isObject(item) ? withKnownFieldsAtTop(item) : item)) : items;
  const columns = columnsOf(shown, itemColumn(list));
  const known = knownNames([...membersByName(shown).keys()], list);
  const rank = ({ steps: [name] }: FieldPath) => {
    if (name === undefined) return -1;
    return known.includes(name) ? known.indexOf(name) : known.length;
  };
  return columns.sort((a, b) => rank(a) - rank(b));
}

/** The full paths of the known fields that are in the events of some items. */
function eventPaths(items: Items): FieldPath[] {
  const paths = [...items.values()].flatMap((item) => (isObject(item) ? pathsInEvent(item) : []));
  const distinct = new Map(paths.map((steps) => [steps.join('\n'), steps]));
  return [...distinct.values()].map((steps) => fieldPath(steps));
}

const OBJECT = 0x7b;
/** Objects inside objects have columns of their own down to this level; a deeper one is JSON in a cell. */
const DEEPEST = 20;

/** The columns of the values at a path, named as --fields takes them. */
function columnsOf(values: readonly unknown[], path: FieldPath): CsvColumn[] {
  const { text, steps } = path;
  const members = steps.length < DEEPEST ? membersByName(values) : [];
  const inside = [...members].flatMap(([name, some]) => {
    const inner = { text: `${text}.${fieldPath([name]).text}`, steps: [...steps, name] };
    return columnsOf(some, steps.length === 0 ? memberPath(name) : inner);
  });
  const isOuter = inside.length > 0;
  return values.some(isPlain) || !isOuter ? [{ ...path, isOuter }, ...inside] : inside;
}

/** True for a value that is neither null nor an object. */
function isPlain(value: unknown): boolean {
  return value !== null && !isObject(value);
}

/** The values of each member of the objects among some values. */
function membersByName(values: readonly unknown[]): Map<string, unknown[]> {
  const members = new Map<string, unknown[]>();
  for (const value of values)
    for (const [name, member] of isObject(value) ? Object.entries(value) : []) {
      const some = members.get(name);
      if (some) some.push(member);
      else members.set(name, [member]);
    }
  return members;
}
