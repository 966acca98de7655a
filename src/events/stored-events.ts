import { isUtf8 } from 'node:buffer';
import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import type { Context } from '../context.ts';
import { HooktrailError, ServiceError, UsageError } from '../errors.ts';
import { encodingOf } from '../files/whole-files.ts';
import { createCursor, MISSING, memberPath } from '../json/item-fields.ts';
import { Items } from '../json/items.ts';
import { JsonScanner, JsonSyntaxError, stringText } from '../json/json-scanner.ts';
import { compareInstants, parseInstant } from '../time/instant.ts';
import { parseTime } from '../time/time-text.ts';
import { type EventFilters, typePattern } from './event-filters.ts';
import type { Query } from './event-query.ts';
import { MANIFEST, type Part, readManifest } from './export/export-manifest.ts';
import { checkPart, gunzipped, PIECE_BYTES, readPart } from './export/export-parts.ts';
import { type FoundPage, mergePages } from './merge-pages.ts';

export interface StoredOptions {
  readonly limit?: number | undefined;
  readonly context: Pick<Context, 'stdin' | 'clock' | 'signal'>;
  readonly onDoubt?: ((doubt: string) => void) | undefined;
  /** Bounds that are used instead of those of the filters. */
  readonly within?: Pick<Query, 'after' | 'before'> | undefined;
}

/**
 * Reads the events that the filters choose from an export, a file of NDJSON or of a JSON array (plain or gzip), or
 * standard input (`-`), in their order there. The searches of an export become one list, and each of its files is held
 * against the manifest, read or not. Throws `UsageError` if there is no such place, and `ServiceError` that names the
 * file, and the line where there is one, if something is damaged.
 */
export async function* storedEvents(
  place: string,
  filters: EventFilters,
  { limit = Number.POSITIVE_INFINITY, context, onDoubt, within }: StoredOptions,
): AsyncGenerator<FoundPage> {
  const { signal } = context;
  const ofAnyType = filters.withTypes([], []);
  const queries = within
    ? ofAnyType
        .withoutTimes()
        .queries(0)
        .map((query) => ({ ...query, ...within }))
    : ofAnyType.queries(context.clock.now());
  if (!within) filters.requirePastStart(context.clock.now(), "this machine's");
  const matches = matcher(queries);
  const ofTypes = typeFilter(filters.eventTypes);
  const { keep } = filters;
  const { lists, checkRest } = await openPlace(place, context, onDoubt);
  const [only, another] = lists;
  const pages = only && !another ? only : mergePages(lists, () => 1, signal, onDoubt);
  let found = 0;
  for await (const { items } of pages) {
    signal.throwIfAborted();
    const matching = ofTypes(matches(items));
    const due = (keep?.(matching) ?? matching).first(limit - found);
    found += due.count;
    yield { items: due, total: undefined };
    if (found >= limit) break;
  }
  // The limit may have ended the loop.
  await checkRest?.();
  for (const doubt of keep?.doubts() ?? []) onDoubt?.(doubt);
}

interface Place {
  /** One list of pages for each search that the place holds the events of. */
  readonly lists: readonly AsyncGenerator<FoundPage>[];
  /** Holds against the manifest what was not read. Throws as the lists do. */
  readonly checkRest?: () => Promise<void>;
}

