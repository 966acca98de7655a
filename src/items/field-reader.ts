import type { TimeZone } from '../time/time-zone.ts';
import { type Derive, derivationFacts, derive } from './derived-values.ts';
import {
  type CreateCursorOptions,
  type Cursor,
  type CursorPath,
  createExactCursor,
  MISSING,
} from './field-cursor.ts';
import { EACH, type FieldPath, memberPath, type Walk } from './field-path.ts';
import { jsonInText } from './json-in-text.ts';
import { ARRAY, OBJECT, QUOTE, readEach, stringEnd, stringText, valueEnd } from './json-scanner.ts';
import { createCursor } from './known-fields.ts';

const NO_BYTES = Buffer.alloc(0);
const NULL_TEXT = Buffer.from('null');

/** `start` is `MISSING` if there is no value. Copy the bytes to keep them. */
export type UseValue = (bytes: Buffer, start: number, end: number) => void;

/**
 * Reads the fields that users name: members, known fields by their short names, elements of lists, JSON
 * inside a text (one level deep) and derived values. A member with the path's literal name has precedence.
 */
export class FieldReader {
  readonly #ways: readonly (Way | undefined)[];
  readonly #cursor: Cursor;
  readonly #createdOn: number | undefined;
  readonly #texts: (Buffer | undefined)[];
  #page: Buffer = NO_BYTES;

  /** `zone` is for hours and weekdays; `onOther` as for `createExactCursor`. */
  constructor(paths: readonly FieldPath[], zone: TimeZone, onOther?: CreateCursorOptions['onOther']) {
    const all: CursorPath[] = [...paths];
    this.#ways = paths.map(({ walk }) => walk && wayOf(walk, zone, all));
    const needsCreation = paths.some(
      ({ walk }) => walk?.derivation !== undefined && derivationFacts(walk.derivation).needsCreation,
    );
    this.#createdOn = needsCreation ? all.push(memberPath('createdOn')) - 1 : undefined;
    this.#texts = all.map(() => undefined);
    this.#cursor = createCursor(all, { onOther, texts: this.#texts });
  }

  read(bytes: Buffer, at: number): number {
    this.#page = bytes;
    return this.#cursor.read(bytes, at);
  }

  /**
   * Calls `use` for each value of a field in the last item read, with `MISSING` for list elements that lack
   * it. Calls `use` once with `MISSING` if there is no value at all or the list is empty.
   */
  each(field: number, use: UseValue): void {
    const way = this.#wayTo(field);
    if (!way) {
      this.#useFound(field, use);
      return;
    }
    let isUsed = false;
    this.#go(way, (bytes, start, end) => {
      isUsed = true;
      use(bytes, start, end);
    });
    if (!isUsed) use(NO_BYTES, MISSING, MISSING);
  }

  /** Calls `use` once: with the value, or with a list of the values of a path through lists. */
  whole(field: number, use: UseValue): void {
    const way = this.#wayTo(field);
    if (!way || way.lists.length === 0) {
      this.each(field, use);
      return;
    }
    const texts: Buffer[] = [];
    const isList = this.#go(way, (bytes, start, end) => {
      texts.push(start === MISSING ? NULL_TEXT : bytes.subarray(start, end));
    });
    const list = isList ? listOf(texts) : NO_BYTES;
    use(list, isList ? 0 : MISSING, list.length);
  }

  /** The characters of a plain path's string; otherwise undefined. */
  text(field: number): string | undefined {
    return this.#texts[field] ? undefined : this.#cursor.text(field);
  }

  /** True even for null. */
  has(field: number): boolean {
    let isFound = false;
    this.each(field, (_, start) => {
      isFound ||= start !== MISSING;
    });
    return isFound;
  }

  #wayTo(field: number): Way | undefined {
    return this.#cursor.starts[field] === MISSING ? this.#ways[field] : undefined;
  }

  readonly #readCreatedOn = (): string | undefined =>
    this.#createdOn === undefined ? undefined : this.text(this.#createdOn);

  #useFound(place: number, use: UseValue): void {
    const { starts, ends } = this.#cursor;
    use(this.#texts[place] ?? this.#page, starts[place] as number, ends[place] as number);
  }

  #go({ first, lists, derive }: Way, use: UseValue): boolean {
    const useDerived = derive ? deriving(derive, use, this.#readCreatedOn) : use;
    if (lists.length === 0) {
      this.#useFound(first, useDerived);
      return false;
    }
    const text = this.#texts[first];
    const start = this.#cursor.starts[first] as number;
    const end = this.#cursor.ends[first] as number;
    const list = { bytes: text ?? this.#page, start, end, isInText: text !== undefined };
    return eachElement(list, lists, 0, useDerived);
  }
}

