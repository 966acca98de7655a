import { isUtf8 } from 'node:buffer';
import { type FileHandle, open, stat } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { advise, hooktrail } from '../advice.ts';
import type { Context } from '../context.ts';
import { faultText, HooktrailError, ServiceError, UsageError } from '../errors.ts';
import { encodingOf, openPipe } from '../files/whole-files.ts';
import { type EventFilters, typePattern } from '../filters/event-filters.ts';
import { unlistedText } from '../filters/event-types.ts';
import { MISSING } from '../items/field-cursor.ts';
import { memberPath } from '../items/field-path.ts';
import { createRowReader } from '../items/item-columns.ts';
import { holdsEventsFrom } from '../items/item-times.ts';
import { Items } from '../items/items.ts';
import { JsonScanner, JsonSyntaxError, valueText } from '../items/json-scanner.ts';
import { createCursor, createKnownCursor } from '../items/known-cursor.ts';
import type { Query } from '../paging/event-query.ts';
import { mergePages } from '../paging/merge-pages.ts';
import { DOUBTFUL_EVENT, type FoundPage, hashed, identified, keepPages } from '../paging/page.ts';
import { eventsText } from '../terminal/terminal-text.ts';
import { compareInstants, type Instant, parseInstant } from '../time/instant.ts';
import { parseTime } from '../time/time-text.ts';
import { MANIFEST, readManifest } from './export-manifest.ts';
import { heldBy, isSettled, lossOf, type Part } from './export-part.ts';
import { gunzipped, PIECE_BYTES } from './part-formats.ts';
import { keysReadAgain, readPart } from './part-reader.ts';

export interface StoredOptions {
  readonly limit?: number | undefined;
  readonly context: Pick<Context, 'stdin' | 'clock' | 'signal'>;
  readonly onDoubt?: ((doubt: string) => void) | undefined;
  /** Bounds that are used instead of those of the filters. */
  readonly within?: Pick<Query, 'after' | 'before'> | undefined;
  /** True if failed events are compared with delivered ones: an export of one status is doubted. */
  readonly comparesOutcomes?: boolean;
  /**
   * True if a script goes by what was found: that no event tells a status which was asked for is an error
   * then.
   */
  readonly mustTell?: boolean | undefined;
}

/**
 * Reads the events that the filters choose from an export, a file of NDJSON or of a JSON array (plain or
 * gzip), or standard input (`-`), in their order there. The searches of an export become one list, and each
 * of its files is held against the manifest, read or not. Throws `UsageError` if there is no such place, and
 * `ServiceError` that names the file, and the line where there is one, if something is damaged.
 */
