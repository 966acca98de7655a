import type { Output } from '../context.ts';
import { type FieldPath, memberPath } from '../items/field-path.ts';
import { BARE_ITEM, createRowReader, errorField, hasBareItem, nothingFound } from '../items/item-columns.ts';
import type { Items, ListKind } from '../items/items.ts';
import { scalarsText, valueText } from '../items/json-scanner.ts';
import { loadWidthsFor } from '../terminal/cell-width.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { UTC } from '../time/time-zone.ts';
import {
  ADDRESS_HEAD,
  ERROR_HEAD,
  EVENT_HEADS,
  EVENT_PATHS,
  FOR_HEAD,
  SPARE,
  secondReceiver,
  tableColumns,
  whoHead,
} from './event-columns.ts';
import type { FormatOptions, ItemWriter } from './format-options.ts';
import { ended, layOut, leftOutNote, loadTableLook, oneLine, type TableLook } from './table.ts';
import { type Column, type ColumnHead, NONE } from './table-columns.ts';
import { missingColumn } from './table-layout.ts';

/** UTF-16 units, more than a line of a terminal shows. */
const LONGEST_CELL_CHARACTERS = 4000;

type ItemTableOptions = Pick<
  FormatOptions,
  'list' | 'fields' | 'areFieldsSaved' | 'constant' | 'zone' | 'onLate' | 'names' | 'nameField' | 'isById'
>;

/** Cells are strings as they are, the scalars of objects, and times in the zone. */
export function itemTable(pages: readonly Items[], options: ItemTableOptions, isTerminal: boolean) {
  const { list, constant, zone = UTC, onLate, nameField, isById, areFieldsSaved } = options;
  const fields = options.fields ?? withNameField(defaultFields(pages, list), pages, nameField);
  const isAsItIs = options.fields !== undefined && options.areFieldsSaved !== true;
  const subscription = isAsItIs ? -1 : fields.findIndex(isSubscription);
  const { names } = options;
  const hasAddresses =
    list === 'events' &&
    subscription >= 0 &&
    pages.some((page) => subscriptionIdsOf(page).some((id) => names?.labelOf(id) !== undefined));
  const headOf = (field: FieldPath, index: number): ColumnHead => {
    const title = oneLine(columnTitle(field, fields));
    if (options.fields)
      return {
        ...(list === 'subscriptions' && areFieldsSaved ? SUBSCRIPTION_HEADS[field.text] : {}),
        title,
        isWhole: isEventId(field) || (list === 'subscriptions' && isSubscriptionId(field)),
      };
    const isConstant = !isEventId(field) && constant?.has(field.text) === true;
    const head =
      isEventId(field) && isById
        ? { title, isWhole: true }
        : defaultHead(field, index, title, { fields, nameField });
    return { ...head, isConstant };
  };
  const ownHeads = fields.map(headOf);
  const isSecond = nameField !== undefined && fields.some(({ text }) => text === nameField.text);
  const addressHead = isSecond && !options.fields ? secondReceiver(ADDRESS_HEAD) : ADDRESS_HEAD;
  // The address replaces the id on a terminal, and follows it elsewhere.
  const replaced = isTerminal ? 1 : 0;
  const at = subscription + 1 - replaced;
  const heads = hasAddresses ? ownHeads.toSpliced(at, replaced, addressHead) : ownHeads;
  const longest = isTerminal ? LONGEST_CELL_CHARACTERS : Number.POSITIVE_INFINITY;
  const cellOf = (bytes: Buffer, start: number, end: number) => {
    const text = scalarsText(bytes, start, end, longest);
    return zone.shown(oneLine(text.length > longest ? `${text.slice(0, longest)}…` : text));
  };
  const shown = new Set(fields.map(({ text }) => text));
  const readCells = createRowReader(fields, cellOf, NONE, zone);
  const readRows = (page: Items) => {
    const rows = readCells(page);
    if (!hasAddresses) return rows;
    return rows.map((row) => {
      const id = row[subscription] as string;
      const unknown = isTerminal ? id : NONE;
      return row.toSpliced(at, replaced, oneLine(names?.labelOf(id) ?? unknown));
    });
  };
  const read = (page: Items) => {
    if (onLate) {
      const late = defaultFields([page], list, shown).filter(isMember);
      for (const { steps } of late) onLate(JSON.stringify(steps.join('.')));
      if (fields.every(isMember) && hasBareItem(page)) onLate(BARE_ITEM);
    }
    return readRows(page);
  };
  return { heads, read };
}

