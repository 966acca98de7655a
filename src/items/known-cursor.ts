import { type CreateCursorOptions, type Cursor, createExactCursor, MISSING } from './field-cursor.ts';
import type { FieldPath } from './field-path.ts';
import { type JsonScanner, stringText } from './json-scanner.ts';
import { isKnownName } from './known-fields.ts';

const QUOTE = 0x22;
const NULL = 0x6e;
const EVENT_ID: FieldPath = { text: 'eventId', steps: ['eventId'] };

export function isKnownPath({ steps }: Pick<FieldPath, 'steps'>): boolean {
  return steps.length === 1 && isKnownName(steps[0] as string);
}

export interface KnownCursor extends Cursor {
  /**
   * The number of members that could be the event, if `eventId` is among the paths; 0 if the item itself has
   * a string `eventId`. Without that path it stays 0 if the item's top has all requested fields.
   */
  readonly holders: number;
  /** The last member that could be the event. */
  readonly holderStart: number;
  readonly holderEnd: number;
}

type KnownCursorOptions = Pick<CreateCursorOptions, 'onOther' | 'texts'>;

/** Short names match known fields anywhere in the item. Use `FieldReader` for paths that users write. */
export function createCursor(paths: readonly FieldPath[], options: KnownCursorOptions = {}): Cursor {
  return paths.some(isKnownPath) ? createKnownCursor(paths, options) : createExactCursor(paths, options);
}

/**
 * Looks into members only if the top lacks a requested field. Items of one kind follow each other, so after
 * an item with its fields in a member, members are read in the same pass.
 */
export function createKnownCursor(
  paths: readonly FieldPath[],
  { onOther, texts }: KnownCursorOptions = {},
): KnownCursor {
  const known = [...paths.entries()].flatMap(([index, path]) => (isKnownPath(path) ? [{ index, path }] : []));
  const ownId = paths.findIndex(({ steps }) => steps.length === 1 && steps[0] === 'eventId');
  const idAt = ownId < 0 ? paths.length : ownId;
  const allPaths = ownId < 0 ? [...paths, EVENT_ID] : paths;
  const starts = new Int32Array(allPaths.length);
  const ends = new Int32Array(allPaths.length);
  const inner = createExactCursor([EVENT_ID, ...known.map(({ path }) => path)]);
  const heldStarts = new Int32Array(known.length);
  const heldEnds = new Int32Array(known.length);
  let page: Buffer;
  let looksInside = false;
  let holders = 0;
  let [holderStart, holderEnd] = [0, 0];

  const readMember = (at: number): number => {
    const end = inner.read(page, at);
    if (!isTextAt(page, inner.starts[0] as number)) return end;
    holders++;
    [holderStart, holderEnd] = [at, end];
    for (let field = 0; field < known.length; field++) {
      heldStarts[field] = inner.starts[field + 1] as number;
      heldEnds[field] = inner.ends[field + 1] as number;
    }
    return end;
  };
  const flat = createExactCursor(paths, { onOther, texts, starts, ends });
  const nested = createExactCursor(allPaths, { onOther, texts, onObject: readMember, starts, ends });
  const isAbsent = (index: number) => {
    const start = starts[index] as number;
    return start === MISSING || page[start] === NULL;
  };
  const isIncomplete = () => {
    if (ownId >= 0 && !isTextAt(page, starts[ownId] as number)) return true;
    for (const { index } of known) if (isAbsent(index)) return true;
    return false;
  };

  return {
    starts,
    ends,
    text: (path) => {
      const start = starts[path] as number;
      return isTextAt(page, start) ? stringText(page, start, ends[path] as number) : undefined;
    },
    get holders() {
      return holders;
    },
    get holderStart() {
      return holderStart;
    },
    get holderEnd() {
      return holderEnd;
    },
    read: (bytes, at) => {
      page = bytes;
      holders = 0;
      let end = 0;
      if (!looksInside) {
        end = flat.read(bytes, at);
        if (!isIncomplete()) return end;
        if (ownId >= 0 && isTextAt(bytes, starts[ownId] as number)) return end;
      }
      end = nested.read(bytes, at);
      const isFlat = isTextAt(bytes, starts[idAt] as number);
      looksInside = !isFlat;
      if (isFlat) holders = 0;
      if (holders !== 1) return end;
      for (const [field, { index }] of known.entries()) {
        if (!isAbsent(index) || heldStarts[field] === MISSING) continue;
        starts[index] = heldStarts[field] as number;
        ends[index] = heldEnds[field] as number;
        if (texts) texts[index] = undefined;
      }
      return end;
    },
  };
}

function isTextAt(bytes: Buffer, start: number): boolean {
  return start !== MISSING && bytes[start] === QUOTE;
}

export interface EventSpan {
  readonly start: number;
  readonly end: number;
  readonly doubtful: number;
}

export function createEventFinder(): (bytes: Buffer, at: number) => EventSpan {
  const cursor = createKnownCursor([EVENT_ID]);
  return (bytes, at) => {
    const end = cursor.read(bytes, at);
    const { holders, holderStart, holderEnd } = cursor;
    if (holders === 1) return { start: holderStart, end: holderEnd, doubtful: 0 };
    return { start: at, end, doubtful: holders };
  };
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
  const hasHolder = !hasTextId && holders === 1;
  const offsetOf = (name: 'eventId' | 'subscriptionId' | 'publishStatus' | 'createdOn') => {
    const at = top[name];
    const isAbsent = at === 0 || bytes[at] === NULL;
    return hasHolder && isAbsent ? holder[name] : at;
  };
  return {
    eventIdAt: offsetOf('eventId'),
    subscriptionIdAt: offsetOf('subscriptionId'),
    publishStatusAt: offsetOf('publishStatus'),
    createdOnAt: offsetOf('createdOn'),
    eventAt: hasHolder ? holder.start : 0,
    isDoubtful: !hasTextId && holders > 1,
  };
}