export async function* storedEvents(
  place: string,
  filters: EventFilters,
  options: StoredOptions,
): AsyncGenerator<FoundPage> {
  const { limit = Number.POSITIVE_INFINITY, context, onDoubt, within, comparesOutcomes = false } = options;
  const now = context.clock.now();
  const ofAnyType = filters.withTypes([], []);
  const queries = within ? ofAnyType.queriesWithin(within) : ofAnyType.queries(now);
  if (!within) filters.requirePastStart(now, "this machine's");
  const matches = matcher(queries, filters.eventTypes);
  const [{ after }] = queries;
  let endsEarly: boolean | undefined;
  let isTold: boolean | undefined;
  let [found, undated, again] = [0, 0, 0];
  const [types, unlisted] = [new Set<string>(), new Set(filters.eventTypes)];
  const readTypes = createRowReader([memberPath('eventType')], valueText, '');
  // Read once: each reading makes another filter, and only one that has seen the events has doubts.
  const { keep } = filters;
  const choose = keep ?? ((items: Items) => items);
  const countRecords = createRecordCounter();
  let hasDoubtful = false;
  let inOtherCase = 0;
  const otherCases = filters.statuses.flatMap(otherCasesOf);
  const keepOtherCases = matcher(
    otherCases.map((publishStatus) => ({ publishStatus })),
    [],
  );
  const keepMatching = (items: Items) => {
    if (filters.statuses.length > 0 && items.count > 0) isTold ||= keepTold(items).count > 0;
    if (otherCases.some((status) => items.bytes.includes(`"${status}"`)))
      inOtherCase += keepOtherCases(items).count;
    if (after && endsEarly !== false && items.count > 0) endsEarly = !holdsEventsFrom(items, after);
    for (const [type = ''] of unlisted.size > 0 ? readTypes(items) : []) {
      if (types.has(type)) continue;
      types.add(type);
      for (const one of unlisted) if (typePattern(one).test(type)) unlisted.delete(one);
    }
    const left: number[] = [];
    const kept = choose(matches(items, left));
    if (left.length > 0) undated += choose(items.pick(left)).count;
    found += kept.count;
    // An export holds each event once.
    if (!checkRest) {
      const { repeated, doubtful } = countRecords(kept);
      again += repeated;
      hasDoubtful ||= doubtful;
    }
    return kept;
  };
  const { lists, checkRest } = await openPlace(place, context, onDoubt, comparesOutcomes);
  const [only, another] = lists;
  const pages = only && !another ? only : mergePages(lists, () => 1, context.signal, onDoubt);
  yield* keepPages(pages, keepMatching, limit);
  // The limit may have ended the loop.
  await checkRest?.();
  if (isTold === false && options.mustTell) throw new ServiceError(UNTOLD);
  if (isTold === false) onDoubt?.(UNTOLD);
  if (inOtherCase > 0)
    onDoubt?.(
      `--status: ${eventsText(inOtherCase)} left out: their publishStatus is ${otherCases.join(' or ')}, which the service does not have; --where 'publishStatus ~ ${otherCases[0]}' finds those too`,
    );
  if (after && endsEarly) onDoubt?.(`--from: no event is from after ${filters.zone.shown(after.text)}`);
  if (undated > 0 && (filters.after || filters.before))
    onDoubt?.(`${eventsText(undated)} left out: ${UNDATED}, which --since and --until need`);
  if (again > 0)
    onDoubt?.(
      `--from: ${eventsText(again)} have the eventId and subscription of an earlier one, and count again`,
    );
  if (hasDoubtful) onDoubt?.(`--from: ${DOUBTFUL_EVENT}`);
  if (found < limit) for (const type of unlisted) onDoubt?.(unlistedText(type, [...types], place));
  for (const doubt of keep?.doubts() ?? []) onDoubt?.(doubt);
}

/** A status as other programs may have written it. */
function otherCasesOf(status: string): readonly string[] {
  const lower = status.toLowerCase();
  return [lower, status.slice(0, 1) + lower.slice(1)];
}

const UNTOLD = '--from: no publishStatus is SUCCESS or FAILED: what failed is not known';
export const UNDATED = 'createdOn is missing or not a time';

/**
 * A counter of records that an earlier one had the `eventId` and subscription of; of a million different
 * ones, since they are kept. It also tells whether in any of the items several members could be the event.
 */