interface Way {
  /** Index of the steps before the first `[]` among the cursor's paths. */
  readonly first: number;
  readonly lists: readonly ElementCursor[];
  readonly derive: Derive | undefined;
}

function wayOf({ steps, derivation }: Walk, zone: TimeZone, paths: CursorPath[]): Way {
  const [first, ...others] = partedAtLists(steps);
  return {
    first: paths.push({ steps: first }) - 1,
    lists: others.map((inElement) => new ElementCursor(inElement)),
    derive: derivation && derive(derivation, zone),
  };
}

function partedAtLists(steps: Walk['steps']): [string[], ...string[][]] {
  const parts: [string[], ...string[][]] = [[]];
  for (const step of steps)
    if (step === EACH) parts.push([]);
    else parts.at(-1)?.push(step);
  return parts;
}

function deriving(derive: Derive, use: UseValue, createdOn: () => string | undefined): UseValue {
  return (bytes, start, end) => {
    const value = start === MISSING ? undefined : derive(bytes, start, end, createdOn);
    const text = value === undefined ? NO_BYTES : Buffer.from(JSON.stringify(value));
    use(text, value === undefined ? MISSING : 0, text.length);
  };
}

interface FoundValue {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
  readonly isInText: boolean;
}

class ElementCursor {
  readonly #texts: (Buffer | undefined)[] = [];
  readonly #onPage: Cursor;
  readonly #inText: Cursor;

  constructor(steps: readonly string[]) {
    this.#onPage = createExactCursor([{ steps }], { texts: this.#texts });
    this.#inText = createExactCursor([{ steps }]);
  }

  find({ bytes, isInText }: FoundValue, at: number): FoundValue & { readonly behind: number } {
    const cursor = isInText ? this.#inText : this.#onPage;
    const behind = cursor.read(bytes, at);
    const text = isInText ? undefined : this.#texts[0];
    const [start = MISSING] = cursor.starts;
    const [end = MISSING] = cursor.ends;
    return { bytes: text ?? bytes, start, end, isInText: isInText || text !== undefined, behind };
  }
}

/** Returns true if the value is a list or a map, or a text of one. */
function eachElement(
  value: FoundValue,
  lists: readonly ElementCursor[],
  depth: number,
  use: UseValue,
): boolean {
  const { bytes, start, end, isInText } = value;
  if (start === MISSING) return false;
  const first = bytes[start];
  if (first === QUOTE && !isInText) {
    const text = jsonInText(bytes, start, end);
    return text !== undefined && eachElement(wholeText(text), lists, depth, use);
  }
  if (first !== ARRAY && first !== OBJECT) return false;
  const isLast = depth === lists.length - 1;
  const goOn = (at: number): number => {
    const found = (lists[depth] as ElementCursor).find(value, at);
    if (isLast) use(found.bytes, found.start, found.end);
    else eachElement(found, lists, depth + 1, use);
    return found.behind;
  };
  if (first === ARRAY) readEach(bytes, start, goOn);
  else for (const at of valuesOfMap(bytes, start)) goOn(at);
  return true;
}

function wholeText(bytes: Buffer): FoundValue {
  return { bytes, start: 0, end: bytes.length, isInText: true };
}

/** Of duplicate names the last one counts, as in `JSON.parse`. */
function valuesOfMap(bytes: Buffer, start: number): Iterable<number> {
  const offsets = new Map<string, number>();
  readEach(bytes, start, (at) => {
    const nameEnd = stringEnd(bytes, at);
    offsets.set(stringText(bytes, at, nameEnd), nameEnd + 1);
    return valueEnd(bytes, nameEnd + 1);
  });
  return offsets.values();
}

function listOf(texts: readonly Buffer[]): Buffer {
  const parts = texts.flatMap((text, index) => (index === 0 ? [text] : [COMMA_TEXT, text]));
  return Buffer.concat([OPENING, ...parts, CLOSING]);
}

const COMMA_TEXT = Buffer.from(',');
const OPENING = Buffer.from('[');
const CLOSING = Buffer.from(']');
