/** The text violates RFC 8259. */
export class JsonSyntaxError extends Error {
  readonly offset: number;

  constructor(what: string, offset: number) {
    super(`${what} at byte ${offset}`);
    this.name = 'JsonSyntaxError';
    this.offset = offset;
  }
}

/** The first bytes of JSON values. */
export const QUOTE = 0x22;
export const OBJECT = 0x7b;
export const ARRAY = 0x5b;
export const NULL = 0x6e;

export const BACKSLASH = 0x5c;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const OBJECT_CLOSE = 0x7d;
export const ARRAY_CLOSE = 0x5d;
const LITERALS: Readonly<Record<number, string>> = { 116: 'true', 102: 'false', 110: 'null' };
const RECORD_MEMBERS = (['eventId', 'subscriptionId', 'publishStatus', 'createdOn'] as const).map((name) => ({
  name,
  quoted: Buffer.from(`"${name}"`),
}));
const ESCAPED = Buffer.from('"\\/bfnrt');
const HEX = Buffer.from('0123456789abcdefABCDEF');

/** Offsets of a record's values (service description, part 2); 0 if missing. */
export interface RecordMembers {
  /** Exact only without white space between tokens. */
  start: number;
  eventId: number;
  subscriptionId: number;
  publishStatus: number;
  createdOn: number;
}

function noMembers(): RecordMembers {
  return { start: 0, eventId: 0, subscriptionId: 0, publishStatus: 0, createdOn: 0 };
}

/** Validates every byte without building values. The bytes must be UTF-8. */
export class JsonScanner {
  readonly bytes: Buffer;
  /** True once white space between tokens was seen; the caller resets it. */
  spaced = false;
  /** Members of the last item: its own, and those of its last member that has a string `eventId`. */
  readonly top = noMembers();
  readonly holder = noMembers();
  /** The number of members that have a string `eventId`. */
  holders = 0;
  /** Depth to which members are recorded: 2 inside `item`. */
  #namedDepth = 0;
  readonly #inner = noMembers();
  #closers = new Uint8Array(64);

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  space(at: number): number {
    const { bytes } = this;
    let index = at;
    let byte = bytes[index];
    if (byte === undefined || byte > 0x20) return index;
    while (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) byte = bytes[++index];
    if (index !== at) this.spaced = true;
    return index;
  }

  /** Like `value`, but records the members of a record. */
  item(at: number): number {
    forgetMembers(this.top, at);
    this.holders = 0;
    this.#namedDepth = 2;
    const end = this.value(at);
    this.#namedDepth = 0;
    return end;
  }

  /**
   * Reads each member of an object, or each element of an array, starting there: `read` returns the offset
   * after it. Returns the offset after the end.
   */
  each(at: number, read: (at: number) => number): number {
    const { bytes } = this;
    const closer = bytes[at] === OBJECT ? OBJECT_CLOSE : ARRAY_CLOSE;
    let index = this.space(at + 1);
    if (bytes[index] === closer) return index + 1;
    for (;;) {
      index = this.space(read(index));
      if (bytes[index] === closer) return index + 1;
      if (bytes[index] !== COMMA) throw this.#noEnd(closer, index);
      index = this.space(index + 1);
    }
  }

  /** Returns the offset after the value. Not recursive, so depth is unlimited. */
  value(at: number): number {
    const { bytes } = this;
    const namedDepth = this.#namedDepth;
    let index = at;
    let depth = 0;
    for (;;) {
      const byte = bytes[index];
      if (byte === QUOTE) {
        index = this.string(index);
      } else if (byte === OBJECT) {
        index = this.space(index + 1);
        if (bytes[index] !== OBJECT_CLOSE) {
          this.#push(depth++, OBJECT_CLOSE);
          if (depth === 2) forgetMembers(this.#inner, index - 1);
          index = depth <= namedDepth ? this.#member(index, depth) : this.key(index);
          continue;
        }
        index++;
      } else if (byte === ARRAY) {
        index = this.space(index + 1);
        if (bytes[index] !== ARRAY_CLOSE) {
          this.#push(depth++, ARRAY_CLOSE);
          continue;
        }
        index++;
      } else {
        index = this.#scalar(index);
      }
      for (;;) {
        if (depth === 0) return index;
        index = this.space(index);
        const closer = this.#closers[depth - 1];
        if (bytes[index] === COMMA) {
          index = this.space(index + 1);
          if (closer === OBJECT_CLOSE)
            index = depth <= namedDepth ? this.#member(index, depth) : this.key(index);
          break;
        }
        if (bytes[index] !== closer) throw this.#noEnd(closer, index);
        if (depth === namedDepth && closer === OBJECT_CLOSE) this.#noteHolder();
        index++;
        depth--;
      }
    }
  }

  string(at: number): number {
    const { bytes } = this;
    if (bytes[at] !== QUOTE) throw this.fault('a string', at);
    let index = at + 1;
    for (;;) {
      let byte = bytes[index];
      while (byte !== undefined && byte >= 0x20 && byte !== QUOTE && byte !== BACKSLASH)
        byte = bytes[++index];
      if (byte === QUOTE) return index + 1;
      if (byte !== BACKSLASH)
        throw this.fault(byte === undefined ? 'the end of a string' : 'no raw control character', index);
      index = this.#escape(index);
    }
  }

  key(at: number): number {
    const index = this.space(this.string(at));
    if (this.bytes[index] !== COLON) throw this.fault("':'", index);
    return this.space(index + 1);
  }

  #member(at: number, depth: number): number {
    const index = this.key(at);
    const initial = this.bytes[at + 1];
    for (const { name, quoted } of RECORD_MEMBERS) {
      const mayBe = initial === quoted[1] || initial === BACKSLASH;
      if (mayBe && this.#isNamed(at, quoted, name)) (depth === 1 ? this.top : this.#inner)[name] = index;
    }
    return index;
  }

  #isNamed(at: number, quoted: Buffer, name: string): boolean {
    const { bytes } = this;
    let same = 1;
    while (same < quoted.length && bytes[at + same] === quoted[same]) same++;
    if (same === quoted.length) return true;
    return bytes[at + same] === BACKSLASH && stringText(bytes, at, this.string(at)) === name;
  }

