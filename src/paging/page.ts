import { isUtf8 } from 'node:buffer';
import { setImmediate as turn } from 'node:timers/promises';
import { advise } from '../advice.ts';
import { ServiceError } from '../errors.ts';
import {
  CHECK_BASE_URL,
  describeBody,
  describeError,
  type ErrorSteps,
  type OnRetry,
  type Service,
  serviceError,
} from '../http/service.ts';
import type { HttpResponse } from '../http/transport.ts';
import { hashed } from '../items/byte-hash.ts';
import { Items, KeyedItems } from '../items/items.ts';
import { ARRAY, JsonScanner, JsonSyntaxError, NULL, OBJECT, valueEnd } from '../items/json-scanner.ts';
import { type RecordOffsets, recordOffsets } from '../items/known-fields.ts';
import { type PageRange, type Query, searchUrl } from './event-query.ts';

/** A collection in the service's answer (service description, part 2); every part may be missing. */
export interface Page {
  /** An item's key is its record's, or the hash of its whole text if the record has none. */
  readonly items: KeyedItems;
  /** True if the keys of all items are those of their records. */
  readonly byEventId: boolean;
  /** Size of the whole collection; undefined if it is missing or not a whole number. */
  readonly count: number | undefined;
  /** The next page's address; null on the last page, undefined if the service does not indicate either. */
  readonly next: string | null | undefined;
  readonly limit: number | undefined;
  /**
   * False for an object without any member of a collection (such as an error sent with status 200), or whose
   * items are not a list.
   */
  readonly isCollection: boolean;
}

/**
 * `serviceTime`: the service's clock when it answered, in milliseconds (from `Date`, RFC 9110 section 6.6.1).
 */
export interface PageAnswer {
  readonly page: Page;
  readonly serviceTime: number | undefined;
}

export type FetchPage = (url: URL, signal?: AbortSignal) => Promise<PageAnswer>;

export interface PageClient {
  readonly baseUrl: URL;
  readonly fetchPage: FetchPage;
}

interface AskedCollection extends ErrorSteps {
  readonly failure: string;
}

const SEARCH: AskedCollection = { failure: 'the search failed', ifTooMany: 'or with --concurrency 1' };
const TRIES = 3;
/** Milliseconds before the second attempt; doubled before the third. */
const RETRY_DELAY_MS = 500;

/**
 * Requests pages of a collection. A body of invalid JSON, such as one cut short by a proxy, is requested
 * again, up to 3 times in all, before it becomes a `ServiceError`.
 */
export function pageClient(
  service: Pick<Service, 'baseUrl' | 'clock' | 'send'>,
  onRetry?: OnRetry,
  asked: AskedCollection = SEARCH,
): PageClient {
  let latest = Promise.resolve();
  const answerAt = async (url: URL, signal: AbortSignal | undefined): Promise<HttpResponse> => {
    const response = await service.send({ url, ...(signal ? { signal } : {}), onRetry });
    // Answers arrive together, and undici sends the next requests in the next turn of the event loop, so only
    // one answer is parsed before that.
    latest = latest.then(() => turn());
    await latest;
    if (response.status !== 200) throw serviceError(response, asked.failure, asked);
    return response;
  };
  const fetchPage: FetchPage = async (url, signal) => {
    for (let attempt = 1; ; attempt++) {
      const response = await answerAt(url, signal);
      const page = pageOrFault(response.body);
      if (!(page instanceof JsonSyntaxError)) {
        if (!page.isCollection) throw noCollection(response);
        return { page, serviceTime: serviceTimeOf(response) };
      }
      if (attempt === TRIES) throw damaged(page, response);
      const delay = attempt * RETRY_DELAY_MS;
      onRetry?.({ reason: 'an answer that is not JSON', delay });
      await service.clock.sleep(delay, signal);
    }
  };
  return { baseUrl: service.baseUrl, fetchPage };
}

/** Calls `see` with each answer before it is returned. */
export function observed({ baseUrl, fetchPage }: PageClient, see: (answer: PageAnswer) => void): PageClient {
  return {
    baseUrl,
    fetchPage: async (url, signal) => {
      const answer = await fetchPage(url, signal);
      see(answer);
      return answer;
    },
  };
}

