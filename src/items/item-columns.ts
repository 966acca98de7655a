import { UTC } from '../time/time-zone.ts';
import { MISSING } from './field-cursor.ts';
import { type FieldPath, memberPath } from './field-path.ts';
import { FieldReader, type UseValue } from './field-reader.ts';
import type { Items, ListKind } from './items.ts';
import { isObject } from './items.ts';
import { OBJECT } from './json-scanner.ts';

/** Matched without case and separators; the first one present is used. */
const NAME_FIELDS = ['name', 'eventtype', 'eventtypename', 'type', 'typename', 'id', 'key', 'code', 'value'];
const DESCRIPTION_FIELDS = ['description', 'summary', 'details', 'title', 'displayname', 'label'];
/** Columns of a table without known fields. */
const FIRST_FIELDS = 5;

/**
 * The known columns if any are present, else the likely names of an entry, else the first scalar fields, else
 * the first fields. The item itself is a column too if it is not an object, or has no fields.
 */
export function listColumns(
  pages: readonly Items[],
  kind: ListKind,
  known: readonly FieldPath[] = [],
): readonly FieldPath[] {
  const columns = known.length > 0 ? known : memberColumns(pages, kind);
  return columns.length === 0 || pages.some(hasBareItem) ? [itemColumn(kind), ...columns] : columns;
}

function memberColumns(pages: readonly Items[], kind: ListKind): FieldPath[] {
  const members = membersOf(pages);
  const all = [...members.keys()];
  const likely = kind === 'events' ? [] : likelyNames(all);
  if (likely.length > 0) return likely.map(memberPath);
  const scalars = all.filter((name) => members.get(name));
  return (scalars.length > 0 ? scalars : all).slice(0, FIRST_FIELDS).map(memberPath);
}

/** In order of first appearance; true if some value is neither null nor nested. */
function membersOf(pages: readonly Items[]): ReadonlyMap<string, boolean> {
  const names = new Map<string, boolean>();
  for (const items of pages)
    for (const item of items.values()) {
      if (!isObject(item)) continue;
      for (const [name, value] of Object.entries(item))
        names.set(name, names.get(name) || typeof value !== 'object');
    }
  return names;
}

/** Names such an item in a warning. */
export const BARE_ITEM = 'an item that is not an object';

export function hasBareItem(items: Items): boolean {
  for (let item = 0; item < items.count; item++) if (items.bytes[items.start(item)] !== OBJECT) return true;
  return false;
}

export function itemColumn(kind: ListKind): FieldPath {
  return { text: kind === 'events' ? 'value' : 'name', steps: [] };
}

/** A name and a description. */
export function likelyNames(present: readonly string[]): string[] {
  const bareName = (name: string) => name.toLowerCase().replace(/[_\s-]/g, '');
  return [NAME_FIELDS, DESCRIPTION_FIELDS].flatMap((likely) => {
    const found = likely.flatMap((name) => present.find((candidate) => bareName(candidate) === name) ?? []);
    return found.slice(0, 1);
  });
}

export function nothingFound(kind: ListKind): string {
  const what = { events: 'events', 'event-types': 'event types', subscriptions: 'subscriptions' }[kind];
  return `no ${what} match`;
}

const ERROR_NAME = /error|failure|reason/i;
/** Finds such a name and the start of a value in JSON, since most items have none and need no parsing. */
const ERROR_MEMBER = new RegExp(`(${ERROR_NAME.source})[^"]{0,60}":(?!null|false|"")`, 'i');
/** Maximum depth searched. */
const DEEPEST = 10;

/** The first field with a value and a name like `lastError`; undefined if there is none. */
export function errorField(pages: readonly Items[]): FieldPath | undefined {
  for (const items of pages)
    for (const text of items.texts()) {
      // Not the page, of which the items may be a few.
      if (!ERROR_MEMBER.test(text.toString('latin1'))) continue;
      const steps = errorIn(JSON.parse(text.toString()), []);
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
  const isMixed = columns.length > 1;
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