function createRecordCounter(): (items: Items) => { readonly repeated: number; readonly doubtful: boolean } {
  const seen = new Set<number>();
  const cursor = createKnownCursor(['eventId', 'subscriptionId'].map(memberPath));
  const { starts, ends } = cursor;
  return (items) => {
    let repeated = 0;
    let doubtful = false;
    for (let item = 0; item < items.count; item++) {
      cursor.read(items.bytes, items.start(item));
      doubtful ||= cursor.holders > 1;
      if (!cursor.text(0)) continue;
      const [id = 0, subscription = MISSING] = starts;
      const [idEnd, subscriptionEnd] = ends;
      const key =
        subscription === MISSING
          ? hashed(items.bytes, id, idEnd as number)
          : hashed(items.bytes, id, idEnd as number, subscription, subscriptionEnd);
      if (seen.has(key)) repeated++;
      else if (seen.size < 1e6) seen.add(key);
    }
    return { repeated, doubtful };
  };
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
    if (await isParquet(handle)) return textOf(place, Readable.from(linesInParquet(handle)));
    return textOf(place, handle.createReadStream({ start: 0, highWaterMark: PIECE_BYTES }));
  }
  const manifest = await readManifest(place);
  if (!manifest) {
    throw new UsageError(`--from: ${place} holds no export: there is no ${MANIFEST}`, {
      next: advise`name the directory of ${hooktrail('events export')}, or a file of NDJSON`,
    });
  }
  if (!manifest.finishedAt)
    onDoubt?.(
      `the export in ${place} is not finished: events are missing; the same \`hooktrail events export\` adds them`,
    );
  const statuses = [manifest.filters['status'] ?? []].flat();
  if (comparesOutcomes && statuses.length === 1)
    onDoubt?.(`the export in ${place} was made with --status ${statuses[0]}: other events are missing`);
  for (const part of manifest.parts) {
    const loss = lossOf(part);
    if (loss)
      onDoubt?.(
        `${path.join(place, loss.file)} was damaged: it has ${loss.held} of ${loss.heldBefore} events`,
      );
  }
  const unchecked = new Set(manifest.parts.filter(heldBy));
  const again = await keysReadAgain(place, manifest);
  const lists = manifest.queries.map((_, query) => {
    const parts = [...unchecked].filter((part) => part.query === query);
    return pagesOfParts(place, parts, again, signal, (part) => unchecked.delete(part));
  });
  const checkRest = async () => {
    for (const part of unchecked) {
      signal.throwIfAborted();
      for await (const _ of readPart(place, part));
    }
  };
  return { lists, checkRest };
}

/** The first bytes of a file of Parquet. */
const PARQUET = 'PAR1';

async function isParquet(handle: FileHandle): Promise<boolean> {
  const start = Buffer.alloc(PARQUET.length);
  // A folder cannot be read, which the reader of the text reports.
  await handle.read(start, 0, start.length, 0).catch(() => undefined);
  return start.toString('latin1') === PARQUET;
}

/** The events of a file of Parquet as NDJSON; closes the file. */
async function* linesInParquet(handle: FileHandle): AsyncGenerator<Buffer> {
  // The library is loaded where it is used.
  const { readItemTexts } = await import('./parquet-files.ts');
  try {
    const { size: byteLength } = await handle.stat();
    const slice = async (start: number, end = byteLength) => {
      const piece = Buffer.alloc(end - start);
      await handle.read(piece, 0, piece.length, start);
      return piece.buffer as ArrayBuffer;
    };
    for await (const texts of readItemTexts({ byteLength, slice }))
      yield Buffer.concat(texts.flatMap((text) => [text, LINE_END]));
  } finally {
    await handle.close();
  }
}

const LINE_END = Buffer.from('\n');

function unreadablePlace(place: string, error: NodeJS.ErrnoException): HooktrailError {
  if (error.code !== 'ENOENT')
    return new ServiceError(`--from: ${place} cannot be read: ${faultText(error)}`, { cause: error });
  return new UsageError(`--from: there is no file or directory '${place}'`, {
    next:
      parseTime(place) !== undefined
        ? `a time goes to --since: --since '${place}'`
        : advise`--from takes the directory of ${hooktrail('events export')}, a file of NDJSON or a JSON array, or - for standard input`,
    cause: error,
  });
}

/**
 * The objects in a stream of JSON text, which may be compressed. `onDoubt` hears that none of them was
 * delivered.
 */
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
      if (!seen.any) refuseOthers(items, name);
      seen.any = true;
      for (const status of ['FAILED', 'SUCCESS'] as const)
        seen[status] ||= items.bytes.includes(`"${status}"`);
      yield { items, total: undefined };
    }
    if (seen.FAILED && !seen.SUCCESS)
      onDoubt?.(`all events of ${name} have failed: delivered ones may be missing from it`);
  } catch (error) {
    if (error instanceof HooktrailError || signal.aborted) throw error;
    if (error instanceof Error && error.name === 'ParquetError')
      throw new ServiceError(`${name} ${error.message}`, { next: PARQUET_NEXT, cause: error });
    const isDamaged = /^Z_/.test(String((error as NodeJS.ErrnoException).code));
    const next = isDamaged ? 'the compressed data is cut or damaged: make or copy it again' : undefined;
    throw new ServiceError(`${name} cannot be read: ${faultText(error)}`, { next, cause: error });
  } finally {
    stream.destroy();
  }
}

