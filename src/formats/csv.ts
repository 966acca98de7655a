import type { Output } from '../context.ts';
import { MISSING } from '../items/field-cursor.ts';
import { type FieldPath, fieldPath, memberPath } from '../items/field-path.ts';
import { FieldReader, type UseValue } from '../items/field-reader.ts';
import { BARE_ITEM, nothingFound } from '../items/item-columns.ts';
import { Items, isObject, type ListKind } from '../items/items.ts';
import { ARRAY, OBJECT, QUOTE, stringText, valueText } from '../items/json-scanner.ts';
import { eventMember, isKnownName } from '../items/known-fields.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { terminalSafe } from '../terminal/terminal-text.ts';
import { type TimeZone, UTC } from '../time/time-zone.ts';
import { type CsvColumn, CsvColumns, columnsOf, ValueShape } from './csv-columns.ts';
import { EVENT_PATHS } from './event-columns.ts';
import type { FormatOptions, ItemWriter } from './format-options.ts';

/**
 * Prints one column for each scalar inside an object. Columns come from `csvColumns` or the first page; the
 * page also decides which `fields` are objects. Without matches only a header is printed.
 */
export function createCsvWriter(
  options: FormatOptions,
  stdout: Pick<Output, 'isTerminal' | 'write'>,
  reporter: Reporter,
): ItemWriter {
  const { fields, zone = UTC, csvZone, list, csvRaw: isRaw = false, hasHeader = true, onLate } = options;
  const { csvDelimiter: delimiter = ',', csvColumns = new CsvColumns(list) } = options;
  const safe = (text: string) => (stdout.isTerminal ? terminalSafe(text) : text);
  const header = (columns: readonly FieldPath[]) =>
    csvMark(options) +
    (hasHeader ? csvTable([columns.map(({ text }) => csvText(text, isRaw))], stdout, delimiter) : '');
  let recordOf: ((bytes: Buffer, at: number) => string) | undefined;
  const open = (page: Items) => {
    csvColumns.see(page);
    const columns = fields ? pickedColumns(page, fields, zone) : csvColumns.result();
    // Known fields of an event are shown under their short names.
    const shown = fields ? [] : eventPaths(page, columns);
    let isLate = false;
    const noteLate = () => {
      isLate = true;
    };
    const reader = new FieldReader([...columns, ...shown], zone, noteLate);
    const hasItemColumn = columns.some(({ steps }) => steps.length === 0);
    let text = '';
    let last = 0;
    let column = 0;
    const addCell: UseValue = (value, start, end) => {
      if (start === MISSING || (columns[column]?.isOuter && value[start] === OBJECT)) return;
      const cell = safe(csvCell(value, start, end, isRaw, csvZone));
      text += delimiter.repeat(column - last) + csvQuoted(cell, delimiter);
      last = column;
    };
    recordOf = (bytes, at) => {
      isLate = false;
      const end = reader.read(bytes, at);
      if (isLate && onLate) noteLatePaths(Items.of([bytes.subarray(at, end)]), list, columns, onLate);
      if (!hasItemColumn && bytes[at] !== OBJECT) onLate?.(BARE_ITEM);
      text = '';
      last = 0;
      for (column = 0; column < columns.length; column++) reader.whole(column, addCell);
      return csvRecord(text + delimiter.repeat(Math.max(0, columns.length - 1 - last)));
    };
    return header(columns);
  };

  noticeZone(options, reporter);
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

/** A header is printed even without items. */
function emptyColumns(list: ListKind): readonly FieldPath[] {
  return list === 'events' ? EVENT_PATHS : ['eventType', 'description'].map(memberPath);
}

/** A saved zone does not apply to CSV. */
export function noticeZone({ zone, csvZone }: FormatOptions, reporter: Pick<Reporter, 'notice'>): void {
  if (!zone || zone.isUtc || csvZone) return;
  reporter.notice(
    `times in CSV are as the service wrote them, in UTC; --timezone ${zone.name} converts them`,
  );
}

/** Excel needs this mark to read a file as UTF-8. */
export function csvMark({ csvBom }: Pick<FormatOptions, 'csvBom'>): string {
  return csvBom ? '\ufeff' : '';
}

/**
 * A spreadsheet runs a cell with this start as a formula (OWASP, "CSV Injection"), even after white space,
 * which some spreadsheets remove, or in full width, as some locales type it. NUL is from OWASP's ASVS.
 */
const FORMULA = /^(?:[\t\r\n\0]|[\s\u200b-\u200d\u2060]*[=+\-@\uff1d\uff0b\uff0d\uff20])/;

/**
 * The start of a formula if a spreadsheet splits at semicolons or tabs, as with decimal commas. Quotes
 * then count as text unless they begin a cell, so a line break splits too.
 */
const INNER_FORMULA = /([;\t\r\n])(?=[ \u00a0\v"]{0,20}[=+\-@\0\uff1d\uff0b\uff0d\uff20])/g;

/** Rules most texts out in a third of the time. */
const MAY_HAVE_INNER_FORMULA = /[;\t\r\n][ \u00a0\v"=+\-@\0\uff1d\uff0b\uff0d\uff20]/;

/** Unless `raw`, apostrophes keep a spreadsheet from running the text. */
export function csvText(text: string, raw = false): string {
  if (raw) return text;
  const inert = MAY_HAVE_INNER_FORMULA.test(text) ? text.replace(INNER_FORMULA, "$1'") : text;
  return FORMULA.test(inert) ? `'${inert}` : inert;
}

/** Text is guarded, numbers stay as written, lists are JSON, null is empty. */
function csvCell(
  bytes: Buffer,
  start: number,
  end: number,
  raw: boolean,
  zone: TimeZone | undefined,
): string {
  if (bytes[start] === QUOTE) {
    const text = stringText(bytes, start, end);
    return csvText(zone ? zone.shown(text) : text, raw);
  }
  const text = valueText(bytes, start, end);
  const isNumber = bytes[start] !== ARRAY && bytes[start] !== OBJECT;
  return isNumber ? text : csvText(text, raw);
}

/** Guard texts from outside with `csvText`. */
export type CsvCell = string | number | null;
export type CsvRow = readonly CsvCell[];

/** RFC 4180, with CR LF. Control characters are escaped for a terminal. */
export function csvTable(
  rows: readonly CsvRow[],
  { isTerminal }: Pick<Output, 'isTerminal'>,
  delimiter = ',',
): string {
  const cellOf = (cell: CsvCell) => {
    const text = String(cell ?? '');
    return csvQuoted(isTerminal ? terminalSafe(text) : text, delimiter);
  };
  return rows.map((row) => csvRecord(row.map(cellOf).join(delimiter))).join('');
}

/** Readers would skip an empty line. */
function csvRecord(text: string): string {
  return `${text === '' ? '""' : text}\r\n`;
}

/** RFC 4180, section 2.6: the delimiter, quotes and line breaks of any kind need quotes. */
function csvQuoted(text: string, delimiter: string): string {
  return text.includes(delimiter) || /["\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function pickedColumns(page: Items, fields: readonly FieldPath[], zone: TimeZone): CsvColumn[] {
  const reader = new FieldReader(fields, zone);
  const shapes = fields.map(() => new ValueShape());
  for (let item = 0; item < page.count; item++) {
    reader.read(page.bytes, page.start(item));
    for (const [field, shape] of shapes.entries())
      reader.whole(field, (bytes, start, end) => {
        if (start !== MISSING) shape.add(JSON.parse(bytes.toString('utf8', start, end)));
      });
  }
  return fields.flatMap((field, index) => {
    const shape = shapes[index] as ValueShape;
    // If some values are scalars, keep the requested column and show objects as JSON.
    return shape.isPlain ? [{ ...field, isOuter: false }] : columnsOf(shape, field);
  });
}

function noteLatePaths(
  item: Items,
  list: ListKind,
  columns: readonly FieldPath[],
  onLate: (name: string) => void,
): void {
  const shown = new Set(columns.map(({ steps }) => JSON.stringify(steps)));
  const isShown = ({ steps }: FieldPath) =>
    steps.some((_, last) => shown.has(JSON.stringify(steps.slice(0, last + 1))));
  const columnsOfItem = new CsvColumns(list);
  columnsOfItem.see(item);
  for (const path of columnsOfItem.result()) if (!isShown(path)) onLate(`"${path.text}"`);
}

function eventPaths(items: Items, columns: readonly FieldPath[]): FieldPath[] {
  const members = new Set(
    [...items.values()].flatMap((item) => (isObject(item) ? (eventMember(item) ?? []) : [])),
  );
  const names = columns.flatMap(({ steps }) => (steps.length === 1 ? steps : [])).filter(isKnownName);
  return [...members].flatMap((member) => names.map((name) => fieldPath([member, name])));
}
