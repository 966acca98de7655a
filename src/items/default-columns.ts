import { type FieldPath, memberPath } from './field-path.ts';
import type { Members } from './item-members.ts';
import type { ListKind } from './items.ts';

/** The service does not say which fields items have: these are shown if present, the most important first. */
const EVENT_FIELDS = ['createdOn', 'publishStatus', 'eventType', 'eventId', 'subscriptionId'];
/** Likely names, ignoring case and separators. The first one present is used. */
const NAME_FIELDS = ['name', 'eventtype', 'eventtypename', 'type', 'typename', 'id', 'key', 'code', 'value'];
const DESCRIPTION_FIELDS = ['description', 'summary', 'details', 'title', 'displayname', 'label'];
/** Columns of a table whose items have none of the known fields. */
const FIRST_FIELDS = 5;

/** The columns of a table: the known fields present, else the first scalar ones, else the first ones. */
export function tableColumns(members: Members, kind: ListKind): readonly FieldPath[] {
  const known = knownNames(members, kind);
  const scalars = [...members.names].filter(([, scalar]) => scalar).map(([name]) => name);
  const names = [known, scalars, [...members.names.keys()]].find((list) => list.length > 0) ?? [];
  return [...bareColumn(members, kind), ...names.slice(0, FIRST_FIELDS).map(memberPath)];
}

/** The columns of CSV: every field, the known ones first, then in the order of first appearance. */
export function csvColumns(members: Members, kind: ListKind): readonly FieldPath[] {
  const names = new Set([...knownNames(members, kind), ...members.names.keys()]);
  return [...bareColumn(members, kind), ...[...names].map(memberPath)];
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

function knownNames({ names }: Members, kind: ListKind): string[] {
  if (kind === 'events') return EVENT_FIELDS.filter((name) => names.has(name));
  const present = [...names.keys()];
  return [NAME_FIELDS, DESCRIPTION_FIELDS].flatMap((likely) => {
    const found = likely.flatMap((name) => present.find((candidate) => bareName(candidate) === name) ?? []);
    return found.slice(0, 1);
  });
}

function bareName(name: string): string {
  return name.toLowerCase().replace(/[_\s-]/g, '');
}
