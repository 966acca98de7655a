import { isUtf8 } from 'node:buffer';
import { open, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Readable } from 'node:stream';
import type { Context } from '../context.ts';
import { faultText, HooktrailError, ServiceError, UsageError } from '../errors.ts';
import { encodingOf, openPipe } from '../files/whole-files.ts';
import { createCursor, holdsEventsFrom, MISSING, memberPath } from '../json/item-fields.ts';
import { Items } from '../json/items.ts';
import { JsonScanner, JsonSyntaxError } from '../json/json-scanner.ts';
import { compareInstants, parseInstant } from '../time/instant.ts';
import { parseTime } from '../time/time-text.ts';
import { type EventFilters, typePattern } from './event-filters.ts';
import type { Query } from './event-query.ts';
import { MANIFEST, type Part, readManifest } from './export/export-manifest.ts';
import { checkPart, gunzipped, PIECE_BYTES, readPart } from './export/export-parts.ts';
import { mergePages } from './merge-pages.ts';
import { type FoundPage, keepPages } from './page.ts';

export interface StoredOptions {
  readonly limit?: number | undefined;
  readonly context: Pick<Context, 'stdin' | 'clock' | 'signal'>;
  readonly onDoubt?: ((doubt: string) => void) | undefined;
  /** Bounds that are used instead of those of the filters. */
  readonly within?: Pick<Query, 'after' | 'before'> | undefined;
  /** True if failed events are compared with delivered ones: an export of one status is doubted. */
  readonly comparesOutcomes?: boolean;
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
  { limit = Number.POSITIVE_INFINITY, context, onDoubt, within, comparesOutcomes = false }: StoredOptions,
): AsyncGenerator<FoundPage> {
  const now = context.clock.now();
  const ofAnyType = filters.withTypes([], []);
  const queries = within ? ofAnyType.queriesWithin(within) : ofAnyType.queries(now);
  if (!within) filters.requirePastStart(now, "this machine's");
  const matches = matcher(queries, filters.eventTypes);
  const [{ after }] = queries;
  let endsEarly: boolean | undefined;
  const needsOutcomes = comparesOutcomes || filters.statuses.length > 0;
  let isTold: boolean | undefined;
  const matching = (items: Items) => {
    if (needsOutcomes && items.count > 0) isTold ||= items.bytes.includes('"publishStatus"');
    if (after && endsEarly !== false && items.count > 0) endsEarly = !holdsEventsFrom(items, after);
    return matches(items);
  };
  const { keep } = filters;
  const { lists, checkRest } = await openPlace(place, context, onDoubt, comparesOutcomes);
  const [only, another] = lists;
  const pages = only && !another ? only : mergePages(lists, () => 1, context.signal, onDoubt);
  yield* keepPages(pages, keep ? (items) => keep(matching(items)) : matching, limit);
  // The limit may have ended the loop.
  await checkRest?.();
  if (isTold === false) onDoubt?.('--from: no event has a publishStatus: which of them failed is not known');
  if (after && endsEarly) onDoubt?.(`--from: no event is from after ${filters.zone.shown(after.text)}`);
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
  comparesOutcomes: boolean,
): Promise<Place> {
  const textOf = (name: string, stream: Readable) => ({
    lists: [pagesOfText(name, stream, signal, comparesOutcomes ? onDoubt : undefined)],
  });
  if (place === '-') return textOf('standard input', stdin.stream());
  const unreadable = (error: NodeJS.ErrnoException) => {
    throw unreadablePlace(place, error);
  };
  if (!(await stat(place).catch(unreadable)).isDirectory()) {
    const pipe = await openPipe(place, signal).catch(unreadable);
    if (pipe) return textOf(place, pipe);
    // Opened here, since a stream reports a missing file only later.
    const handle = await open(place).catch(unreadable);
    return textOf(place, handle.createReadStream({ highWaterMark: PIECE_BYTES }));
  }
  const manifest = await readManifest(place);
  if (!manifest) {
    throw new UsageError(`--from: ${place} holds no export: there is no ${MANIFEST}`, {
      next: 'name the directory of `hooktrail events export`, or a file of NDJSON',
    });
  }
  if (!manifest.finishedAt) onDoubt?.(`the export in ${place} is not finished: events are missing`);
  const statuses = [manifest.filters['status'] ?? []].flat();
  if (comparesOutcomes && statuses.length === 1)
    onDoubt?.(`the export in ${place} was made with --status ${statuses[0]}: other events are missing`);
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
  if (error.code !== 'ENOENT')
    return new ServiceError(`--from: ${place} cannot be read: ${faultText(error)}`, { cause: error });
  return new UsageError(`--from: there is no file or directory '${place}'`, {
    next:
      parseTime(place) !== undefined
        ? `a time goes to --since: --since '${place}'`
        : '--from takes the directory of `hooktrail events export`, a file of NDJSON or a JSON array, or - for standard input',
    cause: error,
  });
}