  /** Called at the end of a nested object. List elements at this depth are not members of the item. */
  #noteHolder(): void {
    const { eventId } = this.#inner;
    if (this.#closers[0] !== OBJECT_CLOSE || eventId === 0 || this.bytes[eventId] !== QUOTE) return;
    this.holders++;
    Object.assign(this.holder, this.#inner);
  }

  fault(wanted: string, at: number): JsonSyntaxError {
    return new JsonSyntaxError(
      at >= this.bytes.length ? `the text ends where ${wanted} belongs` : `${wanted} expected`,
      at,
    );
  }

  #noEnd(closer: number | undefined, at: number): JsonSyntaxError {
    return this.fault(closer === OBJECT_CLOSE ? "',' or '}'" : "',' or ']'", at);
  }

  #push(depth: number, closer: number): void {
    if (depth === this.#closers.length) {
      const larger = new Uint8Array(depth * 2);
      larger.set(this.#closers);
      this.#closers = larger;
    }
    this.#closers[depth] = closer;
  }

  #escape(at: number): number {
    const { bytes } = this;
    if (ESCAPED.includes(bytes[at + 1] ?? 0)) return at + 2;
    if (bytes[at + 1] !== 0x75) throw this.fault('an escape', at + 1);
    for (let index = at + 2; index < at + 6; index++)
      if (!HEX.includes(bytes[index] ?? 0)) throw this.fault('four hex digits', index);
    return at + 6;
  }

  #scalar(at: number): number {
    const { bytes } = this;
    const word = (bytes[at] as number) < 0x61 ? undefined : LITERALS[bytes[at] as number];
    if (word !== undefined) {
      for (let index = 0; index < word.length; index++)
        if (bytes[at + index] !== word.charCodeAt(index)) throw this.fault(word, at + index);
      return at + word.length;
    }
    let index = bytes[at] === 0x2d ? at + 1 : at;
    if (bytes[index] === 0x30) index++;
    else index = this.#digits(index, index === at ? 'a value' : 'a digit');
    if (bytes[index] === 0x2e) index = this.#digits(index + 1, 'a digit');
    if (bytes[index] === 0x65 || bytes[index] === 0x45) {
      const sign = bytes[index + 1];
      index = this.#digits(sign === 0x2b || sign === 0x2d ? index + 2 : index + 1, 'a digit');
    }
    return index;
  }

  #digits(at: number, wanted: string): number {
    const { bytes } = this;
    let index = at;
    for (let byte = bytes[index]; byte !== undefined && byte >= 0x30 && byte <= 0x39; byte = bytes[index])
      index++;
    if (index === at) throw this.fault(wanted, at);
    return index;
  }
}

function forgetMembers(members: RecordMembers, start: number): void {
  members.start = start;
  members.eventId = 0;
  members.subscriptionId = 0;
  members.publishStatus = 0;
  members.createdOn = 0;
}

export function startsWith(bytes: Buffer, at: number, text: Buffer): boolean {
  for (let index = 0; index < text.length; index++) if (bytes[at + index] !== text[index]) return false;
  return true;
}

/** From here on a native search is faster than reading byte by byte. */
const LONG_STRING = 48;

/** Requires valid JSON. Returns the offset after the string. */
export function stringEnd(bytes: Uint8Array, at: number): number {
  const long = at + LONG_STRING;
  let index = at + 1;
  for (; index < long; index++) {
    const byte = bytes[index];
    if (byte === QUOTE) return index + 1;
    if (byte === BACKSLASH) return escapedEnd(bytes, index);
  }
  const quote = bytes.indexOf(QUOTE, index);
  return bytes[quote - 1] === BACKSLASH ? escapedEnd(bytes, index) : quote + 1;
}

