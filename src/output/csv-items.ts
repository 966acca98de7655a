import type { Output } from '../context.ts';
import { csvColumns, emptyColumns, nothingFound } from '../items/default-columns.ts';
import type { FieldPath } from '../items/field-path.ts';
import { createRowReader } from '../items/item-cells.ts';
import { membersOf } from '../items/item-members.ts';
import type { Items, ItemWriter } from '../items/items.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { terminalSafe } from '../terminal/terminal-safe.ts';
import { csvCell, csvLines, csvText } from './csv.ts';
import type { FormatOptions } from './item-writer.ts';

/**
 * Items as CSV. Without `fields` the first page decides the columns, and a
 * warning tells once of a later field that has none. Without matches the header names the standard fields.
 */
export function createCsvWriter(options: FormatOptions, stdout: Output, reporter: Reporter): ItemWriter {
  const safe = (text: string) => (stdout.isTerminal ? terminalSafe(text) : text);
  const cellOf = (bytes: Buffer, start: number, end: number) =>
    safe(csvCell(bytes, start, end, options.csvRaw === true));
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
      if (!read) lines.push(open(options.fields ?? csvColumns(membersOf(page), options.list)));
      for (const row of read?.(page) ?? []) lines.push(row);
      await stdout.write(csvLines(lines));
    },
    end: async () => {
      if (read) return;
      await stdout.write(csvLines([open(options.fields ?? emptyColumns(options.list))]));
      reporter.notice(nothingFound(options.list));
    },
    abort: async () => {},
  };
}