function defaultFields(pages: readonly Items[], list: ListKind, shown = new Set<string>()): FieldPath[] {
  if (pages.length === 0) return [];
  const areAllShown = EVENT_PATHS.every(({ text }) => shown.has(text));
  const fields = areAllShown ? [] : tableColumns(pages, list);
  const error = list === 'events' && !shown.has(ERROR) ? errorField(pages) : undefined;
  const isShown = fields.some(({ steps }) => error?.steps.length === 1 && steps[0] === error.steps[0]);
  const all = error && !isShown ? [...fields, { ...error, text: ERROR }] : fields;
  return all.filter(({ text }) => !shown.has(text));
}

function withNameField(
  fields: readonly FieldPath[],
  pages: readonly Items[],
  nameField: FieldPath | undefined,
): readonly FieldPath[] {
  if (!nameField || fields.some(({ text }) => text === nameField.text)) return fields;
  const read = createRowReader([nameField], valueText, '');
  if (!pages.some((page) => read(page).some(([name]) => name !== ''))) return fields;
  const at = fields.findIndex(({ text }) => text === 'subscriptionId');
  return fields.toSpliced(at < 0 ? fields.length : at, 0, nameField);
}

const ERROR = 'error';

/** The last name of the path, unless it is empty, a number or ambiguous. */
export function columnTitle({ text, steps }: FieldPath, fields: readonly FieldPath[]): string {
  const last = steps.at(-1) ?? '';
  const alike = fields.filter((field) => field.steps.at(-1) === last || field.text === last);
  return text === ERROR || alike.length > 1 || /^\d*$/.test(last) ? text : last;
}

const isSubscription = ({ text }: FieldPath) => text === 'subscriptionId';
const isSubscriptionId = ({ steps }: FieldPath) => steps.length === 1 && steps[0] === 'subscriptionId';
const isMember = ({ steps }: FieldPath) => steps.length > 0;
const isEventId = ({ steps }: FieldPath) => steps.length === 1 && steps[0] === 'eventId';

const KNOWN_HEADS: ReadonlyMap<string, ColumnHead> = new Map([
  ...Object.entries<ColumnHead>(EVENT_HEADS),
  [ERROR, ERROR_HEAD],
]);

/** Addresses distinguish subscriptions; their rules are long. */
const SUBSCRIPTION_HEADS: Readonly<Record<string, Partial<ColumnHead>>> = {
  callbackUrl: whoHead('callbackUrl'),
  isEnabled: { shortTitle: 'on' },
  'subscriptionRules.eventTypes': { spare: SPARE.other },
  'subscriptionRules.marketplaces': { spare: SPARE.other },
};

/** The first unknown column stays. Next to a name, nobody needs the subscription's id. */
function defaultHead(
  { text }: FieldPath,
  index: number,
  title: string,
  { fields, nameField }: { readonly fields: readonly FieldPath[]; readonly nameField: FieldPath | undefined },
): ColumnHead {
  if (text === nameField?.text) return FOR_HEAD;
  const isNamed = nameField !== undefined && fields.some((field) => field.text === nameField.text);
  if (isNamed && text === 'subscriptionId')
    return { ...secondReceiver(whoHead(text)), isDistinctive: false, isWhole: true };
  return KNOWN_HEADS.get(text) ?? { title, spare: index > 0 ? SPARE.other : 0 };
}

export function subscriptionIdsOf(page: Items): string[] {
  const read = createRowReader([memberPath('subscriptionId')], valueText, '');
  return read(page).flatMap(([id = '']) => (id === '' ? [] : [id]));
}

