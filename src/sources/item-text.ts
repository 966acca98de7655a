import { isUtf8 } from 'node:buffer';
import { advise, hooktrail } from '../advice.ts';
import { ServiceError } from '../errors.ts';
import { encodingOf } from '../files/whole-files.ts';
import { Items, KeyedItems } from '../items/items.ts';
import { JsonScanner, JsonSyntaxError } from '../items/json-scanner.ts';
import { recordOffsets } from '../items/known-fields.ts';
import { recordKey } from '../paging/page.ts';

/** Maximum length of an object, which is buffered until it is complete. */
const LONGEST_BYTES = 32 << 20;
export const BYTE_ORDER_MARK = Buffer.from('\ufeff');
const NEWLINE = 0x0a;

/**
 * Parses NDJSON or consecutive JSON arrays, in any layout, in linear time however the text is split. Throws
 * `ServiceError` that begins with `name` and gives the line. `file` is the path of a file that has this text.
 * Items without an `eventId` have no key.
 */
export async function* itemsOfText(
  pieces: AsyncIterable<Buffer>,
  name: string,
  file?: string,
): AsyncGenerator<KeyedItems> {
  const parser = new ItemTextParser(name, file);
  let held: Buffer[] = [];
  let length = 0;
  // Parse an incomplete object again only once twice as much has arrived. A piece that ends a line is the
  // exception: the object may be complete, and the next piece hours away. These extra attempts cost at most
  // four times one parse.
  let [wanted, left] = [0, 0];
  for await (const piece of pieces) {
    held.push(piece);
    length += piece.length;
    left += 4 * piece.length;
    if (length < wanted && (piece.at(-1) !== NEWLINE || left < length)) continue;
    left -= length;
    const { items, rest } = parser.parse(Buffer.concat(held, length));
    if (rest.length > LONGEST_BYTES) throw parser.faultAt('it is longer than 32 MiB, which no event is');
    // The consumer owns the items, so copy the rest.
    held = [Buffer.from(rest)];
    wanted = items.count > 0 ? 0 : 2 * rest.length;
    length = rest.length;
    if (items.count > 0) yield items;
  }
  const { items, rest } = parser.parse(Buffer.concat(held), true);
  if (items.count > 0) yield items;
  parser.checkEnd(rest);
}