/** `width` is the number of concurrent requests, halved each time the service asks for fewer (429). */
export function adaptiveClient(
  service: Parameters<typeof pageClient>[0],
  maxWidth: number,
  onRetry?: OnRetry,
): { readonly client: PageClient; readonly width: () => number } {
  let width = maxWidth;
  const client = pageClient(service, (attempt) => {
    if (attempt.status === 429) width = Math.max(1, Math.floor(width / 2));
    onRetry?.(attempt);
  });
  return { client, width: () => width };
}

export function askPage(
  { baseUrl, fetchPage }: PageClient,
  query: Query,
  range: PageRange,
  signal?: AbortSignal,
): Promise<PageAnswer> {
  return fetchPage(searchUrl(baseUrl, query, range), signal);
}

function pageOrFault(body: Buffer): Page | JsonSyntaxError {
  try {
    return readPage(body);
  } catch (error) {
    if (error instanceof JsonSyntaxError) return error;
    throw error;
  }
}

/** Milliseconds from `Date` (RFC 9110 section 6.6.1); undefined if missing. */
function serviceTimeOf({ headers }: HttpResponse): number | undefined {
  const date = Date.parse(headers.date ?? '');
  return Number.isNaN(date) ? undefined : date;
}

function noCollection(response: HttpResponse): ServiceError {
  return new ServiceError('the service answered with something that is not a collection', {
    ...describeError(response),
    next: advise`try again later, or ${CHECK_BASE_URL}`,
  });
}

