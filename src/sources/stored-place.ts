import { type FileHandle, stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { advise, hooktrail } from '../advice.ts';
import type { Context } from '../context.ts';
import { faultText, HooktrailError, ServiceError, UsageError } from '../errors.ts';
import { gunzipped, PIECE_BYTES } from '../export/part-formats.ts';
import { openExport } from '../export/read-export.ts';
import { openPipe, openToRead, readSlice } from '../files/whole-files.ts';
import { MISSING } from '../items/field-cursor.ts';
import { memberPath } from '../items/field-path.ts';
import type { Items } from '../items/items.ts';
import { ARRAY } from '../items/json-scanner.ts';
import { createCursor } from '../items/known-fields.ts';
import type { FoundPage } from '../paging/page.ts';
import type { OnDoubt } from '../terminal/reporter.ts';
import { parseTime } from '../time/time-text.ts';
import { BYTE_ORDER_MARK, itemsOfText } from './item-text.ts';

export interface Place {
  readonly lists: readonly AsyncGenerator<FoundPage>[];
  /** An export holds each record once. */
  readonly isExport: boolean;
  readonly checkRest?: () => Promise<void>;
}

export interface PlaceOptions {
  readonly context: Pick<Context, 'stdin' | 'clock' | 'signal'>;
  readonly onDoubt?: OnDoubt | undefined;
  readonly comparesOutcomes: boolean;
}

/** `-` is standard input. Throws `UsageError` for a missing place, `ServiceError` for an unreadable one. */
export async function openPlace(place: string, options: PlaceOptions): Promise<Place> {
  const { stdin, signal } = options.context;
  if (place === '-') return placeOfText('standard input', stdin.stream(), options);
  const unreadable = (error: NodeJS.ErrnoException) => {
    throw unreadablePlace(place, error);
  };
  if ((await stat(place).catch(unreadable)).isDirectory())
    return { ...(await openExport(place, { ...options, signal })), isExport: true };
  const pipe = await openPipe(place, signal).catch(unreadable);
  if (pipe) return placeOfText(place, pipe, options);
  // A stream would report a missing file only later.
  const handle = await openToRead(place).catch(unreadable);
  if (await isParquet(handle)) return placeOfText(place, Readable.from(linesInParquet(handle)), options);
  const { size } = await handle.stat();
  const file = isGzip(await startOf(handle)) ? undefined : place;
  const stream = handle.createReadStream({ start: 0, highWaterMark: PIECE_BYTES });
  const pages = pagesOfText(place, stream, options, file);
  return { lists: [withShare(pages, () => stream.bytesRead / size)], isExport: false };
}

function placeOfText(name: string, stream: Readable, options: PlaceOptions): Place {
  return { lists: [pagesOfText(name, stream, options)], isExport: false };
}

async function* withShare(
  pages: AsyncIterable<FoundPage>,
  shareRead: () => number,
): AsyncGenerator<FoundPage> {
  for await (const page of pages) yield { ...page, share: shareRead() };
}

/** Magic number of Parquet. */
const PARQUET = 'PAR1';

export async function isParquet(handle: FileHandle): Promise<boolean> {
  return (await startOf(handle)).toString('latin1') === PARQUET;
}

/** RFC 1952, section 2.3.1. */
function isGzip(start: Buffer): boolean {
  return start[0] === 0x1f && start[1] === 0x8b;
}

async function startOf(handle: FileHandle): Promise<Buffer> {
  const start = Buffer.alloc(PARQUET.length);
  // A directory cannot be read; that is reported later.
  await handle.read(start, 0, start.length, 0).catch(() => undefined);
  return start;
}

export async function parquetFile(handle: FileHandle) {
  const { size: bytes } = await handle.stat();
  return { bytes, slice: (start: number, end: number) => readSlice(handle, start, end) };
}

async function* linesInParquet(handle: FileHandle): AsyncGenerator<Buffer> {
  const { readItemTexts } = await import('../export/parquet-files.ts');
  try {
    for await (const texts of readItemTexts(await parquetFile(handle)))
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
 * Doubts a place without deliveries, and one whose only object has a list of events. `file` is the path of a
 * file that has the text as it is.
 */
async function* pagesOfText(
  name: string,
  stream: Readable,
  { context: { signal }, comparesOutcomes, onDoubt }: PlaceOptions,
  file?: string,
): AsyncGenerator<FoundPage> {
  let objects = 0;
  let list: string | undefined;
  let hasFailed = false;
  let hasDelivered = false;
  try {
    for await (const items of itemsOfText(decompressed(stream), name, file)) {
      signal.throwIfAborted();
      if (objects === 0) {
        refuseOthers(items, name);
        list = listIn(items);
      }
      objects += items.count;
      hasFailed ||= items.bytes.includes('"FAILED"');
      hasDelivered ||= items.bytes.includes('"SUCCESS"');
      yield { items, total: undefined };
    }
    if (objects === 1 && list !== undefined)
      onDoubt?.(
        `--from: ${name} is one object with a list '${list}', and counts as one event: \`jq '.${list}[]' FILE\` takes the events out of it`,
      );
    if (comparesOutcomes && hasFailed && !hasDelivered)
      onDoubt?.(`all events of ${name} have failed: delivered ones may be missing from it`);
  } catch (error) {
    if (error instanceof HooktrailError || signal.aborted) throw error;
    throw unreadableText(name, error);
  } finally {
    stream.destroy();
  }
}

function unreadableText(name: string, error: unknown): ServiceError {
  if (error instanceof Error && error.name === 'ParquetError')
    return new ServiceError(`${name} ${error.message}`, { next: PARQUET_NEXT, cause: error });
  const isDamaged = /^Z_/.test(String((error as NodeJS.ErrnoException).code));
  const next = isDamaged ? 'the compressed data is cut or damaged: make or copy it again' : undefined;
  return new ServiceError(`${name} cannot be read: ${faultText(error)}`, { next, cause: error });
}

const PARQUET_NEXT =
  'name the directory of the export, or another copy of the file: --from takes Parquet that `events export` has written';

const TAKE_ITEMS = advise`take the events out of it, as \`jq '.items[]' FILE\` does, or ${hooktrail("api '/integrator-events?limit(1,500)' --jq .items")}`;
const OWN_FILES = new Map([
  ['hooktrail-export', ['the manifest of an export', 'name its directory instead']],
  ['hooktrail-watch', ['the state of a watch', 'name what the watch has printed with --ndjson instead']],
]);

/** Throws `ServiceError` for answers of the service (service description, part 2) and for our own files. */
function refuseOthers(items: Items, name: string): void {
  const names = ['format', 'items', 'eventId', 'href', 'count', 'limit', 'next'];
  const cursor = createCursor(names.map(memberPath));
  cursor.read(items.bytes, items.start(0));
  const [, list = MISSING, eventId, ...ofPage] = cursor.starts;
  const isBare = list - items.start(0) === '{"items":'.length && cursor.ends[1] === items.end(0) - 1;
  const isPage = items.bytes[list] === ARRAY && (isBare || ofPage.some((at) => at !== MISSING));
  const page = ["a page of the service's answer", TAKE_ITEMS];
  const [other, next] = isPage ? page : (OWN_FILES.get(cursor.text(0) ?? '') ?? []);
  if (other && eventId === MISSING) throw new ServiceError(`${name} holds ${other}, not events`, { next });
}

const LIST_NAMES = ['data', 'records', 'Records', 'events', 'items', 'results', 'value', 'messages'];

function listIn(items: Items): string | undefined {
  const cursor = createCursor(['eventId', ...LIST_NAMES].map(memberPath));
  cursor.read(items.bytes, items.start(0));
  const [eventId, ...lists] = cursor.starts;
  if (eventId !== MISSING) return undefined;
  return LIST_NAMES.find(
    (_, index) => items.bytes.toString('latin1', lists[index], (lists[index] ?? 0) + 2) === '[{',
  );
}

/** Decompresses gzip. The first piece has any byte order mark. */
export async function* decompressed(stream: Readable, flag = '--from'): AsyncGenerator<Buffer> {
  let start: Buffer = Buffer.alloc(0);
  for await (const piece of stream.iterator({ destroyOnReturn: false })) {
    start = Buffer.concat([start, piece]);
    if (start.length >= BYTE_ORDER_MARK.length) break;
  }
  if (start.toString('latin1', 0, 3) === PARQUET.slice(0, 3))
    throw new UsageError(`${flag}: Parquet is read from its end, and cannot come through a pipe`, {
      next: flag === '--from' ? 'name the file, or the directory of the export' : 'name the file',
    });
  const all = (async function* () {
    yield start;
    yield* stream;
  })();
  yield* isGzip(start) ? gunzipped(all) : all;
}