/** The objects in a stream of JSON text, which may be compressed. `onDoubt` hears that none of them was delivered. */
async function* pagesOfText(
  name: string,
  stream: Readable,
  signal: AbortSignal,
  onDoubt?: (doubt: string) => void,
): AsyncGenerator<FoundPage> {
  const seen = { FAILED: false, SUCCESS: false, any: false };
  try {
    for await (const items of itemsOfText(decompressed(stream), name)) {
      signal.throwIfAborted();
      if (!seen.any) refusePage(items, name);
      seen.any = true;
      for (const status of ['FAILED', 'SUCCESS'] as const)
        seen[status] ||= items.bytes.includes(`"${status}"`);
      yield { items, total: undefined };
    }
    if (seen.FAILED && !seen.SUCCESS)
      onDoubt?.(`all events of ${name} have failed: delivered ones may be missing from it`);
  } catch (error) {
    if (error instanceof HooktrailError || signal.aborted) throw error;
    const isDamaged = /^Z_/.test(String((error as NodeJS.ErrnoException).code));
    const next = isDamaged ? 'the compressed data is cut or damaged: make or copy it again' : undefined;
    throw new ServiceError(`${name} cannot be read: ${faultText(error)}`, { next, cause: error });
  } finally {
    stream.destroy();
  }
}

/** Throws `ServiceError` for an answer of the event service (service description, part 2), which looks like one event. */
function refusePage(items: Items, name: string): void {
  const cursor = createCursor(['items', 'href', 'eventId'].map(memberPath));
  cursor.read(items.bytes, items.start(0));
  const [list = MISSING, href, eventId] = cursor.starts;
  if (list === MISSING || items.bytes[list] !== 0x5b || href === MISSING || eventId !== MISSING) return;
  throw new ServiceError(`${name} holds a page of the service's answer, not events`, {
    next: "take the events out of it, as in `hooktrail api '/integrator-events?limit(1,500)' --jq .items`",
  });
}

