import type { Output } from '../context.ts';
import { createRowReader } from '../json/item-cells.ts';
import { membersOf, nothingFound, tableColumns } from '../json/item-columns.ts';
import type { Items, ItemWriter } from '../json/items.ts';
import { loadWidthsFor } from '../terminal/cell-width.ts';
import { paletteOf } from '../terminal/palette.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { UTC } from '../time/time-zone.ts';
import type { FormatOptions } from './item-writer.ts';
import {
  cellsIn,
  ended,
  oneLine,
  plainCell,
  tableDrawing,
  terminalCell,
  titleCells,
  valueCells,
  wholeCells,
} from './table-drawing.ts';
import { type Column, type ColumnHead, fittedColumns, NONE, wholeColumns } from './table-layout.ts';

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
  const draw = await tableDrawing(stdout.isTerminal ? 'cut' : 'push');
  const cellsOf = stdout.isTerminal ? valueCells : wholeCells;
  let table: { read: (page: Items) => string[][]; columns: Column[] } | undefined;

  const open = async (page: Items) => {
    const fields = options.fields ?? tableColumns(membersOf(page), options.list);
    const cellOf = cellsIn(options.zone ?? UTC, stdout.isTerminal ? terminalCell : plainCell);
    const read = createRowReader(fields, cellOf, NONE);
    const rows = read(page);
    const measured = options.sample ? [...rows, ...read(options.sample)] : rows;
    await loadWidthsFor([...fields.map(({ text }) => text), ...measured.flat()]);
    const heads = fields.map(({ text }, index) =>
      options.fields ? { title: oneLine(text) } : defaultHead(text, index, options.constant),
    );
    const columns = stdout.isTerminal
      ? fittedColumns(heads, measured, stdout.columns)
      : wholeColumns(heads, measured);
    table = { read, columns };
    return columns;
  };

  return {
    write: async (page) => {
      if (page.count === 0) return;
      const isFirst = table === undefined;
      const columns = table?.columns ?? (await open(page));
      const rows = table?.read(page) ?? [];
      await loadWidthsFor(rows.flat());
      const lines = draw(columns, [
        ...(isFirst ? [titleCells(columns, palette)] : []),
        ...rows.map((row) => cellsOf(row, columns, palette)),
      ]);
      await stdout.write(ended(lines));
    },
    end: async () => {
      if (!table) reporter.notice(nothingFound(options.list));
    },
    abort: async () => {},
  };
}

/** Titles for narrow terminals. */
const SHORT_TITLES: ReadonlyMap<string, string> = new Map([
  ['createdOn', 'created'],
  ['publishStatus', 'status'],
  ['eventType', 'type'],
]);

/** The columns to leave out first: the subscription among known columns; any but the first among unknown ones. */
export function defaultHead(name: string, index: number, constant?: ReadonlySet<string>): ColumnHead {
  const short = SHORT_TITLES.get(name);
  const isKnown = short !== undefined || name === 'eventId';
  return {
    title: oneLine(name),
    spare: index > 0 && !isKnown,
    constant: constant?.has(name) === true,
    ...(short === undefined ? {} : { short }),
  };
}
