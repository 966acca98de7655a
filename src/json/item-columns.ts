import { createCursor, type FieldPath, MISSING, memberPath } from './item-fields.ts';
import type { Items, ListKind } from './items.ts';
import { stringEnd, stringText, valueEnd } from './json-scanner.ts';

/** The members of items, from which columns are chosen. */
export interface Members {
  /** Names in the order of first appearance; true if a value was seen that is neither null nor nested. */
  readonly names: ReadonlyMap<string, boolean>;
  /** True if an item is not an object. */
  readonly bare: boolean;
}

const NO_MEMBERS: Members = { names: new Map(), bare: false };

/** Returns the members of a page's items, and of the pages before it if given. */
export function membersOf(items: Items, before = NO_MEMBERS): Members {
  const { bytes, count } = items;
  const names = new Map(before.names);
  let { bare } = before;
  for (let item = 0; item < count; item++) {
    let index = items.start(item);
    if (bytes[index] !== 0x7b) {
      bare = true;
      continue;
    }
    if (bytes[index + 1] === 0x7d) continue;
    do {
      const nameEnd = stringEnd(bytes, index + 1);
      const name = stringText(bytes, index + 1, nameEnd);
      const first = bytes[nameEnd + 1];
      const scalar = first !== 0x7b && first !== 0x5b && first !== 0x6e;
      if (scalar || !names.has(name)) names.set(name, scalar);
      index = valueEnd(bytes, nameEnd + 1);
    } while (bytes[index] === 0x2c);
  }
  return { names, bare };
}

/** The service does not say which fields items have: these are shown if present, the most important first. */
const EVENT_FIELDS = ['createdOn', 'publishStatus', 'eventType', 'eventId', 'subscriptionId'];
/** Likely names, ignoring case and separators. The first one present is used. */
const NAME_FIELDS = ['name', 'eventtype', 'eventtypename', 'type', 'typename', 'id', 'key', 'code', 'value'];
const DESCRIPTION_FIELDS = ['description', 'summary', 'details', 'title', 'displayname', 'label'];
/** Columns of a table whose items have none of the known fields. */
const FIRST_FIELDS = 5;

/** The columns of a table: the known fields present, else the first scalar ones, else the first ones. */
export function tableColumns(members: Members, kind: ListKind): readonly FieldPath[] {
  const known = knownNames([...members.names.keys()], kind);
  const scalars = [...members.names].filter(([, scalar]) => scalar).map(([name]) => name);
  const names = [known, scalars, [...members.names.keys()]].find((list) => list.length > 0) ?? [];
  return [...bareColumn(members, kind), ...names.slice(0, FIRST_FIELDS).map(memberPath)];
}

const ERROR_NAME = /error|failure|reason/i;

/**
 * The first field whose name tells of an error and that has a value in an item, such as `lastError` in `delivery`;
 * undefined if there is none.
 */
export function errorField(pages: readonly Items[]): FieldPath | undefined {
  for (const items of pages)
    for (let item = 0; item < items.count; item++) {
      const found = errorIn(items.bytes, items.start(item), []);
      if (typeof found !== 'number') return { text: found.join('.'), steps: found };
    }
  return undefined;
}

/** Members of members are looked at down to this level. */
const DEEPEST = 10;

/** The steps to the first error in the value at `at`, or the offset after the value if it has none. */
function errorIn(bytes: Buffer, at: number, steps: readonly string[]): readonly string[] | number {
  if (bytes[at] !== 0x7b || steps.length === DEEPEST) return valueEnd(bytes, at);
  if (bytes[at + 1] === 0x7d) return at + 2;
  let index = at;
  do {
    const nameEnd = stringEnd(bytes, index + 1);
    const path = [...steps, stringText(bytes, index + 1, nameEnd)];
    const end = errorIn(bytes, nameEnd + 1, path);
    const isError = ERROR_NAME.test(path.at(-1) as string) && !isNothing(bytes, nameEnd + 1);
    if (isError) return path;
    if (typeof end !== 'number') return end;
    index = end;
  } while (bytes[index] === 0x2c);
  return index + 1;
}

/** True for null, false, and an empty text, object or list. */
function isNothing(bytes: Buffer, at: number): boolean {
  const first = bytes[at];
  if (first === 0x6e || first === 0x66) return true;
  const second = bytes[at + 1];
  return (
    (first === 0x22 && second === 0x22) ||
    (first === 0x7b && second === 0x7d) ||
    (first === 0x5b && second === 0x5d)
  );
}

/** The columns of CSV if there is no item to take them from: a header is always printed. */
export function emptyColumns(kind: ListKind): readonly FieldPath[] {
  return (kind === 'events' ? EVENT_FIELDS : ['name', 'description']).map(memberPath);
}

/** The message for an empty list. */
export function nothingFound(kind: ListKind): string {
  return kind === 'events' ? 'no events match' : 'no event types match';
}

/** The column for items that are not objects: the item itself. */
function bareColumn({ bare, names }: Members, kind: ListKind): FieldPath[] {
  if (!bare && names.size > 0) return [];
  return [{ text: kind === 'events' ? 'value' : 'name', steps: [] }];
}

/** Of these names, those that are shown before all others. */
export function knownNames(present: readonly string[], kind: ListKind): string[] {
  if (kind === 'events') return EVENT_FIELDS.filter((name) => present.includes(name));
  return [NAME_FIELDS, DESCRIPTION_FIELDS].flatMap((likely) => {
    const found = likely.flatMap((name) => present.find((candidate) => bareName(candidate) === name) ?? []);
    return found.slice(0, 1);
  });
}

function bareName(name: string): string {
  return name.toLowerCase().replace(/[_\s-]/g, '');
}

/** Makes a cell of the JSON value between two offsets. */
export type CellOf = (bytes: Buffer, start: number, end: number) => string;

/** Reads rows of cells from pages; a missing value becomes `missing`. */
export function createRowReader(
  columns: readonly FieldPath[],
  cellOf: CellOf,
  missing: string,
): (page: Items) => string[][] {
  const cursor = createCursor(columns);
  // If there are columns of members too, the item itself is shown only if it is not an object.
  const itself = columns.findIndex(({ steps }) => steps.length === 0);
  const isMixed = itself >= 0 && columns.length > 1;
  return (items) => {
    const { bytes, count } = items;
    const rows: string[][] = [];
    for (let item = 0; item < count; item++) {
      const at = items.start(item);
      cursor.read(bytes, at);
      if (isMixed && bytes[at] === 0x7b) cursor.starts[itself] = MISSING;
      rows.push(
        columns.map((_, column) => {
          const start = cursor.starts[column] as number;
          return start === MISSING ? missing : cellOf(bytes, start, cursor.ends[column] as number);
        }),
      );
    }
    return rows;
  };
}