async function openPlace(
  place: string,
  { stdin, signal }: StoredOptions['context'],
  onDoubt: ((doubt: string) => void) | undefined,
): Promise<Place> {
  if (place === '-') return { lists: [pagesOfText('standard input', stdin.stream(), signal)] };
  const found = await stat(place).catch((error: NodeJS.ErrnoException) => {
    throw unreadablePlace(place, error);
  });
  if (!found.isDirectory()) return { lists: [pagesOfFile(place, signal)] };
  const manifest = await readManifest(place);
  if (!manifest) {
    throw new UsageError(`--from: ${place} holds no export: there is no ${MANIFEST}`, {
      next: 'name the directory of `hooktrail events export`, or a file of NDJSON',
    });
  }
  if (!manifest.finishedAt) onDoubt?.(`the export in ${place} is not finished: events are missing`);
  for (const { file, events, lost } of manifest.parts)
    if (lost) onDoubt?.(`${path.join(place, file)} was damaged: it has ${events} of ${lost.events} events`);
  const unchecked = new Set(manifest.parts.filter(({ sha256 }) => sha256 !== null));
  const lists = manifest.queries.map((_, query) => {
    const parts = [...unchecked].filter((part) => part.query === query);
    return pagesOfParts(place, parts, signal, (part) => unchecked.delete(part));
  });
  const checkRest = async () => {
    for (const part of unchecked) {
      signal.throwIfAborted();
      await checkPart(place, part);
    }
  };
  return { lists, checkRest };
}

function unreadablePlace(place: string, error: NodeJS.ErrnoException): HooktrailError {
  const message = `--from: ${place} cannot be read: ${error.message}`;
  if (error.code !== 'ENOENT') return new ServiceError(message, { cause: error });
  const isTime = parseTime(place) !== undefined;
  return new UsageError(isTime ? `--from: there is no file or directory '${place}'` : message, {
    next: isTime
      ? `a time goes to --since: --since '${place}'`
      : '--from takes the directory of `hooktrail events export`, a file of NDJSON or a JSON array, or - for standard input',
    cause: error,
  });
}

async function* pagesOfFile(file: string, signal: AbortSignal): AsyncGenerator<FoundPage> {
  // Opened here, since a stream reports a missing file only later.
  const handle = await open(file).catch((error: NodeJS.ErrnoException) => {
    throw unreadablePlace(file, error);
  });
  yield* pagesOfText(file, createReadStream('', { fd: handle, highWaterMark: PIECE_BYTES }), signal);
}

/** The objects in a stream of JSON text, which may be compressed. */
async function* pagesOfText(name: string, stream: Readable, signal: AbortSignal): AsyncGenerator<FoundPage> {
  try {
    for await (const items of itemsOfText(decompressed(stream), name)) {
      signal.throwIfAborted();
      yield { items, total: undefined };
    }
  } catch (error) {
    if (error instanceof HooktrailError || signal.aborted) throw error;
    throw new ServiceError(`${name} cannot be read: ${(error as Error).message}`, { cause: error });
  } finally {
    stream.destroy();
  }
}

/** The pieces of a stream, decompressed if they are gzip (RFC 1952 section 2.3.1). */
async function* decompressed(stream: Readable): AsyncGenerator<Buffer> {
  const pieces = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  let start = Buffer.alloc(0);
  while (start.length < 2) {
    const { done, value } = await pieces.next();
    if (done) break;
    start = Buffer.concat([start, value]);
  }
  const all = (async function* () {
    yield start;
    yield* { [Symbol.asyncIterator]: () => pieces };
  })();
  yield* start[0] === 0x1f && start[1] === 0x8b ? gunzipped(all) : all;
}

/** The events of parts that are as the manifest says. */
async function* pagesOfParts(
  directory: string,
  parts: readonly Part[],
  signal: AbortSignal,
  onChecked: (part: Part) => void,
): AsyncGenerator<FoundPage> {
  for (const part of parts) {
    for await (const items of readPart(directory, part)) {
      signal.throwIfAborted();
      yield { items, total: undefined };
    }
    onChecked(part);
  }
}

