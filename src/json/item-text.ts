import { isUtf8 } from 'node:buffer';
import { ServiceError } from '../errors.ts';
import { encodingOf } from '../files/read-file.ts';
import { Items } from './items.ts';
import { JsonScanner, JsonSyntaxError } from './json-scanner.ts';

/** The maximum length of an object: what waits for its end is held in memory. */
const LONGEST_BYTES = 32 << 20;
const BYTE_ORDER_MARK = Buffer.from('\ufeff');
const NEWLINE = 0x0a;

/**
 * The objects of NDJSON (one a line), or of one JSON array over any number of lines, as items. Takes time linear in the
 * text's length however it is cut into pieces. Throws `ServiceError` that begins with `name` and says the line.
 */
export async function* itemsOfText(pieces: AsyncIterable<Buffer>, name: string): AsyncGenerator<Items> {
  const parser = new ItemTextParser(name);
  let held: Buffer = Buffer.alloc(0);
  let length = 0;
  // What was not enough for an object is looked at again when twice as much has come.
  let wanted = 0;
  for await (const piece of pieces) {
    if (length + piece.length > held.length) {
      const larger = Buffer.allocUnsafe(Math.max(length + piece.length, 2 * length));
      held.copy(larger, 0, 0, length);
      held = larger;
    }
    held.set(piece, length);
    length += piece.length;
    if (length < wanted && !(parser.isLines && piece.includes(NEWLINE))) continue;
    const { items, used } = parser.parse(held.subarray(0, length), false);
    if (length - used > LONGEST_BYTES) throw parser.faultAt('it is longer than 32 MiB, which no event is');
    // The items belong to their reader from now on: the rest needs memory of its own.
    if (used > 0) held = Buffer.from(held.subarray(used, length));
    wanted = used > 0 ? 0 : 2 * length;
    length -= used;
    if (items.count > 0) yield items;
  }
  const { items } = parser.parse(held.subarray(0, length), true);
  if (items.count > 0) yield items;
}

class ItemTextParser {
  readonly #name: string;
  /** Undefined until the first byte that is not white space tells. */
  #form: 'lines' | 'array' | 'after array' | undefined;
  /** True if the next value of the array follows a comma. */
  #hasValues = false;
  /** Lines before the bytes at hand. */
  #lines = 0;

  constructor(name: string) {
    this.#name = name;
  }

  get isLines(): boolean {
    return this.#form === 'lines';
  }

  /** Takes the objects that are whole, and says how many bytes they are. At the end, everything has to be whole. */
  parse(bytes: Buffer, isEnd: boolean): { items: Items; used: number } {
    const isMarked = this.#lines === 0 && bytes.subarray(0, 3).equals(BYTE_ORDER_MARK);
    let at = this.#form === undefined && isMarked ? BYTE_ORDER_MARK.length : 0;
    if (this.#form === undefined) {
      const first = skipSpace(bytes, at);
      if (first === bytes.length) return { items: new Items(bytes, []), used: isEnd ? first : 0 };
      this.#form = bytes[first] === 0x5b ? 'array' : 'lines';
      if (this.#form === 'array') at = first + 1;
    }
    const spans: number[] = [];
    const scanner = new JsonScanner(bytes);
    const used = this.isLines
      ? this.#parseLines(scanner, at, spans, isEnd)
      : this.#parseArray(scanner, at, spans, isEnd);
    const read = bytes.subarray(0, used);
    if (!isUtf8(read)) throw this.#encodingFault(read);
    for (let at = read.indexOf(NEWLINE); at !== -1; at = read.indexOf(NEWLINE, at + 1)) this.#lines++;
    const items = new Items(read, spans);
    return { items: scanner.spaced && items.count > 0 ? items.compacted() : items, used };
  }

  /** The error for what begins at a place of the bytes at hand. */
  faultAt(why: string, bytes: Buffer = Buffer.alloc(0), at = 0, cause?: unknown): ServiceError {
    const line = this.#lines + bytes.subarray(0, at).toString('latin1').split('\n').length;
    return new ServiceError(`${this.#name}, line ${line}: ${why}`, {
      next: 'events are read as one JSON object per line, as --ndjson prints them and `hooktrail events export` writes them, or as one array of objects, as --json prints them',
      cause,
    });
  }

  #parseLines(scanner: JsonScanner, from: number, spans: number[], isEnd: boolean): number {
    const { bytes } = scanner;
    const to = isEnd ? bytes.length : bytes.lastIndexOf(NEWLINE) + 1;
    for (let start = from; start < bytes.length; ) {
      const first = skipBlanks(bytes, start);
      if (first === bytes.length) break;
      if (bytes[first] === NEWLINE) {
        start = first + 1;
        continue;
      }
      // An endless line of something else is not waited for.
      if (bytes[first] !== 0x7b) throw this.#notAnObject(bytes, first);
      if (first >= to) break;
      const lineEnd = endOfLine(bytes, first);
      const behind = this.#objectEnd(scanner, first, lineEnd);
      const end = skipBlanks(bytes, behind);
      // A line feed within an object is white space to the scanner.
      if (behind > lineEnd || end < lineEnd) throw this.faultAt('it is not one JSON object', bytes, first);
      spans.push(first, behind);
      start = lineEnd + 1;
    }
    return to;
  }