function damaged(error: JsonSyntaxError, response: HttpResponse): ServiceError {
  // Plain text or a proxy's page explains the fault; a truncated collection does not.
  const words = /^\s*[[{]/.test(response.body.toString('latin1', 0, 100)) ? [] : describeBody(response);
  return new ServiceError('the service answered with something that is not a collection in JSON', {
    details: [error.message, ...words],
    next: advise`try again later, or ${CHECK_BASE_URL}`,
    cause: error,
  });
}

/**
 * Returns the service's own `count` from a page of one item (service description, part 2); undefined if the
 * service gives no count or only the size of the page.
 */
export async function askCount(
  client: PageClient,
  query: Query,
  signal: AbortSignal,
): Promise<number | undefined> {
  const { page } = await askPage(client, query, { start: 1, count: 1 }, signal);
  const total = totalOf(page);
  return (total ?? 0) < page.items.count ? undefined : total;
}

/**
 * Returns the service's count of the whole collection; undefined if it gives none, or only the page's size,
 * as some services do.
 */
export function totalOf(page: Page): number | undefined {
  return page.count === page.items.count && page.next ? undefined : page.count;
}

export interface FoundPage {
  readonly items: Items;
  readonly total: number | undefined;
  /** For stored events: the part read so far, from 0 to 1, if known. */
  readonly share?: number | undefined;
}

export interface ReadPage extends FoundPage {
  readonly items: KeyedItems;
}

/** Filters the events of pages, up to a limit. With a filter the total is unknown. */
export async function* keepPages(
  pages: AsyncIterable<FoundPage>,
  keep: ((items: Items) => Items) | undefined,
  limit: number,
): AsyncGenerator<FoundPage> {
  let found = 0;
  for await (const { items, total, share } of pages) {
    const due = (keep?.(items) ?? items).first(limit - found);
    found += due.count;
    yield { items: due, total: keep ? undefined : total, share };
    if (found >= limit) return;
  }
}

/**
 * Members of the service's collections (service description, part 2); search answers require none of them.
 */
const COLLECTION = ['items', 'href', 'previous', 'first', 'next', 'count', 'limit'];

/**
 * Parses a collection. Items keep their own bytes, without white space between tokens; the whole body is
 * validated. Throws `JsonSyntaxError`.
 */
export function readPage(body: Buffer): Page {
  if (!isUtf8(body)) throw new JsonSyntaxError('text that is not UTF-8', 0);
  const scanner = new JsonScanner(body);
  const start = scanner.space(body.toString('utf8', 0, 3) === '\ufeff' ? 3 : 0);
  if (body[start] !== OBJECT) throw scanner.fault('an object', start);
  const members = new Map<string, string>();
  let list = NO_ITEMS;
  const end = scanner.each(start, (at) => {
    const name = JSON.parse(body.toString('utf8', at, scanner.string(at))) as string;
    const value = scanner.key(at);
    if (name === 'items') list = NO_ITEMS;
    if (name === 'items' && body[value] === ARRAY) {
      const { end, ...found } = readItems(scanner, value);
      list = found;
      members.set(name, '[]');
      return end;
    }
    const end = scanner.value(value);
    members.set(name, body.toString('utf8', value, end));
    return end;
  });
  const last = scanner.space(end);
  if (last !== body.length) throw scanner.fault('the end', last);
  return {
    ...list,
    count: wholeNumber(members.get('count')),
    next: link(members.get('next')),
    limit: wholeNumber(members.get('limit')),
    isCollection:
      ['[]', 'null', undefined].includes(members.get('items')) &&
      (members.size === 0 || COLLECTION.some((name) => members.has(name))),
  };
}

type FoundItems = Pick<Page, 'items' | 'byEventId'>;

const NO_ITEMS: FoundItems = { items: identified(Items.of([])), byEventId: true };

function readItems(scanner: JsonScanner, start: number): FoundItems & { readonly end: number } {
  const spans: number[] = [];
  const keys: number[] = [];
  let isSpaced = false;
  let byEventId = true;
  let hasDoubtful = false;
  const listEnd = scanner.each(start, (at) => {
    scanner.spaced = false;
    const { end, key, isOfId, isDoubtful } = identify(scanner, at);
    hasDoubtful ||= isDoubtful;
    isSpaced ||= scanner.spaced;
    byEventId &&= isOfId;
    spans.push(at, end);
    keys.push(key);
    return end;
  });
  const items = new Items(scanner.bytes, Uint32Array.from(spans));
  const compact = isSpaced ? items.compacted() : items;
  const keyed = new KeyedItems(compact, Float64Array.from(keys), hasDoubtful);
  return { items: keyed, byEventId, end: listEnd };
}

interface Identified extends Pick<RecordOffsets, 'isDoubtful'> {
  readonly end: number;
  readonly key: number;
  readonly isOfId: boolean;
}

export const DOUBTFUL_EVENT =
  'some items have an eventId in several members: ambiguous, so ignored; select one with --fields and its full path';

/**
 * Reads the item at an offset, and its key: that of the record, or the hash of its text if the `eventId` is
 * missing, null or empty.
 */
function identify(scanner: JsonScanner, at: number): Identified {
  const end = scanner.item(at);
  const identity = recordOffsets(scanner);
  const ofRecord = recordKey(scanner.bytes, identity);
  const key = ofRecord ?? hashed(scanner.bytes, at, end);
  return { end, key, isOfId: ofRecord !== undefined, isDoubtful: identity.isDoubtful };
}

/**
 * Hashes a record's `eventId` and subscription, since an event has a record for each subscription; undefined
 * if the `eventId` is missing, null or empty.
 */
export function recordKey(
  bytes: Buffer,
  { eventIdAt, subscriptionIdAt }: Pick<RecordOffsets, 'eventIdAt' | 'subscriptionIdAt'>,
): number | undefined {
  const idEnd = eventIdAt === 0 ? 0 : valueEnd(bytes, eventIdAt);
  const isOfId = idEnd - eventIdAt > '""'.length && bytes[eventIdAt] !== NULL;
  if (!isOfId) return undefined;
  const subscriptionEnd = subscriptionIdAt === 0 ? 0 : valueEnd(bytes, subscriptionIdAt);
  return hashed(bytes, eventIdAt, idEnd, subscriptionIdAt, subscriptionEnd);
}

/** Returns the items with the keys that they have on a page. */
export function identified(items: Items): KeyedItems {
  const scanner = new JsonScanner(items.bytes);
  const found = Array.from({ length: items.count }, (_, item) => identify(scanner, items.start(item)));
  const keys = Float64Array.from(found, ({ key }) => key);
  const hasDoubtful = found.some(({ isDoubtful }) => isDoubtful);
  return new KeyedItems(items, keys, hasDoubtful);
}

function wholeNumber(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value: unknown = JSON.parse(text);
  const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
  return Number.isSafeInteger(number) && (number as number) >= 0 ? (number as number) : undefined;
}

function link(text: string | undefined): string | null | undefined {
  if (text === undefined) return undefined;
  const value: unknown = JSON.parse(text);
  // Some services send an empty link if there is no next page.
  return typeof value === 'string' && value !== '' ? value : null;
}
