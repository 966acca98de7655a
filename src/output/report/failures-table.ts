import { tableColumns } from '../../items/default-columns.ts';
import type { FieldPath } from '../../items/field-path.ts';
import { createRowReader } from '../../items/item-cells.ts';
import { type Members, membersOf } from '../../items/item-members.ts';
import type { Items } from '../../items/items.ts';
import { valueText } from '../../items/json-bytes.ts';
import type { TimeZone } from '../../items/time-zone.ts';
import { plain } from '../../terminal/palette.ts';
import { prettyJson } from '../pretty-json.ts';
import { cellsIn } from '../table-drawing.ts';
import { type Html, html, shortened } from './html.ts';

interface Row {
  readonly cells: readonly string[];
  readonly created: string;
  readonly json: string;
}

const CELL = 120;
/** Longer JSON is cut: a browser could not open the page. */
const JSON_LENGTH = 50_000;

/** Returns a table of the latest failures, newest first, each with its event's JSON below. */
export function failuresTable(
  pages: readonly Items[],
  limit: number,
  zone: TimeZone,
): { table: Html; shown: number } {
  const columns = columnsOf(pages);
  const rows = rowsOf(pages, columns, zone)
    .sort((a, b) => (a.created < b.created ? 1 : a.created > b.created ? -1 : 0))
    .slice(0, limit);
  const names = columns.map(({ text }) => text);
  const isSorted = names[0] === 'createdOn' && rows.length > 1;
  const table = html`<div class="scroll" role="region" aria-label="Latest failures" tabindex="0"><table class="events">
<thead><tr>${names.map((name, index) =>
    isSorted && index === 0
      ? html`<th scope="col" aria-sort="descending">${shortened(name, 40)}</th>`
      : html`<th scope="col">${shortened(name, 40)}</th>`,
  )}</tr></thead>
${rows.map(
  ({ cells, json }) => html`<tbody>
<tr class="data">${cells.map((cell, index) => html`<td class="${isWhole(cell) ? 'whole' : ''}" data-name="${shortened(names[index] as string, 40)}"><bdi>${shortened(cell, CELL)}</bdi></td>`)}</tr>
<tr class="json"><td colspan="${names.length}"><details><summary>JSON</summary><pre>${cut(json)}</pre></details></td></tr>
</tbody>
`,
)}</table></div>`;
  return { table, shown: rows.length };
}

/** Ids and times are hard to read and to copy when they wrap. */
function isWhole(cell: string): boolean {
  return /^[\w.:+-]{1,40}$/.test(cell);
}

function cut(json: string): string {
  if (json.length <= JSON_LENGTH) return json;
  return `${shortened(json, JSON_LENGTH)}\n\n(cut: ${json.length - JSON_LENGTH} more characters; \`hooktrail events get\` shows all)`;
}

/** Leaves out the status: every row is a failure. */
function columnsOf(pages: readonly Items[]): FieldPath[] {
  const names = new Map<string, boolean>();
  let bare = false;
  for (const page of pages) {
    const members = membersOf(page);
    bare ||= members.bare;
    for (const [name, scalar] of members.names) names.set(name, scalar || names.get(name) === true);
  }
  const members: Members = { names, bare };
  const columns = tableColumns(members, 'events');
  const telling = columns.filter(({ text }) => text !== 'publishStatus');
  return telling.length > 0 ? telling : [...columns];
}

function rowsOf(pages: readonly Items[], columns: readonly FieldPath[], zone: TimeZone): Row[] {
  const read = createRowReader(columns, cellsIn(zone, valueText), '');
  const readCreated = createRowReader([{ text: 'createdOn', steps: ['createdOn'] }], valueText, '');
  return pages.flatMap((page) => {
    const created = readCreated(page);
    return read(page).map((cells, index) => ({
      cells,
      created: created[index]?.[0] ?? '',
      json: prettyJson(page.bytes, page.start(index), page.end(index), plain),
    }));
  });
}
