import {
  type CreateCursorOptions,
  type Cursor,
  type CursorPath,
  createExactCursor,
  MISSING,
} from './field-cursor.ts';
import { memberPath } from './field-path.ts';
import { FILTER_FIELDS, type FilterField } from './filter-keys.ts';
import { isObject } from './items.ts';
import type { JsonScanner } from './json-scanner.ts';
import { NULL, QUOTE } from './json-scanner.ts';

/*
 * Services keep the fields that searches filter by (service description, part 4) either all at the top of an
 * item, or some of them in the one member that is the event:
 *
 * - An item with a text `eventId` at its top has all known fields there.
 * - Otherwise, if exactly one member at the top is an object with a text `eventId`, that member is the event.
 *   Known fields that are missing at the top come from it.
 * - Otherwise only the top counts: with several such members, the event is unknown.
 *
 * Parsed items, a cursor over bytes, and the scanner of pages each read items in their own way.
 */

/** `holders`: members that are objects with a text `eventId`. */
function isEventInMember(hasTextIdAtTop: boolean, holders: number): boolean {
  return !hasTextIdAtTop && holders === 1;
}

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
  const holders = Object.keys(item).filter((name) => {
    const member = item[name];
    return isObject(member) && typeof member['eventId'] === 'string';
  });
  return isEventInMember(typeof item['eventId'] === 'string', holders.length) ? holders[0] : undefined;
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

const EVENT_ID = memberPath('eventId');

export interface KnownCursor extends Cursor {
  /**
   * The event in the last item read: one of its members, or the item itself. Not looked for unless `eventId`
   * is among the paths.
   */
  readonly eventStart: number;
  readonly eventEnd: number;
}

type KnownCursorOptions = Pick<CreateCursorOptions, 'onOther' | 'texts'>;

/** Short names match known fields anywhere in the item. Use `FieldReader` for paths that users write. */
export function createCursor(paths: readonly CursorPath[], options: KnownCursorOptions = {}): Cursor {
  return paths.some(isKnownPath) ? createKnownCursor(paths, options) : createExactCursor(paths, options);
}

function isKnownPath({ steps }: CursorPath): boolean {
  return steps.length === 1 && isKnownName(steps[0] as string);
}

/**
 * Looks into members only if the top lacks a requested field. Items of one kind follow each other, so after
 * an item with its fields in a member, members are read in the same pass.
 */
export function createKnownCursor(
  paths: readonly CursorPath[],
  { onOther, texts }: KnownCursorOptions = {},
): KnownCursor {
  const known = [...paths.entries()].flatMap(([index, path]) => (isKnownPath(path) ? [{ index, path }] : []));
  const isIdRequested = known.some(({ path }) => path.steps[0] === 'eventId');
  const inMember = createExactCursor([EVENT_ID, ...known.map(({ path }) => path)]);
  const heldStarts = new Int32Array(known.length);
  const heldEnds = new Int32Array(known.length);
  let page: Buffer;
  let looksInside = false;
  let holders = 0;
  let holderStart = 0;
  let holderEnd = 0;
  let eventStart = 0;
  let eventEnd = 0;

  const readMember = (at: number): number | undefined => {
    if (!looksInside) return undefined;
    const end = inMember.read(page, at);
    if (!isTextAt(page, inMember.starts[0] as number)) return end;
    holders++;
    holderStart = at;
    holderEnd = end;
    for (let field = 0; field < known.length; field++) {
      heldStarts[field] = inMember.starts[field + 1] as number;
      heldEnds[field] = inMember.ends[field + 1] as number;
    }
    return end;
  };
  const cursor = createExactCursor([...paths, EVENT_ID], {
    onOther,
    texts,
    onObject: readMember,
    shown: paths.length,
  });
  const { starts, ends } = cursor;
  const hasTextId = () => isTextAt(page, starts[paths.length] as number);
  const isComplete = () => known.every(({ index }) => !isAbsent(page, starts[index] as number));
  const takeHeldFields = () => {
    for (const [field, { index }] of known.entries()) {
      if (!isAbsent(page, starts[index] as number) || heldStarts[field] === MISSING) continue;
      starts[index] = heldStarts[field] as number;
      ends[index] = heldEnds[field] as number;
      if (texts) texts[index] = undefined;
    }
  };

  return {
    starts,
    ends,
    text: cursor.text,
    get eventStart() {
      return eventStart;
    },
    get eventEnd() {
      return eventEnd;
    },
    read: (bytes, at) => {
      page = bytes;
      holders = 0;
      let end = cursor.read(bytes, at);
      eventStart = at;
      eventEnd = end;
      if (!looksInside) {
        if (hasTextId() || (!isIdRequested && isComplete())) return end;
        looksInside = true;
        end = cursor.read(bytes, at);
      }
      looksInside = !hasTextId();
      if (!isEventInMember(hasTextId(), holders)) return end;
      eventStart = holderStart;
      eventEnd = holderEnd;
      takeHeldFields();
      return end;
    },
  };
}

function isTextAt(bytes: Buffer, start: number): boolean {
  return start !== MISSING && bytes[start] === QUOTE;
}

function isAbsent(bytes: Buffer, start: number): boolean {
  return start === MISSING || bytes[start] === NULL;
}

/** Offsets into the scanned bytes; 0 if missing. */
export interface RecordOffsets {
  readonly eventIdAt: number;
  readonly subscriptionIdAt: number;
  readonly publishStatusAt: number;
  readonly createdOnAt: number;
  /** 0 if the item is the event itself. */
  readonly eventAt: number;
  readonly isDoubtful: boolean;
}

export function recordOffsets({ bytes, top, holder, holders }: JsonScanner): RecordOffsets {
  const hasTextId = top.eventId !== 0 && bytes[top.eventId] === QUOTE;
  const isInMember = isEventInMember(hasTextId, holders);
  const offsetOf = (name: 'eventId' | 'subscriptionId' | 'publishStatus' | 'createdOn') => {
    const at = top[name];
    const isMissing = at === 0 || bytes[at] === NULL;
    return isInMember && isMissing ? holder[name] : at;
  };
  return {
    eventIdAt: offsetOf('eventId'),
    subscriptionIdAt: offsetOf('subscriptionId'),
    publishStatusAt: offsetOf('publishStatus'),
    createdOnAt: offsetOf('createdOn'),
    eventAt: isInMember ? holder.start : 0,
    isDoubtful: !hasTextId && holders > 1,
  };
}
