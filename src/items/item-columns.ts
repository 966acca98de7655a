import { UTC } from '../time/time-zone.ts';
import { MISSING } from './field-cursor.ts';
import { type FieldPath, memberPath } from './field-path.ts';
import { FieldReader, type UseValue } from './field-reader.ts';
import type { Items, ListKind } from './items.ts';
import { isObject } from './items.ts';
import { knownValues } from './known-fields.ts';

/** Known fields appear at the top, wherever they are in the item. */
export interface Members {
  /** In order of first appearance; true if some value is neither null nor nested. */
  readonly names: ReadonlyMap<string, boolean>;
  readonly bare: boolean;
}

export function membersOf(pages: readonly Items[]): Members {
  const names = new Map<string, boolean>();
  let bare = false;
  for (const items of pages)
    for (const item of items.values()) {
      if (!isObject(item)) {
        bare = true;
        continue;
      }
      for (const [name, value] of Object.entries({ ...item, ...knownValues(item) }))
        names.set(name, names.get(name) || (value !== null && typeof value !== 'object'));
    }
  return { names, bare };
}

/** Matched without case and separators; the first one present is used. */
const NAME_FIELDS = ['name', 'eventtype', 'eventtypename', 'type', 'typename', 'id', 'key', 'code', 'value'];
const DESCRIPTION_FIELDS = ['description', 'summary', 'details', 'title', 'displayname', 'label'];
/** Columns of a table without known fields. */
const FIRST_FIELDS = 5;

export const EVENT_COLUMNS = [
  'createdOn',
  'publishStatus',
  'eventType',
  'eventId',
  'subscriptionId',
] as const;
export type EventColumn = (typeof EVENT_COLUMNS)[number];

/** The known fields present, else the first scalar fields, else the first fields. */
export function tableColumns({ names, bare }: Members, kind: ListKind): readonly FieldPath[] {
  const all = [...names.keys()];
  const scalars = all.filter((name) => names.get(name));
  const known = knownNames(all, kind);
  const others = scalars.length > 0 ? scalars : all;
  const columns = (known.length > 0 ? known : others.slice(0, FIRST_FIELDS)).map(memberPath);
  return bare || all.length === 0 ? [itemColumn(kind), ...columns] : columns;
}

export function itemColumn(kind: ListKind): FieldPath {
  return { text: kind === 'events' ? 'value' : 'name', steps: [] };
}

export function knownNames(present: readonly string[], kind: ListKind): string[] {
  if (kind === 'events') return EVENT_COLUMNS.filter((name) => present.includes(name));
  const bareName = (name: string) => name.toLowerCase().replace(/[_\s-]/g, '');
  return [NAME_FIELDS, DESCRIPTION_FIELDS].flatMap((likely) => {
    const found = likely.flatMap((name) => present.find((candidate) => bareName(candidate) === name) ?? []);
    return found.slice(0, 1);
  });
}

/** CSV prints a header even without items. */
export function emptyColumns(kind: ListKind): readonly FieldPath[] {
  return (kind === 'events' ? EVENT_COLUMNS : ['name', 'description']).map(memberPath);
}

export function nothingFound(kind: ListKind): string {
  const what = { events: 'events', 'event-types': 'event types', subscriptions: 'subscriptions' }[kind];
  return `no ${what} match`;
}

const ERROR_NAME = /error|failure|reason/i;
/** Finds such a name and the start of a value in JSON, since most pages have none and need no parsing. */
const ERROR_MEMBER = new RegExp(`(${ERROR_NAME.source})[^"]{0,60}":(?!null|false|"")`, 'i');
/** Maximum depth searched. */
const DEEPEST = 10;

/** The first field with a value and a name like `lastError`; undefined if there is none. */
export function errorField(pages: readonly Items[]): FieldPath | undefined {
  for (const items of pages.filter(({ bytes }) => ERROR_MEMBER.test(bytes.toString('latin1'))))
    for (const item of items.values()) {
      const steps = errorIn(item, []);
      if (steps) return { text: steps.join('.'), steps };
    }
  return undefined;
}

function errorIn(value: unknown, steps: readonly string[]): readonly string[] | undefined {
  if (!isObject(value) || steps.length === DEEPEST) return undefined;
  for (const [name, member] of Object.entries(value)) {
    const path = [...steps, name];
    const found = ERROR_NAME.test(name) && !isEmpty(member) ? path : errorIn(member, path);
    if (found) return found;
  }
  return undefined;
}

function isEmpty(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0;
  return value === null || value === false || value === '';
}

const OBJECT = 0x7b;

/** `cellOf` formats a JSON value; a missing one becomes `missing`. `zone` is for hours and weekdays. */
export function createRowReader(
  columns: readonly FieldPath[],
  cellOf: (bytes: Buffer, start: number, end: number) => string,
  missing: string,
  zone = UTC,
): (page: Items) => string[][] {
  const reader = new FieldReader(columns, zone);
  // Next to columns of members, show the item itself only if it is not an object.
  const itself = columns.findIndex(({ steps }) => steps.length === 0);
  const isMixed = itself >= 0 && columns.length > 1;
  let cell = missing;
  const useCell: UseValue = (bytes, start, end) => {
    cell = start === MISSING ? missing : cellOf(bytes, start, end);
  };
  const cellAt = (column: number) => {
    reader.whole(column, useCell);
    return cell;
  };
  return (items) => {
    const { bytes, count } = items;
    const rows: string[][] = [];
    for (let item = 0; item < count; item++) {
      const at = items.start(item);
      reader.read(bytes, at);
      const isShown = (column: number) => column !== itself || !isMixed || bytes[at] !== OBJECT;
      rows.push(columns.map((_, column) => (isShown(column) ? cellAt(column) : missing)));
    }
    return rows;
  };
}