/** In JSON no word character follows a brace, unlike in {GUID}. */
export function isObjectText(start: string): boolean {
  return /^\s*(?:\[\s*)*\{(?!\s*\w)/.test(start);
}

const NEXT = { start: '[{', object: '{', array: '{]', value: ',]', comma: '{', end: '[' } as const;
const WITHIN_ARRAY: ReadonlySet<keyof typeof NEXT> = new Set(['array', 'value', 'comma']);
const STATE_AFTER = { '[': 'array', ',': 'comma', ']': 'end' } as const;

interface FoundObjects {
  readonly spans: number[];
  readonly keys: number[];
  readonly fieldOffsets: number[];
  hasDoubtful: boolean;
}

function noteObject(scanner: JsonScanner, objects: FoundObjects, start: number, end: number): void {
  const offsets = recordOffsets(scanner);
  const { publishStatusAt, createdOnAt, subscriptionIdAt, eventAt, isDoubtful } = offsets;
  objects.spans.push(start, end);
  objects.keys.push(recordKey(scanner.bytes, offsets) ?? Number.NaN);
  objects.fieldOffsets.push(publishStatusAt, createdOnAt, subscriptionIdAt, eventAt);
  objects.hasDoubtful ||= isDoubtful;
}

class ItemTextParser {
  readonly #name: string;
  readonly #file: string | undefined;
  #state: keyof typeof NEXT = 'start';
  #lines = 0;
  #offset = 0;

  constructor(name: string, file: string | undefined) {
    this.#name = name;
    this.#file = file;
  }

  /** Returns the complete objects and the rest; `isEnd` if no more bytes follow. */
  parse(bytes: Buffer, isEnd = false): { items: KeyedItems; rest: Buffer } {
    const objects: FoundObjects = { spans: [], keys: [], fieldOffsets: [], hasDoubtful: false };
    const { spans } = objects;
    const scanner = new JsonScanner(bytes);
    const used = this.#parseObjects(scanner, objects, isEnd);
    const read = bytes.subarray(0, used);
    if (!isUtf8(read)) {
      const end = spans.findIndex((_, index) => index % 2 === 1 && !isUtf8(bytes.subarray(0, spans[index])));
      throw this.faultAt('it is not UTF-8', bytes, spans[end - 1]);
    }
    for (let at = read.indexOf(NEWLINE); at !== -1; at = read.indexOf(NEWLINE, at + 1)) this.#lines++;
    const origin = this.#file === undefined ? undefined : { file: this.#file, offset: this.#offset };
    const found = new Items(read, spans, objects.fieldOffsets, origin);
    const compact = scanner.spaced && found.count > 0 ? found.compacted() : found;
    const items = new KeyedItems(compact, Float64Array.from(objects.keys), objects.hasDoubtful);
    this.#offset += used;
    return { items, rest: bytes.subarray(used) };
  }

  checkEnd(rest: Buffer): void {
    if (rest.length > 0) throw this.faultAt('it is cut off');
    if (WITHIN_ARRAY.has(this.#state)) throw this.faultAt('the array is not closed');
  }

  faultAt(why: string, bytes: Buffer = Buffer.alloc(0), at = 0, cause?: unknown): ServiceError {
    const line = this.#lines + bytes.subarray(0, at).toString('latin1').split('\n').length;
    return new ServiceError(`${this.#name}, line ${line}: ${why}`, {
      next: advise`events are read as JSON objects one after the other, as --ndjson prints them and ${hooktrail('events export')} writes them, or as arrays of objects, as --json prints them; of a CSV, ${hooktrail('events get - < FILE')} reads the ids and asks the service`,
      cause,
    });
  }

  /** Returns the offset of the first incomplete object, or the end. */
  #parseObjects(scanner: JsonScanner, objects: FoundObjects, isEnd: boolean): number {
    const { bytes } = scanner;
    const cutOffFrom = isEnd ? Number.POSITIVE_INFINITY : lastLineStart(bytes);
    for (let at = this.#skipSpaceAndMark(bytes, 0); ; at = this.#skipSpaceAndMark(bytes, at)) {
      if (at === bytes.length || (!isEnd && isStartOfMark(bytes.subarray(at)))) return at;
      const next = this.#nextCharacter(bytes, at);
      if (next !== '{') {
        at++;
        this.#state = STATE_AFTER[next];
        continue;
      }
      const end = this.#isInArray || at < cutOffFrom ? this.#objectEnd(scanner, at) : undefined;
      if (end === undefined) return at;
      noteObject(scanner, objects, at, end);
      at = end;
      this.#state = this.#isInArray ? 'value' : 'object';
    }
  }

  /** Each of several concatenated files may begin with a byte order mark. */
  #skipSpaceAndMark(bytes: Buffer, from: number): number {
    const at = skipSpace(bytes, from);
    const markEnd = at + BYTE_ORDER_MARK.length;
    const isMarked = bytes[at] === BYTE_ORDER_MARK[0] && bytes.subarray(at, markEnd).equals(BYTE_ORDER_MARK);
    return isMarked && !WITHIN_ARRAY.has(this.#state) ? skipSpace(bytes, markEnd) : at;
  }

  #nextCharacter(bytes: Buffer, at: number): '{' | keyof typeof STATE_AFTER {
    const next = String.fromCharCode(bytes[at] as number);
    if (!NEXT[this.#state].includes(next)) throw this.#unexpected(bytes, at);
    return next as '{' | keyof typeof STATE_AFTER;
  }

  get #isInArray(): boolean {
    return this.#state !== 'start' && this.#state !== 'object';
  }

  #objectEnd(scanner: JsonScanner, at: number): number | undefined {
    try {
      return scanner.item(at);
    } catch (error) {
      if (!(error instanceof JsonSyntaxError)) throw error;
      if (error.offset >= scanner.bytes.length) return undefined;
      // After a truncated line, the fault is in the next one.
      throw this.faultAt('it is not JSON', scanner.bytes, at, error);
    }
  }

  #unexpected(bytes: Buffer, at: number): ServiceError {
    if (encodingOf(bytes) === 'utf16le')
      return this.faultAt('it is UTF-16, which Windows PowerShell makes of it with >; use --output-file');
    if (bytes[0] === 0xfe && bytes[1] === 0xff) return this.faultAt('it is UTF-16; write it as UTF-8');
    if (this.#state === 'start' && bytes.includes(0)) return this.faultAt('it is not text; unpack it first');
    if (this.#state === 'end') return this.faultAt('something follows the array', bytes, at);
    if (this.#state === 'value') return this.faultAt("',' or ']' expected", bytes, at);
    return this.faultAt('it is not a JSON object', bytes, at);
  }
}

/**
 * In NDJSON the last line is incomplete; skipping it is faster than scanning it. Infinity if the text is a
 * single line, which may have any number of objects.
 */
function lastLineStart(bytes: Buffer): number {
  const lineEnd = bytes.lastIndexOf(NEWLINE);
  return lineEnd === -1 ? Number.POSITIVE_INFINITY : lineEnd + 1;
}

function isStartOfMark(bytes: Buffer): boolean {
  return bytes.length < BYTE_ORDER_MARK.length && BYTE_ORDER_MARK.subarray(0, bytes.length).equals(bytes);
}

function skipSpace(bytes: Buffer, from: number): number {
  let at = from;
  while (bytes[at] === NEWLINE || bytes[at] === 0x20 || bytes[at] === 0x09 || bytes[at] === 0x0d) at++;
  return at;
}