/**
 * Streams a table whose columns are decided by the first page. On a terminal every row fits, even after a
 * resize; in a pipe values are never cut, so a wide one shifts the rest of its row.
 */
export async function createTableWriter(
  options: FormatOptions,
  stdout: Output,
  reporter: Reporter,
): Promise<ItemWriter> {
  const look = await loadTableLook(stdout, reporter);
  const table = new StreamedTable(options, stdout, look, reporter);
  return { write: (page, isLast = false) => table.write(page, isLast), end: () => table.end() };
}

type Row = readonly string[];

class StreamedTable {
  readonly #options: FormatOptions;
  readonly #stdout: Output;
  readonly #look: TableLook;
  readonly #reporter: Reporter;
  #table: ReturnType<typeof itemTable> | undefined;
  #measured: readonly Row[] = [];
  #last: readonly Row[] = [];
  #columns: readonly Column[] = [];
  #room: number | undefined;
  #leftOut: string | undefined;
  #count = 0;

  constructor(options: FormatOptions, stdout: Output, look: TableLook, reporter: Reporter) {
    this.#options = options;
    this.#stdout = stdout;
    this.#look = look;
    this.#reporter = reporter;
  }

  async write(page: Items, isLast: boolean): Promise<void> {
    if (page.count === 0) return;
    this.#count += page.count;
    const { hasHeader = true, isLive } = this.#options;
    const { isTerminal } = this.#stdout;
    const isFirst = this.#table === undefined;
    const rows = isFirst ? await this.#begin(page) : (this.#table?.read(page) ?? []);
    const isResized = isTerminal && this.#stdout.columns !== this.#room;
    if (isFirst || isResized) await this.#fit(isFirst && isLast);
    const isMissing = isTerminal && (await this.#isColumnMissing([...this.#last, ...rows]));
    if (isMissing) {
      this.#measured = [...this.#last, ...rows];
      await this.#fit(false);
    }
    this.#last = rows;
    const isFitted = isFirst || isResized || isMissing;
    if (isFitted && isLive) this.#sayLeftOut();
    await loadWidthsFor(rows.flat());
    await this.#stdout.write(ended(this.#look.draw(this.#columns, rows, isFitted && hasHeader)));
  }

  async end(): Promise<void> {
    const { list, isLive, note } = this.#options;
    if (!this.#table) return this.#reporter.notice(nothingFound(list));
    if (isLive) return;
    this.#sayLeftOut();
    const [count] = (this.#stdout.isTerminal && (await note?.(this.#count))?.facts) || [];
    if (count !== undefined) this.#reporter.notice(count);
  }

  async #begin(page: Items): Promise<readonly Row[]> {
    const { fields, names, sample } = this.#options;
    if (!fields) await names?.learn(subscriptionIdsOf(page));
    this.#table = itemTable(sample ? [page, sample] : [page], this.#options, this.#stdout.isTerminal);
    const rows = this.#table.read(page);
    this.#measured = sample ? [...rows, ...this.#table.read(sample)] : rows;
    return rows;
  }

  async #isColumnMissing(rows: readonly Row[]): Promise<boolean> {
    if (!this.#table) return false;
    await loadWidthsFor(rows.flat());
    return missingColumn(this.#table.heads, rows, this.#columns) !== undefined;
  }

  async #fit(isComplete: boolean): Promise<void> {
    const { hasHeader = true } = this.#options;
    const table = { heads: this.#table?.heads ?? [], rows: this.#measured };
    await loadWidthsFor([...table.heads.map(({ title }) => title), ...table.rows.flat()]);
    this.#room = this.#look.room && this.#stdout.columns;
    const columns = layOut(table, { room: this.#room, hasHeader }, isComplete);
    this.#columns = this.#room === undefined ? columns.map(asItCame) : columns;
    this.#leftOut = leftOutNote(table, columns, isComplete);
  }

  #sayLeftOut(): void {
    if (this.#leftOut !== undefined)
      this.#reporter.notice(`${this.#leftOut}; a wider terminal shows more, --fields chooses`);
  }
}

function asItCame(column: Column): Column {
  return column.kind === 'time' ? { ...column, kind: 'text' } : column;
}