/** The pieces of a stream, decompressed if they are gzip (RFC 1952 section 2.3.1). A byte order mark is in the first one. */
async function* decompressed(stream: Readable): AsyncGenerator<Buffer> {
  const pieces = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  let start = Buffer.alloc(0);
  while (start.length < BYTE_ORDER_MARK.length) {
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

/**
 * Keeps the items that match any of the searches, as the event service matches them (service description, part 4). Types
 * are taken in any case and with `*` for any text: here no service lists what they stand for.
 */
function matcher(queries: readonly Query[], types: readonly string[]): (items: Items) => Items {
  const fields = ['subscriptionId', 'eventId', 'publishStatus'] as const;
  const [{ after, before } = {} as Query] = queries;
  const asked = fields.filter((field) => queries.some((query) => query[field] !== undefined));
  const isBound = after !== undefined || before !== undefined;
  if (asked.length + types.length === 0 && !isBound) return (items) => items;
  // The case of a GUID does not matter.
  const normal = (field: (typeof fields)[number], text: string) =>
    field.endsWith('Id') ? text.toLowerCase() : text;
  const accepted = new Set(
    queries.map((query) => asked.map((field) => normal(field, query[field] as string)).join('\n')),
  );
  const patterns = types.map(typePattern);
  const cursor = createCursor(['createdOn', 'eventType', ...asked].map(memberPath));
  const matches = () => {
    const values = asked.map((field, index) => normal(field, cursor.text(index + 2) ?? ''));
    if (!accepted.has(values.join('\n'))) return false;
    const type = cursor.text(1);
    if (patterns.length > 0 && (type === undefined || !patterns.some((pattern) => pattern.test(type))))
      return false;
    if (!isBound) return true;
    const createdOn = parseInstant(cursor.text(0) ?? '');
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
      if (matches()) kept.push(item);
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
  return (items) => {
    const tests = [text, '\\'].map((needle) => placesOf(needle, items));
    return (item) => tests.some((holds) => holds(item));
  };
}

/** Tells which items hold some bytes; they are asked about in their order. */
function placesOf(needle: string, items: Items): (item: number) => boolean {
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
  #form: 'lines' | 'array' | undefined;
  /** The place in an array. */
  #behind: 'start' | 'value' | 'comma' | 'end' = 'start';
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
    const spans: number[] = [];
    const scanner = new JsonScanner(bytes);
    const used = this.#parseObjects(scanner, skipSpace(bytes, this.#begin(bytes)), spans, isEnd);
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

  /** The offset after a byte order mark and the opening bracket of an array. */
  #begin(bytes: Buffer): number {
    if (this.#form !== undefined) return 0;
    const isMarked = bytes.subarray(0, 3).equals(BYTE_ORDER_MARK);
    const first = skipSpace(bytes, isMarked ? BYTE_ORDER_MARK.length : 0);
    if (first === bytes.length) return first;
    this.#form = bytes[first] === 0x5b ? 'array' : 'lines';
    return this.isLines ? first : first + 1;
  }

  #parseObjects(scanner: JsonScanner, from: number, spans: number[], isEnd: boolean): number {
    const { bytes } = scanner;
    let at = from;
    while (at < bytes.length) {
      if (this.#form === 'array') {
        if (this.#behind === 'end') throw this.faultAt('something follows the array', bytes, at);
        const isClosed = bytes[at] === 0x5d && this.#behind !== 'comma';
        if (isClosed || (bytes[at] === 0x2c && this.#behind === 'value')) {
          this.#behind = isClosed ? 'end' : 'comma';
          at = skipSpace(bytes, at + 1);
          continue;
        }
        if (this.#behind === 'value') throw this.faultAt("',' or ']' expected", bytes, at);
      }
      // An endless text of something else is not waited for.
      if (bytes[at] !== 0x7b) throw this.#notAnObject(bytes, at);
      const end = this.isLines ? this.#lineEnd(scanner, at, isEnd) : this.#objectEnd(scanner, at);
      if (end === undefined) break;
      spans.push(at, end);
      this.#behind = 'value';
      at = skipSpace(bytes, end);
    }
    if (isEnd && this.#form === 'array' && this.#behind !== 'end')
      throw this.faultAt('the array is not closed', bytes, bytes.length);
    return at;
  }

  /** The end of an object in an array; undefined if it is not all there. */
  #objectEnd(scanner: JsonScanner, at: number): number | undefined {
    try {
      return scanner.value(at);
    } catch (error) {
      if (!(error instanceof JsonSyntaxError)) throw error;
      if (error.offset >= scanner.bytes.length) return undefined;
      throw this.faultAt('it is not JSON', scanner.bytes, error.offset, error);
    }
  }

  /** The end of an object that has a line to itself; undefined if the line is not all there. */
  #lineEnd(scanner: JsonScanner, at: number, isEnd: boolean): number | undefined {
    const { bytes } = scanner;
    const lineEnd = endOfLine(bytes, at);
    if (lineEnd === bytes.length && !isEnd) return undefined;
    let end: number;
    try {
      end = scanner.value(at);
    } catch (error) {
      if (!(error instanceof JsonSyntaxError)) throw error;
      const why = error.offset > lineEnd ? 'it is not one JSON object' : 'it is not JSON';
      throw this.faultAt(why, bytes, at, error);
    }
    // A line feed within an object is white space to the scanner.
    if (end > lineEnd || Math.min(skipSpace(bytes, end), lineEnd) < lineEnd)
      throw this.faultAt('it is not one JSON object', bytes, at);
    return end;
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

function skipSpace(bytes: Buffer, from: number): number {
  let at = from;
  while (bytes[at] === NEWLINE || bytes[at] === 0x20 || bytes[at] === 0x09 || bytes[at] === 0x0d) at++;
  return at;
}