/** Keeps the items that match any of the searches, as the event service matches them (service description, part 4). */
function matcher(queries: readonly Query[]): (items: Items) => Items {
  const fields = ['subscriptionId', 'eventId', 'publishStatus'] as const;
  const [{ after, before } = {} as Query] = queries;
  const asked = fields.filter((field) => queries.some((query) => query[field] !== undefined));
  const isBound = after !== undefined || before !== undefined;
  if (asked.length === 0 && !isBound) return (items) => items;
  // The case of a GUID does not matter.
  const normal = (field: (typeof fields)[number], text: string) =>
    field.endsWith('Id') ? text.toLowerCase() : text;
  const accepted = new Set(
    queries.map((query) => asked.map((field) => normal(field, query[field] as string)).join('\n')),
  );
  const cursor = createCursor(['createdOn', ...asked].map(memberPath));
  const textAt = (bytes: Buffer, path: number) => {
    const start = cursor.starts[path] as number;
    return start === MISSING || bytes[start] !== 0x22
      ? undefined
      : stringText(bytes, start, cursor.ends[path] as number);
  };
  const matches = (bytes: Buffer) => {
    const values: string[] = [];
    for (const [index, field] of asked.entries()) {
      const text = textAt(bytes, index + 1);
      if (text === undefined) return false;
      values.push(normal(field, text));
    }
    if (asked.length > 0 && !accepted.has(values.join('\n'))) return false;
    if (!isBound) return true;
    const createdOn = parseInstant(textAt(bytes, 0) ?? '');
    return (
      createdOn !== undefined &&
      (after === undefined || compareInstants(createdOn, after) > 0) &&
      (before === undefined || compareInstants(createdOn, before) < 0)
    );
  };
  const mayMatch = candidates(queries);
  return (items) => {
    const kept: number[] = [];
    const isCandidate = mayMatch(items);
    for (let item = 0; item < items.count; item++) {
      if (!isCandidate(item)) continue;
      cursor.read(items.bytes, items.start(item));
      if (matches(items.bytes)) kept.push(item);
    }
    return kept.length === items.count ? items : items.pick(kept);
  };
}

/** Keeps the items of these types, in any case and with `*` for any text: here no service lists what they stand for. */
function typeFilter(types: readonly string[]): (items: Items) => Items {
  if (types.length === 0) return (items) => items;
  const patterns = types.map(typePattern);
  const answers = new Map<string, boolean>();
  const cursor = createCursor([memberPath('eventType')]);
  const isWanted = ({ bytes }: Items): boolean => {
    const [start, end] = [cursor.starts[0] as number, cursor.ends[0] as number];
    if (start === MISSING || bytes[start] !== 0x22) return false;
    const text = stringText(bytes, start, end);
    let answer = answers.get(text);
    if (answer === undefined) {
      answer = patterns.some((pattern) => pattern.test(text));
      answers.set(text, answer);
    }
    return answer;
  };
  return (items) => {
    const kept: number[] = [];
    for (let item = 0; item < items.count; item++) {
      cursor.read(items.bytes, items.start(item));
      if (isWanted(items)) kept.push(item);
    }
    return kept.length === items.count ? items : items.pick(kept);
  };
}

/**
 * For a filter by status, finds the items that may match by their bytes: they contain the value, or an escape
 * that may stand for it. The fields of other items need not be parsed.
 */
function candidates(queries: readonly Query[]): (items: Items) => (item: number) => boolean {
  const text = queries[0]?.publishStatus;
  if (text === undefined || queries.some(({ publishStatus }) => publishStatus !== text))
    return () => () => true;
  const needle = Buffer.from(text);
  return (items) => {
    const holdsText = placesOf(needle, items);
    const holdsEscape = placesOf(BACKSLASH, items);
    return (item) => holdsText(item) || holdsEscape(item);
  };
}

const BACKSLASH = Buffer.from('\\');

/** Tells which items hold some bytes; they are asked about in their order. */
function placesOf(needle: Buffer, items: Items): (item: number) => boolean {
  let next = items.bytes.indexOf(needle);
  return (item) => {
    const start = items.start(item);
    if (next !== -1 && next < start) next = items.bytes.indexOf(needle, start);
    return next !== -1 && next < items.end(item);
  };
}

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
  // An object that is not whole yet is looked at again when twice as much has come.
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
