import type { Output } from '../context.ts';
import type { ItemWriter } from '../json/items.ts';
import type { FormatOptions, TableNote } from './format-flags.ts';
import { itemTable, oneLine, type Table } from './table.ts';
import { type ColumnHead, type KindedColumn, kindedColumns, type TableCell } from './table-layout.ts';

/** A table for tickets and chats (GitHub Flavored Markdown, section 4.10), each line ended. Bars are left out. */
export function markdownTable(
  { heads, rows }: Table,
  columns = columnsOf(heads, rows),
  hasHead = true,
): string {
  const textOf = (cell: TableCell = '') => (typeof cell === 'string' ? inMarkdown(cell) : '');
  const lines = rows.map((row) => markdownLine(columns.map(({ index }) => textOf(row[index])))).join('');
  if (!hasHead) return lines;
  const rules = columns.map(({ kind }) => (kind === 'number' ? '---:' : '---'));
  return markdownLine(columns.map(({ title }) => inMarkdown(title))) + markdownLine(rules) + lines;
}

function columnsOf(heads: readonly ColumnHead[], rows: Table['rows']): readonly KindedColumn[] {
  return kindedColumns(heads, rows).filter(({ kind }) => kind !== 'bar');
}

function markdownLine(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |\n`;
}

/** Text that keeps to its cell and is neither code, a link, an image nor HTML, not even a character by its name in HTML. */
function inMarkdown(text: string): string {
  return oneLine(text).replace(/[\\|`<[\]]|&(?=#?\w+;)/g, '\\$&');
}

/** The line below a table, in italics: `*12 events; created after …: `hooktrail events search --failed`*`. */
export function markdownNote({ facts, command }: TableNote): string {
  const words = facts.map((fact) => inMarkdown(fact).replace(/[*_]/g, '\\$&')).join('; ');
  // A span of code ends at the number of backticks that it began with.
  const inside = oneLine(command);
  const longest = Math.max(0, ...[...inside.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const ticks = '`'.repeat(longest + 1);
  const space = inside.startsWith('`') || inside.endsWith('`') ? ' ' : '';
  return `*${words}: ${ticks}${space}${inside}${space}${ticks}*\n`;
}

/** Prints items as a table whose columns the first page decides, and below it the note. */
export function createMarkdownWriter(options: FormatOptions, stdout: Pick<Output, 'write'>): ItemWriter {
  let table: ReturnType<typeof itemTable> | undefined;
  let columns: readonly KindedColumn[] | undefined;
  let count = 0;
  return {
    write: async (page) => {
      if (page.count === 0) return;
      table ??= itemTable([page], options, false);
      const rows = table.read(page);
      const isFirst = columns === undefined;
      columns ??= columnsOf(table.heads, rows);
      count += page.count;
      await stdout.write(markdownTable({ heads: table.heads, rows }, columns, isFirst));
    },
    end: async () => {
      const note = options.note?.(count);
      if (note) await stdout.write((table ? '\n' : '') + markdownNote(note));
    },
  };
}
