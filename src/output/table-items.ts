import type { Output } from '../context.ts';
import { nothingFound, tableColumns } from '../items/default-columns.ts';
import { createRowReader } from '../items/item-cells.ts';
import { membersOf } from '../items/item-members.ts';
import type { ItemPage, ItemWriter } from '../items/items.ts';
import { paletteOf } from '../terminal/palette.ts';
import type { Reporter } from '../terminal/reporter.ts';
import type { FormatOptions } from './item-writer.ts';
import { oneLine, plainCell, terminalCell } from './table-cell.ts';
import { type Column, type ColumnHead, NONE, plainColumns, terminalColumns } from './table-layout.ts';
import { plainRows, terminalRows, terminalTable } from './table-rows.ts';

/** Titles for narrow terminals. */
const SHORT_TITLES: ReadonlyMap<string, string> = new Map([
  ['createdOn', 'created'],
  ['publishStatus', 'status'],
  ['eventType', 'type'],
  ['subscriptionId', 'subscr.'],
]);

/**
 * A table whose columns and widths the first page decides and all later pages keep, so that it streams. On a terminal
 * every row fits its width; elsewhere a later, wider value pushes its own row's rest and is never cut.
 */
export async function createTableWriter(
  options: FormatOptions,
  stdout: Output,
  reporter: Reporter,
): Promise<ItemWriter> {
  const palette = await paletteOf(reporter.stdoutColor);
  let table: { read: (page: ItemPage) => string[][]; columns: Column[] } | undefined;

  const open = async (page: ItemPage) => {
    const fields = options.fields ?? tableColumns(membersOf(page), options.list);
    const read = createRowReader(fields, stdout.isTerminal ? terminalCell : plainCell, NONE);
    const rows = read(page);
    const measured = options.sample ? [...rows, ...read(options.sample)] : rows;
    const heads = fields.map(({ text }, index) => headOf(text, !options.fields && index > 0));
    const columns = stdout.isTerminal
      ? terminalColumns(heads, measured, stdout.columns)
      : plainColumns(heads, measured);
    table = { read, columns };
    return stdout.isTerminal ? await terminalTable(columns, rows, palette) : plainRows(columns, rows, true);
  };
  const more = (page: ItemPage, { read, columns }: NonNullable<typeof table>) =>
    stdout.isTerminal ? terminalRows(columns, read(page), palette) : plainRows(columns, read(page), false);

  return {
    write: async (page) => {
      if (page.count > 0) await stdout.write(table ? more(page, table) : await open(page));
    },
    end: async () => {
      if (!table) reporter.notice(nothingFound(options.list));
    },
    abort: async () => {},
  };
}

/** Of the known columns the subscription is the one to do without; of unknown ones any but the first. */
export function headOf(name: string, byDefault: boolean): ColumnHead {
  const short = SHORT_TITLES.get(name);
  const known = short !== undefined || name === 'eventId';
  const spare = byDefault && (name === 'subscriptionId' || !known);
  return { title: oneLine(name), spare, ...(short === undefined ? {} : { short }) };
}
