import { type Advice, advise, hooktrail } from '../advice.ts';
import { ServiceError } from '../errors.ts';
import { FILTER_FIELDS, type FilterField } from '../items/filter-keys.ts';
import { isLoopback, urlText } from '../settings/setting-names.ts';
import type { Instant } from '../time/instant.ts';

/** One search of the event service; every part is optional (service description, part 4). */
export interface Query extends Readonly<Partial<Record<FilterField, string | undefined>>> {
  /** Exclusive. */
  readonly after?: Instant | undefined;
  /** Exclusive. */
  readonly before?: Instant | undefined;
  readonly publishStatus?: 'SUCCESS' | 'FAILED' | undefined;
}

export type Queries = readonly [Query, ...Query[]];

/** Items per page: the maximum (service description, part 8), and the default of a read. */
export const PAGE_SIZE = 500;

/** `start`: counted from 1; `count`: 1 to 500. */
export interface PageRange {
  readonly start: number;
  readonly count: number;
}

/**
 * Returns the query string, without `?`. Operator and argument are the parameter's name and there is no `=`;
 * the grammar's own parentheses and commas are literal, so that no value can end its argument or add a
 * parameter.
 */
export function queryString(query: Query, page?: PageRange): string {
  const keys: string[] = [];
  if (query.after) keys.push(`gt(createdOn,${encoded(query.after.text)})`);
  if (query.before) keys.push(`lt(createdOn,${encoded(query.before.text)})`);
  for (const field of FILTER_FIELDS) {
    const value = query[field];
    if (value !== undefined) keys.push(`eq(${field},${encoded(value)})`);
  }
  if (page) keys.push(`limit(${page.start},${page.count})`);
  return keys.join('&');
}

/** Adds the other searches, without those that differ from a known one only in their times. */
export function addQueries(queries: readonly Query[], others: readonly Query[]): readonly Query[] {
  const keyOf = (query: Query) => queryString({ ...query, after: undefined, before: undefined });
  const known = new Set(queries.map(keyOf));
  return [...queries, ...others.filter((query) => !known.has(keyOf(query)))];
}

/** Percent-encodes the UTF-8 bytes of everything outside `A–Z a–z 0–9 - . _ ~ :`. */
export function encoded(value: string): string {
  return encodeURIComponent(value.toWellFormed())
    .replaceAll('%3A', ':')
    .replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
}

export function searchUrl(baseUrl: URL, query: Query, page?: PageRange): URL {
  return endpoint(baseUrl, 'integrator-events', queryString(query, page));
}

export function endpoint(baseUrl: URL, path: string, search = ''): URL {
  return new URL(`${urlText(baseUrl)}/${path}${search && `?${search}`}`);
}

/**
 * Resolves a paging link, absolute or relative to its page. Throws `ServiceError`, before any request, for a
 * link that would carry the token to another origin, or holds user information.
 */
export function followed(link: string, page: URL): URL {
  const refuse = (why: string, next?: Advice): never => {
    throw new ServiceError(`the service's link to the next page ${why}`, {
      details: [`link: ${link}`],
      next,
    });
  };
  if (!URL.canParse(link, page.href)) return refuse('is not an address');
  const url = new URL(link, page);
  if (url.username !== '' || url.password !== '') return refuse('holds a user name or password');
  if (url.origin !== page.origin) {
    const base = `${url.origin}${page.pathname.replace(/\/integrator-events$/, '')}`;
    const next = advise`if that is the same service, sign in there: ${hooktrail('login --base-url', base)}`;
    return refuse(
      `leads away from ${page.origin}`,
      isLoopback(url) || url.protocol === 'https:' ? next : undefined,
    );
  }
  url.hash = '';
  return url;
}

/** Returns the origin of a link that leads away from the service, such as one sent behind a TLS proxy. */
export function otherOrigin(link: string, page: URL): string | undefined {
  const origin = URL.canParse(link, page.href) ? new URL(link, page).origin : page.origin;
  return origin === page.origin ? undefined : origin;
}

/**
 * True if a page's link leads to the next item by offset, or there is no link. Throws for a link that
 * `followed` refuses. False if the link's start cannot be read, since only the service knows where it leads.
 */
export function leadsTo(start: number, link: string | null | undefined, page: URL): boolean {
  if (!link) return true;
  const search = followed(link, page)
    .search.replace(/%28/gi, '(')
    .replace(/%29/gi, ')')
    .replace(/%2c/gi, ',');
  return Number(/[?&]limit\((\d+),\d+\)/.exec(search)?.[1]) === start;
}

/** Limits an address to events created before `pin`, unless it already has such a limit. */
export function pinned(url: URL, pin: Instant | undefined): URL {
  const search = url.search.slice(1);
  if (pin === undefined || /(^|&)lt(\(|%28)createdOn/i.test(search)) return url;
  const key = `lt(createdOn,${encoded(pin.text)})`;
  const copy = new URL(url);
  copy.search = search
    .split('&')
    .flatMap((part) => (/^limit(\(|%28)/i.test(part) ? [key, part] : [part]))
    .join('&');
  if (!copy.search.includes(key)) copy.search = search === '' ? key : `${search}&${key}`;
  return copy;
}