const PARQUET_NEXT =
  'name the directory of the export, or another copy of the file: --from takes Parquet that `events export` has written';

const TAKE_ITEMS = advise`take the events out of it, as \`jq '.items[]' FILE\` does, or ${hooktrail("api '/integrator-events?limit(1,500)' --jq .items")}`;
/** Files of this program that look like one event, by their format. */
const OWN_FILES = new Map([
  ['hooktrail-export', ['the manifest of an export', 'name its directory instead']],
  ['hooktrail-watch', ['the state of a watch', 'name what the watch has printed with --ndjson instead']],
]);

/**
 * Throws `ServiceError` for an answer of the event service (service description, part 2), or another file of
 * this program.
 */
function refuseOthers(items: Items, name: string): void {
  const names = ['format', 'items', 'eventId', 'href', 'count', 'limit', 'next'];
  const cursor = createCursor(names.map(memberPath));
  cursor.read(items.bytes, items.start(0));
  const [, list = MISSING, eventId, ...ofPage] = cursor.starts;
  const isBare = list - items.start(0) === '{"items":'.length && cursor.ends[1] === items.end(0) - 1;
  const isPage = items.bytes[list] === 0x5b && (isBare || ofPage.some((at) => at !== MISSING));
  const page = ["a page of the service's answer", TAKE_ITEMS];
  const [other, next] = isPage ? page : (OWN_FILES.get(cursor.text(0) ?? '') ?? []);
  if (other && eventId === MISSING) throw new ServiceError(`${name} holds ${other}, not events`, { next });
}

/**
 * The pieces of a stream, decompressed if they are gzip (RFC 1952 section 2.3.1). A byte order mark is in the
 * first one.
 */
async function* decompressed(stream: Readable): AsyncGenerator<Buffer> {
  let start: Buffer = Buffer.alloc(0);
  for await (const piece of stream.iterator({ destroyOnReturn: false })) {
    start = Buffer.concat([start, piece]);
    if (start.length >= BYTE_ORDER_MARK.length) break;
  }
  // No JSON begins so.
  if (start.toString('latin1', 0, 3) === PARQUET.slice(0, 3))
    throw new UsageError('--from: Parquet is read from its end, and cannot come through a pipe', {
      next: 'name the file, or the directory of the export',
    });
  const all = (async function* () {
    yield start;
    yield* stream;
  })();
  yield* start[0] === 0x1f && start[1] === 0x8b ? gunzipped(all) : all;
}

/**
 * The events of parts that are as the manifest says. Those with the keys of `again` come from the parts of an
 * update alone.
 */
async function* pagesOfParts(
  directory: string,
  parts: readonly Part[],
  again: ReadonlySet<number> | undefined,
  signal: AbortSignal,
  onChecked: (part: Part) => void,
): AsyncGenerator<FoundPage> {
  for (const part of parts) {
    for await (const items of readPart(directory, part)) {
      signal.throwIfAborted();
      yield { items: again && isSettled(part) ? identified(items).without(again) : items, total: undefined };
    }
    onChecked(part);
  }
}

/** Stored events may have any text as their status. */
type StoredQuery = Omit<Query, 'publishStatus'> & { readonly publishStatus?: string | undefined };

/**
 * Keeps the items that match any of the searches, as the event service matches them (service description,
 * part 4). Types are taken in any case and with `*` for any text: here no service lists what they stand for.
 * Those that match but for the time, since they have none, are added to `undated`.
 */