  #objectEnd(scanner: JsonScanner, first: number, lineEnd: number): number {
    try {
      return scanner.value(first);
    } catch (error) {
      if (!(error instanceof JsonSyntaxError)) throw error;
      const why = error.offset > lineEnd ? 'it is not one JSON object' : 'it is not JSON';
      throw this.faultAt(why, scanner.bytes, first, error);
    }
  }

  #parseArray(scanner: JsonScanner, from: number, spans: number[], isEnd: boolean): number {
    const { bytes } = scanner;
    let used = from;
    const waitForMore = () => {
      if (isEnd) throw this.faultAt('the array is not closed', bytes, bytes.length);
      return used;
    };
    for (;;) {
      let at = skipSpace(bytes, used);
      if (this.#form === 'after array' && at < bytes.length)
        throw this.faultAt('something follows the array', bytes, at);
      if (this.#form === 'after array') return at;
      if (at === bytes.length) return waitForMore();
      if (bytes[at] === 0x5d) {
        this.#form = 'after array';
        used = at + 1;
        continue;
      }
      if (this.#hasValues) {
        if (bytes[at] !== 0x2c) throw this.faultAt("',' or ']' expected", bytes, at);
        at = skipSpace(bytes, at + 1);
        if (at === bytes.length) return waitForMore();
      }
      if (bytes[at] !== 0x7b) throw this.#notAnObject(bytes, at);
      try {
        used = scanner.value(at);
      } catch (error) {
        if (!(error instanceof JsonSyntaxError)) throw error;
        if (error.offset >= bytes.length) return waitForMore();
        throw this.faultAt('it is not JSON', bytes, error.offset, error);
      }
      spans.push(at, used);
      this.#hasValues = true;
    }
  }

  #notAnObject(bytes: Buffer, at: number): ServiceError {
    const end = endOfLine(bytes, at);
    if (encodingOf(bytes) === 'utf16le' || (end < bytes.length && !isUtf8(bytes.subarray(at, end))))
      return this.#encodingFault(bytes);
    const isJson = /^(?:[[\d"-]|true|false|null)/.test(bytes.toString('latin1', at, at + 5));
    return this.faultAt(isJson ? 'it is not a JSON object' : 'it is not JSON', bytes, at);
  }

  #encodingFault(bytes: Buffer): ServiceError {
    if (this.#lines === 0 && encodingOf(bytes) === 'utf16le')
      return this.faultAt('it is UTF-16, which Windows PowerShell makes of it with >; use --output-file');
    let start = 0;
    while (isUtf8(bytes.subarray(start, endOfLine(bytes, start)))) start = endOfLine(bytes, start) + 1;
    return this.faultAt('it is not UTF-8', bytes, start);
  }
}

function endOfLine(bytes: Buffer, start: number): number {
  const newline = bytes.indexOf(NEWLINE, start);
  return newline === -1 ? bytes.length : newline;
}

function skipBlanks(bytes: Buffer, from: number): number {
  let at = from;
  while (bytes[at] === 0x20 || bytes[at] === 0x09 || bytes[at] === 0x0d) at++;
  return at;
}

function skipSpace(bytes: Buffer, from: number): number {
  let at = from;
  while (bytes[at] === NEWLINE || bytes[at] === 0x20 || bytes[at] === 0x09 || bytes[at] === 0x0d) at++;
  return at;
}
