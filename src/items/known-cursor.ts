import { type CreateCursorOptions, type Cursor, createExactCursor, MISSING } from './field-cursor.ts';
import type { FieldPath } from './field-path.ts';
import { type JsonScanner, stringText } from './json-scanner.ts';
import { isKnownName } from './known-fields.ts';

const QUOTE = 0x22;
/** The first byte of `null`. */
const NULL = 0x6e;
const EVENT_ID: FieldPath = { text: 'eventId', steps: ['eventId'] };

/** True for a path that is a known field's short name, which stands for the field wherever an item has it. */
export function isKnownPath({ steps }: Pick<FieldPath, 'steps'>): boolean {
  return steps.length === 1 && isKnownName(steps[0] as string);
}

/** A cursor whose paths may be short names of known fields. */
export interface KnownCursor extends Cursor {
  /**
   * Of the last item read, if `eventId` is among the paths: how many members could be the event; 0 if its own
   * `eventId` is a text. With other paths it stays 0 where the item's top has all that is asked for.
   */
  readonly holders: number;
  /** The offsets of the member that could be the event, of several the last one. */
  readonly holderStart: number;
  readonly holderEnd: number;
}

/** As for `createExactCursor`. */
type KnownCursorOptions = Pick<CreateCursorOptions, 'onOther' | 'texts'>;

/**
 * A cursor for these paths, in which the short name of a known field stands for the field wherever the item
 * has it. Paths of several steps are taken as they are, and none goes through a list or into a text: what
 * people write is read by `FieldReader`.
 */
export function createCursor(paths: readonly FieldPath[], options: KnownCursorOptions = {}): Cursor {
  return paths.some(isKnownPath) ? createKnownCursor(paths, options) : createExactCursor(paths, options);
}

/**
 * The same for paths some of which are short names. What is at the top of an item is always the known field,
 * so that its other members are looked into only where the top lacks one. Items of one kind follow each
 * other: after one whose fields lie in a member, members are read in the same pass, and no byte is walked
 * twice.
 */
export function createKnownCursor(
  paths: readonly FieldPath[],
  { onOther, texts }: KnownCursorOptions = {},
): KnownCursor {
  const known = [...paths.entries()].flatMap(([index, path]) => (isKnownPath(path) ? [{ index, path }] : []));
  const ownId = paths.findIndex(({ steps }) => steps.length === 1 && steps[0] === 'eventId');
  const idAt = ownId < 0 ? paths.length : ownId;
  // The event id is read behind the others where it is none of them.
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
  /** True if something that is asked for may lie in a member. */
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

/** The event inside an item: the item itself, or its member that is the event. */
export interface EventSpan {
  /** Offsets of the event's object. */
  readonly start: number;
  readonly end: number;
  /** The number of members that could be the event, if that is not known. */
  readonly doubtful: number;
}

/** Returns a function that finds the event inside the item at an offset. */
export function createEventFinder(): (bytes: Buffer, at: number) => EventSpan {
  const cursor = createKnownCursor([EVENT_ID]);
  return (bytes, at) => {
    const end = cursor.read(bytes, at);
    const { holders, holderStart, holderEnd } = cursor;
    if (holders === 1) return { start: holderStart, end: holderEnd, doubtful: 0 };
    return { start: at, end, doubtful: holders };
  };
}

/**
 * Where a record has its values, as offsets into the scanned bytes; 0 for one that the item does not have.
 */
export interface RecordOffsets {
  readonly eventIdAt: number;
  readonly subscriptionIdAt: number;
  readonly publishStatusAt: number;
  readonly createdOnAt: number;
  /** The member that is the event; 0 if the item is the event itself. */
  readonly eventAt: number;
  /** True if two members or more could be the event. */
  readonly isDoubtful: boolean;
}

/** The offsets of the record that a scanner has just passed. */
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
