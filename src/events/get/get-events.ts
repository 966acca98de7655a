import type { Context } from '../../context.ts';
import { ServiceError, UsageError } from '../../errors.ts';
import type { Service } from '../../http/service.ts';
import { memberPath } from '../../json/field-path.ts';
import { guidsIn, notAGuid } from '../../json/guid.ts';
import { Items, type ItemWriter } from '../../json/items.ts';
import { stringText } from '../../json/json-bytes.ts';
import { createCursor, MISSING } from '../../json/json-cursor.ts';
import type { Reporter } from '../../terminal/reporter.ts';
import type { EventFilters } from '../event-filters.ts';
import { PAGE_SIZE, type Query, searchUrl } from '../event-query.ts';
import { type FetchPage, pageFetcher } from '../fetch-page.ts';
import { byServiceClock } from '../find-events.ts';
import type { FoundPage } from '../merge-pages.ts';
import { adaptiveConcurrency, readAhead } from '../read-ahead.ts';

export interface Printing {
  readonly writer: ItemWriter;
  /** Events printed together. The first batch decides a table's columns; a batch of one is printed at once. */
  readonly batch: number;
  readonly context: Pick<Context, 'clock' | 'signal'>;
  readonly reporter: Reporter;
}

export interface GetParts extends Printing {
  readonly service: Service;
  /** An event that the filters exclude counts as not found. */
  readonly filters: EventFilters;
}

/**
 * Prints the events with these ids in the order of the ids, and reports the ids that are not found. Returns the number
 * of these.
 */
export async function getAll(ids: Ids, parts: GetParts, concurrency: number): Promise<number> {
  const { service, filters, context, reporter } = parts;
  const { baseUrl } = service;
  const { keep } = filters;
  const { width, onRetry } = adaptiveConcurrency(concurrency);
  const send = pageFetcher(service, context.clock, onRetry);
  const any = (query: Query) => searchUrl(baseUrl, query, { start: 1, count: 1 });
  const { queries, fetchPage } = await byServiceClock(filters, send, any, context.clock, reporter.warning);
  const ask = (id: string, signal: AbortSignal) => getEvent(fetchPage, baseUrl, queries, id, signal);
  const found = async function* () {
    for await (const { result } of readAhead(ids, ask, width, context.signal))
      yield { id: result.id, items: keep?.(result.items) ?? result.items };
    for (const doubt of keep?.doubts() ?? []) reporter.warning(doubt);
  };
  return printAll(found(), parts);
}

/** The same for events from an export or a file: all ids are known before the events are read, in one pass. */
export async function getStored(
  ids: Ids,
  pages: AsyncIterable<FoundPage>,
  printing: Printing,
): Promise<number> {
  const wanted: string[] = [];
  for await (const id of ids(printing.context.signal)) wanted.push(id);
  const texts = new Map(wanted.map((id): [string, Buffer[]] => [id.toLowerCase(), []]));
  const cursor = createCursor([memberPath('eventId')]);
  for await (const { items } of pages) {
    for (let item = 0; item < items.count; item++) {
      cursor.read(items.bytes, items.start(item));
      const [start, end] = [cursor.starts[0] as number, cursor.ends[0] as number];
      if (start === MISSING || items.bytes[start] !== 0x22) continue;
      texts.get(stringText(items.bytes, start, end).toLowerCase())?.push(Buffer.from(items.text(item)));
    }
  }
  const found = async function* () {
    for (const id of wanted) yield { id, items: Items.of(texts.get(id.toLowerCase()) ?? []) };
  };
  return printAll(found(), printing);
}

type Ids = (ending: AbortSignal) => AsyncIterable<string>;

async function printAll(
  all: AsyncIterable<Got>,
  { writer, batch, context, reporter }: Printing,
): Promise<number> {
  let missing = 0;
  let found: Items[] = [];
  const print = async () => {
    if (found.length > 0) await writer.write(Items.of(found.flatMap((items) => items.texts())));
    found = [];
  };
  try {
    for await (const { id, items } of all) {
      if (items.count > 0) found.push(items);
      else {
        missing++;
        reporter.warning(`the event ${id} was not found`, { kind: 'not-found' });
      }
      if (found.length >= batch) await print();
    }
    await print();
  } catch (error) {
    // Events that were found before a bad line are still printed.
    if (!context.signal.aborted) await print();
    await writer.abort();
    throw error;
  }
  await writer.end();
  return missing;
}

export interface Got {
  readonly id: string;
  /** The items with the id: usually one, or none if it is not found. */
  readonly items: Items;
}

/**
 * Asks for one event by its id (service description, part 4), within each of `queries`.
 * Throws `ServiceError` where the service answers with another event.
 */
export async function getEvent(
  fetchPage: FetchPage,
  baseUrl: URL,
  queries: readonly Query[],
  id: string,
  signal: AbortSignal,
): Promise<Got> {
  let items: Items | undefined;
  for (const query of queries) {
    const url = searchUrl(baseUrl, { ...query, eventId: id }, { start: 1, count: PAGE_SIZE });
    ({ items } = (await fetchPage(url, signal)).page);
    verify(items, id);
    if (items.count > 0) break;
  }
  return { id, items: items as Items };
}

/** Items may lack an id. If an item has one, it has to be the one requested. */
function verify(items: Items, id: string): void {
  const { bytes, count } = items;
  const cursor = createCursor([memberPath('eventId')]);
  for (let item = 0; item < count; item++) {
    cursor.read(bytes, items.start(item));
    const [start, end] = [cursor.starts[0] as number, cursor.ends[0] as number];
    if (start === MISSING || bytes[start] !== 0x22) continue;
    const found = stringText(bytes, start, end);
    if (found.toLowerCase() === id.toLowerCase()) continue;
    throw new ServiceError(`the service was asked for the event ${id} and answered with ${found}`);
  }
}

/** Event ids given as arguments; all are checked before any is used. Throws `UsageError`. */
export function idsOfArguments(args: readonly string[]): readonly string[] {
  return args.map((text) => {
    if (text === '-')
      throw new UsageError('<eventId>: - reads all ids from standard input: give only -, or only ids');
    const [id, another] = guidsIn(text);
    if (id === undefined || another !== undefined) throw noId('<eventId>', text);
    return id;
  });
}

/**
 * Event ids, one per line, as the lines arrive; blank lines are skipped. `ending` stops reading, even during a wait for
 * input. Throws `UsageError` at a line that is not an id.
 */
export async function* idsOfLines(lines: AsyncIterable<string>, ending: AbortSignal): AsyncGenerator<string> {
  const source = lines[Symbol.asyncIterator]();
  const leave = () => void source.return?.();
  ending.addEventListener('abort', leave, { once: true });
  try {
    for (let number = 1; ; number++) {
      const { done, value } = await source.next();
      if (done) return;
      const text = value.trim();
      if (text === '') continue;
      const [id, another] = guidsIn(text);
      if (id === undefined || another !== undefined) throw noId(`standard input, line ${number}`, text);
      yield id;
    }
  } finally {
    ending.removeEventListener('abort', leave);
    leave();
  }
}

function noId(where: string, text: string): UsageError {
  return new UsageError(`${where}: ${notAGuid(text)}`, {
    next: where === '<eventId>' ? undefined : 'give one event id per line',
  });
}