function matcher(queries: readonly StoredQuery[], types: readonly string[]) {
  const fields = ['subscriptionId', 'eventId', 'publishStatus'] as const;
  const [{ after, before } = {} as StoredQuery] = queries;
  const asked = fields.filter((field) => queries.some((query) => query[field] !== undefined));
  const isBound = after !== undefined || before !== undefined;
  if (asked.length + types.length === 0 && !isBound) return (items: Items) => items;
  // The case of a GUID does not matter.
  const normal = (field: (typeof fields)[number], text: string) =>
    field.endsWith('Id') ? text.toLowerCase() : text;
  const accepted = new Set(
    queries.map((query) => asked.map((field) => normal(field, query[field] as string)).join('\n')),
  );
  const patterns = types.map(typePattern);
  const cursor = createCursor(['createdOn', 'eventType', ...asked].map(memberPath));
  const matchesFields = () => {
    const values = asked.map((field, index) => normal(field, cursor.text(index + 2) ?? ''));
    if (!accepted.has(values.join('\n'))) return false;
    const type = cursor.text(1);
    return patterns.length === 0 || (type !== undefined && patterns.some((pattern) => pattern.test(type)));
  };
  const isWithin = (createdOn: Instant) =>
    (after === undefined || compareInstants(createdOn, after) > 0) &&
    (before === undefined || compareInstants(createdOn, before) < 0);
  const mayMatch = candidates(queries);
  return (items: Items, undated?: number[]) => {
    const kept: number[] = [];
    const isCandidate = mayMatch(items);
    for (let item = 0; item < items.count; item++) {
      if (!isCandidate(item)) continue;
      cursor.read(items.bytes, items.start(item));
      if (!matchesFields()) continue;
      const createdOn = isBound && parseInstant(cursor.text(0) ?? '');
      if (createdOn === undefined) undated?.push(item);
      else if (!createdOn || isWithin(createdOn)) kept.push(item);
    }
    return kept.length === items.count ? items : items.pick(kept);
  };
}

/** Keeps the items that tell their outcome (service description, part 3). */
export const keepTold = matcher([{ publishStatus: 'FAILED' }, { publishStatus: 'SUCCESS' }], []);

/**
 * For a filter by status, finds the items that may match by their bytes: they contain the value, or an escape
 * that may stand for it. The fields of other items need not be parsed.
 */