/** `at` is an offset in the string, but not of an escaped character. */
function escapedEnd(bytes: Uint8Array, at: number): number {
  let index = at;
  for (;;) {
    const byte = bytes[index];
    if (byte === QUOTE) return index + 1;
    index += byte === BACKSLASH ? 2 : 1;
  }
}

/** Requires valid JSON without white space between tokens. Returns the offset after the value. */
export function valueEnd(bytes: Uint8Array, at: number): number {
  const first = bytes[at];
  if (first === QUOTE) return stringEnd(bytes, at);
  if (first !== OBJECT && first !== ARRAY) return scalarEnd(bytes, at);
  let depth = 1;
  let index = at + 1;
  while (depth > 0) {
    const byte = bytes[index];
    if (byte === QUOTE) {
      index = stringEnd(bytes, index);
      continue;
    }
    if (byte === OBJECT || byte === ARRAY) depth++;
    else if (byte === OBJECT_CLOSE || byte === ARRAY_CLOSE) depth--;
    index++;
  }
  return index;
}

/** Like `JsonScanner.each`. Requires valid JSON without white space between tokens. */
export function readEach(bytes: Uint8Array, at: number, read: (at: number) => number): number {
  let index = at + 1;
  if (bytes[index] === OBJECT_CLOSE || bytes[index] === ARRAY_CLOSE) return index + 1;
  for (;;) {
    index = read(index);
    if (bytes[index] !== COMMA) return index + 1;
    index++;
  }
}

/** Ends before a comma, a closing bracket or white space. */
export function scalarEnd(bytes: Uint8Array, at: number): number {
  let index = at + 1;
  for (; index < bytes.length; index++) {
    const byte = bytes[index];
    if (byte === COMMA || byte === OBJECT_CLOSE || byte === ARRAY_CLOSE || (byte as number) <= 0x20) break;
  }
  return index;
}

/**
 * Reads the names and scalars of valid JSON without white space between tokens, until `use` returns true.
 * Returns false if it never does. Not recursive, so depth is unlimited.
 */
export function someToken(
  bytes: Uint8Array,
  start: number,
  end: number,
  use: (at: number, to: number) => boolean,
  usePunctuation?: (byte: number) => void,
): boolean {
  let at = start;
  while (at < end) {
    const byte = bytes[at] as number;
    if (isPunctuation(byte)) {
      usePunctuation?.(byte);
      at++;
      continue;
    }
    const to = tokenEnd(bytes, at);
    if (use(at, to)) return true;
    at = to;
  }
  return false;
}

/** Like `valueEnd`, for strings, numbers and literals. */
function tokenEnd(bytes: Uint8Array, at: number): number {
  return bytes[at] === QUOTE ? stringEnd(bytes, at) : scalarEnd(bytes, at);
}

function isPunctuation(byte: number): boolean {
  const isBracket = (byte | 0x20) === 0x7b || (byte | 0x20) === 0x7d;
  return isBracket || byte === COMMA || byte === COLON;
}

/** The characters of a string; the JSON text of any other value. */
export function rawText(bytes: Buffer, start: number, end: number): string {
  return bytes[start] === QUOTE ? stringText(bytes, start, end) : bytes.toString('utf8', start, end);
}

/** Like `rawText`, but null is empty. */
export function valueText(bytes: Buffer, start: number, end: number): string {
  return bytes[start] === NULL ? '' : rawText(bytes, start, end);
}

/**
 * For people: the characters of a string, the scalars of an object or list joined by spaces (`503 Service
 * Unavailable`), `-` for null. Stops after about `longest` characters.
 */
export function scalarsText(bytes: Buffer, start: number, end: number, longest: number): string {
  const first = bytes[start];
  if (first === NULL) return '-';
  if (first !== OBJECT && first !== ARRAY) return valueText(bytes, start, end);
  if (end - start === 2) return first === OBJECT ? '{}' : '[]';
  const texts: string[] = [];
  let length = 0;
  let at = start;
  // A loop of its own: calling a function for each token costs a tenth of a table of such cells.
  while (at < end && length <= longest) {
    if (isPunctuation(bytes[at] as number)) {
      at++;
      continue;
    }
    const to = tokenEnd(bytes, at);
    const isName = bytes[to] === COLON;
    if (!isName && bytes[at] !== NULL) {
      const text = valueText(bytes, at, to);
      texts.push(text);
      length += text.length + 1;
    }
    at = to;
  }
  return texts.length > 0 ? texts.join(' ') : '-';
}

/** The offsets include the quotes. */
export function stringText(bytes: Buffer, start: number, end: number): string {
  const text = bytes.toString('utf8', start + 1, end - 1);
  return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text;
}
