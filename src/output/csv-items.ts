import { stringify } from 'csv-stringify/sync';
import type { Output } from '../context.ts';
import { createRowReader } from '../json/item-cells.ts';
import { csvColumns, emptyColumns, membersOf, nothingFound } from '../json/item-columns.ts';
import type { FieldPath } from '../json/item-fields.ts';
import type { Items, ItemWriter } from '../json/items.ts';
import { stringText, valueText } from '../json/json-scanner.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { terminalSafe } from '../terminal/terminal-safe.ts';
import type { FormatOptions } from './item-writer.ts';

/**
 * Prints items as CSV. Without `fields` the first page decides the columns, and one warning names the first later field
 * that has no column. Without matches it prints the header only, with `fields` or the standard ones.
 */
export function createCsvWriter(
  options: FormatOptions,
  stdout: Pick<Output, 'isTerminal' | 'write'>,
  reporter: Reporter,
): ItemWriter {
  const safe = (text: string) => (stdout.isTerminal ? terminalSafe(text) : text);
  const cellOf = (bytes: Buffer, start: number, end: number) =>
    safe(csvCell(bytes, start, end, options.csvRaw === true));
  // Excel reads a file as UTF-8 if it begins with this mark.
  const mark = options.csvBom ? '\ufeff' : '';
  let read: ((page: Items) => string[][]) | undefined;

  const open = (columns: readonly FieldPath[]) => {
    const stranger = (name: string) =>
      reporter.warning(
        `a later page has ${name}, which the first did not: it has no column; name the columns with --fields`,
      );
    read = createRowReader(columns, cellOf, '', options.fields ? undefined : stranger);
    return columns.map(({ text }) => safe(csvText(text, options.csvRaw === true)));
  };

  return {
    write: async (page) => {
      if (page.count === 0) return;
      const lines: string[][] = [];
      const isFirst = !read;
      if (isFirst) lines.push(open(options.fields ?? csvColumns(membersOf(page), options.list)));
      for (const row of read?.(page) ?? []) lines.push(row);
      await stdout.write((isFirst ? mark : '') + csvLines(lines));
    },
    end: async () => {
      if (read) return;
      await stdout.write(mark + csvLines([open(options.fields ?? emptyColumns(options.list))]));
      reporter.notice(nothingFound(options.list));
    },
    abort: async () => {},
  };
}

/**
 * Characters at the start of a cell that make a spreadsheet run it as a formula (OWASP, "CSV Injection"): also after a
 * tab or a line break, and in the full-width forms that some locales type. NUL is in OWASP's ASVS.
 */
const FORMULA = /^[=+\-@\t\r\n\0\uff1d\uff0b\uff0d\uff20]/;

/** Returns a text cell. Unless `raw`, an apostrophe keeps a spreadsheet from running it. */
export function csvText(text: string, raw: boolean): string {
  return !raw && FORMULA.test(text) ? `'${text}` : text;
}

/** Returns the cell of a JSON value: guarded text, numbers as the service wrote them, nested values as JSON, empty for null. */
export function csvCell(bytes: Buffer, start: number, end: number, raw: boolean): string {
  return bytes[start] === 0x22 ? csvText(stringText(bytes, start, end), raw) : valueText(bytes, start, end);
}

/** Rows as CSV (RFC 4180): every line ended by CR LF, cells in quotes where they need them. */
export function csvLines(rows: readonly (readonly (string | number | null)[])[]): string {
  return stringify(rows as (string | number | null)[][], {
    record_delimiter: '\r\n',
    // RFC 4180, section 2.6: a line break of any kind belongs in quotes.
    quoted_match: /[\r\n]/,
    // Readers would skip an empty line instead of reading it as a record.
    quoted_empty: rows[0]?.length === 1,
  });
}