function candidates(queries: readonly StoredQuery[]): (items: Items) => (item: number) => boolean {
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
 * The objects of NDJSON, or of JSON arrays one after the other, as items; either may have any number of
 * lines. Takes time linear in the text's length however it is cut into pieces. Throws `ServiceError` that
 * begins with `name` and says the line.
 */
export async function* itemsOfText(pieces: AsyncIterable<Buffer>, name: string): AsyncGenerator<Items> {
  const parser = new ItemTextParser(name);
  let held: Buffer[] = [];
  let length = 0;
  // An object that is not whole yet is looked at again when twice as much has come. Where a line ends it may
  // be whole before, and the next piece hours away: such looks may take up to four times as long as one at
  // the whole text.
  let [wanted, left] = [0, 0];
  for await (const piece of pieces) {
    held.push(piece);
    length += piece.length;
    left += 4 * piece.length;
    if (length < wanted && (piece.at(-1) !== NEWLINE || left < length)) continue;
    left -= length;
    const { items, rest } = parser.parse(Buffer.concat(held, length));
    if (rest.length > LONGEST_BYTES) throw parser.faultAt('it is longer than 32 MiB, which no event is');
    // The items belong to their reader from now on: the rest needs memory of its own.
    held = [Buffer.from(rest)];
    wanted = items.count > 0 ? 0 : 2 * rest.length;
    length = rest.length;
    if (items.count > 0) yield items;
  }
  const { items, rest } = parser.parse(Buffer.concat(held));
  if (items.count > 0) yield items;
  parser.checkEnd(rest);
}

/** The characters that may come next, outside of an object. */
const NEXT = { start: '[{', object: '{', array: '{]', value: ',]', comma: '{', end: '[' } as const;
/** What the text is in after such a character, other than one that begins an object. */
const STATE_AFTER = { '[': 'array', ',': 'comma', ']': 'end' } as const;

class ItemTextParser {
  readonly #name: string;
  #state: keyof typeof NEXT = 'start';
  /** Lines before the bytes at hand. */
  #lines = 0;

  constructor(name: string) {
    this.#name = name;
  }

  /** Takes the objects that are whole. */
  parse(bytes: Buffer): { items: Items; rest: Buffer } {
    const spans: number[] = [];
    const scanner = new JsonScanner(bytes);
    const used = this.#parseObjects(scanner, spans);
    const read = bytes.subarray(0, used);
    if (!isUtf8(read)) {
      const end = spans.findIndex((_, index) => index % 2 === 1 && !isUtf8(bytes.subarray(0, spans[index])));
      throw this.faultAt('it is not UTF-8', bytes, spans[end - 1]);
    }
    for (let at = read.indexOf(NEWLINE); at !== -1; at = read.indexOf(NEWLINE, at + 1)) this.#lines++;
    const found = new Items(read, spans);
    const items = scanner.spaced && found.count > 0 ? found.compacted() : found;
    return { items, rest: bytes.subarray(used) };
  }

  /** Throws if the text ends too early. */
  checkEnd(rest: Buffer): void {
    if (rest.length > 0) throw this.faultAt('it is cut off');
    if (['array', 'value', 'comma'].includes(this.#state)) throw this.faultAt('the array is not closed');
  }

  /** The error for what begins at a place of the bytes at hand. */
  faultAt(why: string, bytes: Buffer = Buffer.alloc(0), at = 0, cause?: unknown): ServiceError {
    const line = this.#lines + bytes.subarray(0, at).toString('latin1').split('\n').length;
    return new ServiceError(`${this.#name}, line ${line}: ${why}`, {
      next: advise`events are read as JSON objects one after the other, as --ndjson prints them and ${hooktrail('events export')} writes them, or as arrays of objects, as --json prints them; of a CSV, ${hooktrail('events get - < FILE')} reads the ids and asks the service`,
      cause,
    });
  }

  /** The offset of the first object that is not all there, or of the end. */
  #parseObjects(scanner: JsonScanner, spans: number[]): number {
    const { bytes } = scanner;
    const isMarked = this.#state === 'start' && bytes.subarray(0, 3).equals(BYTE_ORDER_MARK);
    for (let at = skipSpace(bytes, isMarked ? 3 : 0); ; at = skipSpace(bytes, at)) {
      if (at === bytes.length) return at;
      const next = String.fromCharCode(bytes[at] as number);
      if (!NEXT[this.#state].includes(next)) throw this.#unexpected(bytes, at);
      if (next === '{') {
        const end = this.#objectEnd(scanner, at);
        if (end === undefined) return at;
        spans.push(at, end);
        at = end;
        this.#state = this.#state === 'start' || this.#state === 'object' ? 'object' : 'value';
      } else {
        at++;
        this.#state = STATE_AFTER[next as keyof typeof STATE_AFTER];
      }
    }
  }

  /** The end of an object; undefined if it is not all there. */
  #objectEnd(scanner: JsonScanner, at: number): number | undefined {
    try {
      return scanner.value(at);
    } catch (error) {
      if (!(error instanceof JsonSyntaxError)) throw error;
      if (error.offset >= scanner.bytes.length) return undefined;
      // After a line that is cut off, the fault is in the next one.
      throw this.faultAt('it is not JSON', scanner.bytes, at, error);
    }
  }

  #unexpected(bytes: Buffer, at: number): ServiceError {
    if (encodingOf(bytes) === 'utf16le')
      return this.faultAt('it is UTF-16, which Windows PowerShell makes of it with >; use --output-file');
    if (this.#state === 'start' && bytes.includes(0)) return this.faultAt('it is not text; unpack it first');
    if (this.#state === 'end') return this.faultAt('something follows the array', bytes, at);
    if (this.#state === 'value') return this.faultAt("',' or ']' expected", bytes, at);
    return this.faultAt('it is not a JSON object', bytes, at);
  }
}

function skipSpace(bytes: Buffer, from: number): number {
  let at = from;
  while (bytes[at] === NEWLINE || bytes[at] === 0x20 || bytes[at] === 0x09 || bytes[at] === 0x0d) at++;
  return at;
}
