import { type FieldPath, fieldPath, memberPath } from '../items/field-path.ts';
import { itemColumn, likelyNames } from '../items/item-columns.ts';
import { type Items, isObject, type ListKind } from '../items/items.ts';
import { withKnownFieldsAtTop } from '../items/known-fields.ts';
import { EventColumns } from './event-columns.ts';

export interface CsvColumn extends FieldPath {
  /** True if the object's members have their own columns, so this one never shows an object. */
  readonly isOuter: boolean;
}

/** Maximum columns added by later pages: names that are ids would be unlimited. */
const MAX_LATE_COLUMNS = 2_000;

/** The columns of tables come first, then all other members; an object's members replace it. */
export class CsvColumns {
  readonly #list: ListKind;
  readonly #room = { columns: Number.POSITIVE_INFINITY };
  readonly #shape = new ValueShape(this.#room);
  readonly #events: EventColumns;

  constructor(list: ListKind, events = new EventColumns()) {
    this.#list = list;
    this.#events = events;
  }

  see(items: Items): void {
    this.#events.see(items);
    for (const item of items.values()) this.#shape.add(shownItem(item, this.#list));
    this.#room.columns = Math.min(this.#room.columns, MAX_LATE_COLUMNS);
  }

  /**
   * Reads all pages, since the first might lack some members. Undefined for formats without columns of their
   * own, and with `fields`.
   */
  static async ofAll(
    { format, fields, list }: { readonly format: string; readonly fields?: unknown; readonly list: ListKind },
    pages: AsyncIterable<{ readonly items: Items }>,
  ): Promise<CsvColumns | undefined> {
    if (format !== 'csv' || fields) return undefined;
    const columns = new CsvColumns(list);
    for await (const { items } of pages) columns.see(items);
    return columns;
  }

  result(): readonly CsvColumn[] {
    let others = columnsOf(this.#shape, itemColumn(this.#list));
    const first = this.#knownPaths().flatMap((path) => {
      const isOfPath = (column: FieldPath) => isWithin(column, path);
      const columns = others.filter(isOfPath);
      others = others.filter((column) => !isOfPath(column));
      return columns.length > 0 ? columns : [{ ...path, isOuter: false }];
    });
    const isItem = ({ steps }: FieldPath) => steps.length === 0;
    return [...others.filter(isItem), ...first, ...others.filter((column) => !isItem(column))];
  }

  #knownPaths(): readonly FieldPath[] {
    if (this.#list === 'events') return this.#events.result();
    return likelyNames([...this.#shape.members.keys()]).map(memberPath);
  }
}

function isWithin({ steps }: FieldPath, outer: FieldPath): boolean {
  return outer.steps.every((step, index) => steps[index] === step);
}

function shownItem(item: unknown, list: ListKind): unknown {
  return list === 'events' && isObject(item) ? withKnownFieldsAtTop(item) : item;
}

/** Objects nested deeper than this are printed as JSON in one cell. */
const DEEPEST = 20;

export class ValueShape {
  isPlain = false;
  readonly members = new Map<string, ValueShape>();
  readonly #room: { columns: number };

  constructor(room = { columns: Number.POSITIVE_INFINITY }) {
    this.#room = room;
  }

  add(value: unknown, depth = 0): void {
    if (!isObject(value)) {
      this.isPlain ||= value !== null;
      return;
    }
    if (depth > DEEPEST) return;
    for (const [name, member] of Object.entries(value)) this.#memberOf(name)?.add(member, depth + 1);
  }

  #memberOf(name: string): ValueShape | undefined {
    const known = this.members.get(name);
    if (known || this.#room.columns === 0) return known;
    this.#room.columns--;
    const shape = new ValueShape(this.#room);
    this.members.set(name, shape);
    return shape;
  }
}

export function columnsOf(shape: ValueShape, path: FieldPath): CsvColumn[] {
  const { text, steps } = path;
  const members = steps.length < DEEPEST ? shape.members : [];
  const inside = [...members].flatMap(([name, some]) => {
    const inner = { text: `${text}.${fieldPath([name]).text}`, steps: [...steps, name] };
    return columnsOf(some, steps.length === 0 ? fieldPath([name]) : inner);
  });
  const isOuter = inside.length > 0;
  return shape.isPlain || !isOuter ? [{ ...path, isOuter }, ...inside] : inside;
}
