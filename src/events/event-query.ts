import { urlText } from '../settings/setting-values.ts';
import type { Instant } from '../time/instant.ts';

/** One search of the event service; every part is optional (service description, part 4). */
export interface Query {
  /** Events created later than this. */
  readonly after?: Instant | undefined;
  /** Events created earlier than this. */
  readonly before?: Instant | undefined;
  readonly subscriptionId?: string | undefined;
  readonly eventId?: string | undefined;
  readonly publishStatus?: 'SUCCESS' | 'FAILED' | undefined;
  readonly eventType?: string | undefined;
}

/** One search or more, which together find what the filters choose. */
export type Queries = readonly [Query, ...Query[]];

/** The maximum number of items per page (service description, part 8), and the default page size of a read. */
export const PAGE_SIZE = 500;

/** A page: its first item, counted from 1, and how many items at most (1 to 500). */
export interface PageWindow {
  readonly start: number;
  readonly count: number;
}

/**
 * The query string, without `?`. Operator and argument are the parameter's name and there is no `=`; the grammar's
 * own parentheses and commas are literal, so that no value can end its argument or add a parameter.
 */
export function queryString(query: Query, page?: PageWindow): string {
  const keys: string[] = [];
  if (query.after) keys.push(`gt(createdOn,${encoded(query.after.text)})`);
  if (query.before) keys.push(`lt(createdOn,${encoded(query.before.text)})`);
  for (const field of ['subscriptionId', 'eventId', 'publishStatus', 'eventType'] as const) {
    const value = query[field];
    if (value !== undefined) keys.push(`eq(${field},${encoded(value)})`);
  }
  if (page) keys.push(`limit(${page.start},${page.count})`);
  return keys.join('&');
}

/** Percent-encodes the UTF-8 bytes of everything outside `A–Z a–z 0–9 - . _ ~ :`. */
export function encoded(value: string): string {
  let text = '';
  for (const byte of Buffer.from(value, 'utf8')) {
    const character = String.fromCharCode(byte);
    text += /[A-Za-z0-9\-._~:]/.test(character)
      ? character
      : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return text;
}

/** The address of a search under the event service's base URL. */
export function searchUrl(baseUrl: URL, query: Query, page?: PageWindow): URL {
  return endpoint(baseUrl, 'integrator-events', queryString(query, page));
}

/** A path under the base URL, whose own path is kept. */
export function endpoint(baseUrl: URL, path: string, search = ''): URL {
  return new URL(`${urlText(baseUrl)}/${path}${search && `?${search}`}`);
}
