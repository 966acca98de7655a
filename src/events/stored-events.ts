import { isUtf8 } from 'node:buffer';
import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { Context } from '../context.ts';
import { HooktrailError, ServiceError, UsageError } from '../errors.ts';
import { encodingOf } from '../files/read-file.ts';
import { memberPath } from '../json/field-path.ts';
import { Items } from '../json/items.ts';
import { stringText } from '../json/json-bytes.ts';
import { createCursor, MISSING } from '../json/json-cursor.ts';
import { JsonScanner, JsonSyntaxError } from '../json/json-scanner.ts';
import { compareInstants, parseInstant } from '../time/instant.ts';
import type { EventFilters } from './event-filters.ts';
import type { Query } from './event-query.ts';
import { type FoundPage, mergePages } from './merge-pages.ts';

export interface StoredOptions {
  readonly limit?: number | undefined;
  readonly context: Pick<Context, 'stdin' | 'clock' | 'signal'>;
  readonly onDoubt?: ((doubt: string) => void) | undefined;
  /** Bounds that are used instead of those of the filters. */
  readonly within?: Pick<Query, 'after' | 'before'> | undefined;
}

/**
 * Reads the events that the filters choose from an export, a file of NDJSON (plain or gzip) or standard input (`-`), in
 * their order there. The searches of an export become one list. Throws `UsageError` if there is no such place, and
 * `ServiceError` that names file and line if a file is damaged.
 */
export async function* storedEvents(
  place: string,
  filters: EventFilters,
  { limit = Number.POSITIVE_INFINITY, context, onDoubt, within }: StoredOptions,
): AsyncGenerator<FoundPage> {
  const { signal } = context;
  const queries = within
    ? filters
        .withoutTimes()
        .queries(0)
        .map((query) => ({ ...query, ...within }))
    : filters.queries(context.clock.now());
  const matches = matcher(queries);
  const { keep } = filters;
  const lists = await listsIn(place, context, onDoubt);
  const [only, another] = lists;
  const pages = only && !another ? only : mergePages(lists, () => 1, signal, onDoubt);
  let found = 0;
  for await (const { items } of pages) {
    signal.throwIfAborted();
    const matching = matches(items);
    const due = (keep?.(matching) ?? matching).first(limit - found);
    found += due.count;
    yield { items: due, total: undefined };
    if (found >= limit) break;
  }
  for (const doubt of keep?.doubts() ?? []) onDoubt?.(doubt);
}

/** One list of pages for each search that the place holds the events of. */
async function listsIn(
  place: string,
  { stdin, signal }: StoredOptions['context'],
  onDoubt?: (doubt: string) => void,
): Promise<AsyncGenerator<FoundPage>[]> {
  if (place === '-') return [pagesOf('standard input', stdin.stream(), signal)];
  const found = await stat(place).catch((error: Error) => {
    throw new UsageError(`--from: ${place} cannot be read: ${error.message}`, { cause: error });
  });
  if (!found.isDirectory()) return [pagesOfFiles([place], signal)];
  const { MANIFEST, readManifest } = await import('./export/export-manifest.ts');
  const manifest = await readManifest(place);
  if (!manifest) {
    throw new UsageError(`--from: ${place} holds no export: there is no ${MANIFEST}`, {
      next: 'name the directory of `hooktrail events export`, or a file of NDJSON',
    });
  }
  if (!manifest.finishedAt) onDoubt?.(`the export in ${place} is not finished: events are missing`);
  return manifest.queries.map((_, query) => {
    const parts = manifest.parts.filter((part) => part.query === query && part.sha256 !== null);
    return pagesOfFiles(
      parts.map(({ file }) => path.join(place, file)),
      signal,
    );
  });
}

async function* pagesOfFiles(files: readonly string[], signal: AbortSignal): AsyncGenerator<FoundPage> {
  for (const file of files) {
    // Opened here, since a stream reports a missing file only later.
    const handle = await open(file).catch((error: Error) => {
      throw new UsageError(`--from: ${file} cannot be read: ${error.message}`, { cause: error });
    });
    yield* pagesOf(file, createReadStream('', { fd: handle, highWaterMark: PIECE }), signal);
  }
}

const PIECE = 1 << 19;
/** The maximum length of a line. */
const LONGEST_LINE = 1 << 28;

