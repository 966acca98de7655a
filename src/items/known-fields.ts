import { FILTER_FIELDS, type FilterField } from './filter-keys.ts';
import { isObject } from './items.ts';

/*
 * Services keep the fields that searches filter by (service description, part 4) either all at the top of an
 * item, or some of them in the one member that is the event. `known-cursor.ts` applies the same to bytes:
 *
 * - An item with a text `eventId` at its top has all known fields there.
 * - Otherwise, if exactly one member at the top is an object with a text `eventId`, that member is the event.
 *   Known fields that are missing at the top come from it.
 * - Otherwise only the top counts: with several such members, the event is unknown.
 */

export type KnownField = 'createdOn' | FilterField;

export const KNOWN_FIELDS: readonly KnownField[] = [
  ...new Set<KnownField>(['createdOn', 'publishStatus', 'eventType', 'eventId', ...FILTER_FIELDS]),
];

export function isKnownName(name: string): name is KnownField {
  return (KNOWN_FIELDS as readonly string[]).includes(name);
}

type ParsedItem = Readonly<Record<string, unknown>>;

/** The member that is the event; undefined if the known fields are at the top. */
export function eventMember(item: ParsedItem): string | undefined {
  if (typeof item['eventId'] === 'string') return undefined;
  const holders = Object.keys(item).filter((name) => {
    const member = item[name];
    return isObject(member) && typeof member['eventId'] === 'string';
  });
  return holders.length === 1 ? holders[0] : undefined;
}

export function knownValues(item: ParsedItem): Partial<Record<KnownField, unknown>> {
  const member = eventMember(item);
  const event = member === undefined ? {} : (item[member] as ParsedItem);
  const values: Partial<Record<KnownField, unknown>> = {};
  for (const field of KNOWN_FIELDS) {
    const value = item[field] ?? (event[field] === undefined ? item[field] : event[field]);
    if (value !== undefined) values[field] = value;
  }
  return values;
}

/** Moves known fields of the event to the top, unless the top has a value. The rest stays in its member. */
export function withKnownFieldsAtTop(item: ParsedItem): ParsedItem {
  const member = eventMember(item);
  if (member === undefined) return item;
  const { [member]: event, ...others } = item;
  const isShownAtTop = (name: string) =>
    isKnownName(name) && (item[name] === undefined || item[name] === null);
  const rest = Object.entries(event as ParsedItem).filter(([name]) => !isShownAtTop(name));
  return {
    ...others,
    ...knownValues(item),
    ...(rest.length === 0 ? {} : { [member]: Object.fromEntries(rest) }),
  };
}

/** Full paths of the known fields; empty if they are at the top. */
export function pathsInEvent(item: ParsedItem): string[][] {
  const member = eventMember(item);
  return member === undefined ? [] : KNOWN_FIELDS.map((name) => [member, name]);
}
