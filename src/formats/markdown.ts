import type { Output } from '../context.ts';
import type { Items } from '../items/items.ts';
import { plain } from '../terminal/palette.ts';
import type { FormatOptions, ItemWriter } from './format-options.ts';
import { itemTable } from './item-table.ts';
import { prettyJson } from './json.ts';
import { oneLine, type Table } from './table.ts';
import { type ColumnHead, type KindedColumn, kindedColumns, type TableCell } from './table-columns.ts';
import type { TableNote } from './table-note.ts';

/** GitHub Flavored Markdown, section 4.10. Omits bars. */
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

/**
 * Escapes emphasis, code, links, images, HTML and character references. In a URL, which becomes a link, a
 * backslash would be visible, so only dangerous characters are escaped.
 */
function inMarkdown(text: string): string {
  const inert = (part: string) => part.replace(/[\\|`<[\]]|&(?=#?\w{1,32};)/g, '\\$&');
  return oneLine(text).replace(ADDRESS_OR_REST, (part, address) =>
    address === undefined ? inert(part).replace(/[*_~]/g, '\\$&') : inert(part),
  );
}

/** A URL as GitHub Flavored Markdown detects it (section 6.9), or other text. */
const ADDRESS_OR_REST = /((?:https?:\/\/|www\.)[^\s<]+)|\S+|\s+/g;

/** In italics: `*12 events; created after …: `hooktrail events search --failed`*`. */
export function markdownNote({ facts, command }: TableNote): string {
  const words = facts.map(inMarkdown).join('; ');
  // A code span ends at as many backticks as it began with.
  const inside = oneLine(command);
  const longest = Math.max(0, ...[...inside.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const ticks = '`'.repeat(longest + 1);
  const space = inside.startsWith('`') || inside.endsWith('`') ? ' ' : '';
  return `*${words}: ${ticks}${space}${inside}${space}${ticks}*\n`;
}

/** JSON lines never begin with a backtick, which could end the block. */
function jsonBlock(items: Items, item: number): string {
  const text = prettyJson(items.bytes, items.start(item), items.end(item), plain);
  return `\n\`\`\`json\n${text}\n\`\`\`\n`;
}

export function createMarkdownWriter(options: FormatOptions, stdout: Pick<Output, 'write'>): ItemWriter {
  let table: ReturnType<typeof itemTable> | undefined;
  let columns: readonly KindedColumn[] | undefined;
  let blocks = '';
  let count = 0;
  return {
    write: async (page) => {
      if (page.count === 0) return;
      table ??= itemTable([page], options, false);
      const rows = table.read(page);
      const isFirst = columns === undefined;
      columns ??= columnsOf(table.heads, rows);
      count += page.count;
      if (options.hasBlocks) for (let item = 0; item < page.count; item++) blocks += jsonBlock(page, item);
      await stdout.write(markdownTable({ heads: table.heads, rows }, columns, isFirst));
    },
    end: async () => {
      const note = await options.note?.(count);
      await stdout.write(blocks);
      if (note) await stdout.write((table ? '\n' : '') + markdownNote(note));
    },
  };
}
