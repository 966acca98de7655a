import type { FieldPath } from './field-path.ts';
import { jsonInText } from './json-in-text.ts';
import {
  ARRAY,
  BACKSLASH,
  COMMA,
  NULL,
  OBJECT,
  OBJECT_CLOSE,
  QUOTE,
  readEach,
  startsWith,
  stringEnd,
  stringText,
  valueEnd,
} from './json-scanner.ts';

/** The offset of a missing field. */
export const MISSING = -1;

/** Finds fields in one item after another, without building values. */
export interface Cursor {
  /** Takes valid JSON without white space between tokens. Returns the offset after the item. */
  read(bytes: Buffer, at: number): number;
  /** By path, for the last item read. */
  readonly starts: Int32Array;
  readonly ends: Int32Array;
  /** The field's characters if it is a string; otherwise undefined. */
  text(path: number): string | undefined;
}

export type CursorPath = Pick<FieldPath, 'steps'>;

class Step {
  readonly quoted: Buffer;
  readonly place: number;
  readonly found: number[] = [];
  /** True if one of `found` is shown. */
  isShown = false;
  readonly next: Step[] = [];
  readonly byName = new Map<string, Step>();

  constructor(name = '', place = 0) {
    this.quoted = Buffer.from(JSON.stringify(name));
    this.place = place;
  }

  to(name: string): Step {
    const known = this.byName.get(name);
    if (known) return known;
    const step = new Step(name, this.next.length);
    this.next.push(step);
    this.byName.set(name, step);
    return step;
  }

  /** The offsets include the quotes. */
  named(bytes: Buffer, start: number, end: number): Step | undefined {
    let index = start;
    while (index < end && bytes[index] !== BACKSLASH) index++;
    if (index < end || this.next.length > FEW) return this.byName.get(stringText(bytes, start, end));
    for (const step of this.next)
      if (step.quoted.length === end - start && startsWith(bytes, start, step.quoted)) return step;
    return undefined;
  }
}

/** Up to this many names, comparing bytes is faster than decoding the name. */
const FEW = 8;

export interface CreateCursorOptions {
  /** Called with the offsets of a member's quoted name, unless a shown path has its value or it is null. */
  readonly onOther?: ((bytes: Buffer, nameStart: number, nameEnd: number) => void) | undefined;
  /** This many of the paths are shown, by default all. */
  readonly shown?: number;
  /** Called at each object that is a member of the item itself. May return the offset after it, if known. */
  readonly onObject?: (at: number) => number | undefined;
  /**
   * If given, paths lead into texts that are JSON, one level deep. Receives the bytes that a path's offsets
   * refer to, or undefined for the item's own.
   */
  readonly texts?: (Buffer | undefined)[] | undefined;
}

/** Literal paths: short names match only at the top. Of duplicate members the last one counts. */
export function createExactCursor(
  paths: readonly CursorPath[],
  { onOther, onObject, texts, shown = paths.length }: CreateCursorOptions = {},
): Cursor {
  const starts = new Int32Array(paths.length);
  const ends = new Int32Array(paths.length);
  const root = new Step();
  for (const [path, { steps }] of paths.entries()) {
    const last = steps.reduce((step, name) => step.to(name), root);
    last.found.push(path);
    last.isShown ||= path < shown;
  }

  let text: Buffer | undefined;

  const visit = (bytes: Buffer, at: number, step: Step): number => {
    const first = bytes[at];
    let end: number;
    if (step.next.length === 0) end = valueEnd(bytes, at);
    else if (first === OBJECT) end = visitObject(bytes, at, step);
    else if (first === ARRAY) end = visitArray(bytes, at, step);
    else {
      end = valueEnd(bytes, at);
      if (first === QUOTE && texts && text === undefined) visitText(bytes, at, end, step);
    }
    for (const path of step.found) {
      starts[path] = at;
      ends[path] = end;
      if (texts) texts[path] = text;
    }
    return end;
  };
  const visitText = (bytes: Buffer, at: number, end: number, step: Step): void => {
    text = jsonInText(bytes, at, end);
    if (text?.[0] === OBJECT) visitObject(text, 0, step);
    else if (text) visitArray(text, 0, step);
    text = undefined;
  };
  const visitObject = (bytes: Buffer, at: number, step: Step): number => {
    if (bytes[at + 1] === OBJECT_CLOSE) return at + 2;
    let index = at;
    // Items of one type have the same members in the same order, so a name is compared before its end is
    // looked for: the hottest loop of a search, without a call for each member.
    let expected = 0;
    do {
      const nameStart = index + 1;
      let next = step.next[expected];
      let nameEnd = nameStart + (next?.quoted.length ?? 0);
      if (!next || !startsWith(bytes, nameStart, next.quoted)) {
        nameEnd = stringEnd(bytes, nameStart);
        next = step.named(bytes, nameStart, nameEnd);
      }
      const first = bytes[nameEnd + 1];
      if (onOther && text === undefined && first !== NULL && !(next && (next.isShown || first === OBJECT)))
        onOther(bytes, nameStart, nameEnd);
      const isMember = step === root && text === undefined;
      const known = onObject && isMember && first === OBJECT ? onObject(nameEnd + 1) : undefined;
      if (next) {
        forget(next);
        expected = next.place + 1;
        index = visit(bytes, nameEnd + 1, next);
      } else index = known ?? valueEnd(bytes, nameEnd + 1);
    } while (bytes[index] === COMMA);
    return index + 1;
  };
  const visitArray = (bytes: Buffer, at: number, step: Step): number => {
    let element = 0;
    return readEach(bytes, at, (start) => {
      const next = step.byName.get(String(element++));
      return next ? visit(bytes, start, next) : valueEnd(bytes, start);
    });
  };
  const forget = (step: Step): void => {
    for (const path of step.found) starts[path] = MISSING;
    for (const next of step.next) forget(next);
  };

  let page: Buffer;
  return {
    starts,
    ends,
    text: (path) => {
      const start = starts[path] as number;
      return start === MISSING || page[start] !== QUOTE
        ? undefined
        : stringText(page, start, ends[path] as number);
    },
    read: (bytes, at) => {
      page = bytes;
      starts.fill(MISSING);
      return visit(bytes, at, root);
    },
  };
}