/** The lines of a stream as items. Blank lines count only as line numbers. */
async function* pagesOf(name: string, stream: Readable, signal: AbortSignal): AsyncGenerator<FoundPage> {
  let rest: Buffer = Buffer.alloc(0);
  let line = 0;
  try {
    for await (const piece of plain(stream)) {
      signal.throwIfAborted();
      const all = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
      const end = all.lastIndexOf(10) + 1;
      rest = all.subarray(end);
      if (rest.length > LONGEST_LINE) throw damaged(name, line + 1, 'it is too long');
      if (end === 0) continue;
      const { items, lines } = itemsOf(all.subarray(0, end), name, line);
      line += lines;
      yield { items, total: undefined };
    }
    if (rest.length > 0) yield { items: itemsOf(rest, name, line).items, total: undefined };
  } catch (error) {
    if (error instanceof HooktrailError || signal.aborted) throw error;
    throw new ServiceError(`${name} cannot be read: ${(error as Error).message}`, { cause: error });
  } finally {
    stream.destroy();
  }
}

/** The pieces of a stream, decompressed where they are gzip (RFC 1952 section 2.3.1). */
async function* plain(stream: Readable): AsyncGenerator<Buffer> {
  const pieces = stream[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  const { done, value: first } = await pieces.next();
  if (done) return;
  const all = async function* () {
    yield first;
    for (;;) {
      const next = await pieces.next();
      if (next.done) return;
      yield next.value;
    }
  };
  if (first[0] !== 0x1f || first[1] !== 0x8b) {
    yield* all();
    return;
  }
  const raw = Readable.from(all());
  const text = raw.pipe(createGunzip({ chunkSize: PIECE }));
  raw.on('error', (error) => text.destroy(error));
  yield* text as AsyncIterable<Buffer>;
}

/**
 * The lines of `bytes` as items. `before` is the number of lines before them. A byte order mark, which programs on Windows
 * write, is ignored (RFC 8259 section 8.1).
 */
function itemsOf(bytes: Buffer, name: string, before: number): { items: Items; lines: number } {
  const scanner = new JsonScanner(bytes);
  const spans: number[] = [];
  let lines = 0;
  let spaced = false;
  const valid = isUtf8(bytes);
  const isMarked = before === 0 && bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK);
  for (let start = isMarked ? BYTE_ORDER_MARK.length : 0; start < bytes.length; lines++) {
    const number = before + lines + 1;
    if (!valid && !isUtf8(bytes.subarray(start, lineEnd(bytes, start))))
      throw number === 1 && encodingOf(bytes) === 'utf16le'
        ? damaged(name, 1, 'it is UTF-16, which Windows PowerShell makes of it with >; use --output-file')
        : damaged(name, number, 'it is not UTF-8');
    const first = skipSpace(bytes, start);
    let end = first;
    if (first < bytes.length && bytes[first] !== NEWLINE) {
      scanner.spaced = false;
      const behind = valueEnd(scanner, first, name, number);
      end = skipSpace(bytes, behind);
      // A line feed within a value is white space to the scanner.
      const isWithinLine = !scanner.spaced || behind <= lineEnd(bytes, first);
      if (!isWithinLine || (end < bytes.length && bytes[end] !== NEWLINE))
        throw damaged(name, number, 'it is not one JSON value');
      spaced ||= scanner.spaced;
      spans.push(first, behind);
    }
    start = end + 1;
  }
  const items = new Items(bytes, spans);
  return { items: spaced ? items.compacted() : items, lines };
}

const BYTE_ORDER_MARK = Buffer.from('\ufeff');
const NEWLINE = 0x0a;

function lineEnd(bytes: Buffer, start: number): number {
  const newline = bytes.indexOf(NEWLINE, start);
  return newline === -1 ? bytes.length : newline;
}

function skipSpace(bytes: Buffer, from: number): number {
  let at = from;
  while (bytes[at] === 0x20 || bytes[at] === 0x09 || bytes[at] === 0x0d) at++;
  return at;
}

function valueEnd(scanner: JsonScanner, at: number, name: string, line: number): number {
  try {
    return scanner.value(at);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw damaged(name, line, 'it is not JSON', error);
  }
}

function damaged(name: string, line: number, why: string, cause?: unknown): ServiceError {
  return new ServiceError(`${name}, line ${line}: ${why}`, {
    next: 'events are read as one JSON value per line, as --ndjson prints them and `hooktrail events export` writes them',
    cause,
  });
}

/** Keeps the items that match any of the searches, as the event service matches them (service description, part 4). */
function matcher(queries: readonly Query[]): (items: Items) => Items {
  const fields = ['subscriptionId', 'eventId', 'publishStatus', 'eventType'] as const;
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
  const mayMatch = candidates(asked, queries);
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

/**
 * For a filter by status or type, finds the items that may match by their bytes: they contain the value, or an escape
 * that may stand for it. The fields of other items need not be parsed.
 */
function candidates(
  asked: readonly (keyof Query)[],
  queries: readonly Query[],
): (items: Items) => (item: number) => boolean {
  const field = (['publishStatus', 'eventType'] as const).find(
    (name) => asked.includes(name) && queries.every((query) => query[name] === queries[0]?.[name]),
  );
  const text = field && queries[0]?.[field];
  if (text === undefined) return () => () => true;
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
