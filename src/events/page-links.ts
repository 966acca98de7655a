import { ServiceError } from '../errors.ts';
import type { Instant } from '../time/instant.ts';
import { encoded } from './event-query.ts';

/**
 * Returns the address that a paging link leads to, absolute or relative to the page it is on. A link that would carry
 * the token to another origin, or that holds user information, is refused with a `ServiceError` before any request.
 */
export function followed(link: string, page: URL): URL {
  const refuse = (why: string): never => {
    throw new ServiceError(`the service's link to the next page ${why}`, { details: [`link: ${link}`] });
  };
  if (!URL.canParse(link, page.href)) return refuse('is no address');
  const url = new URL(link, page);
  if (url.username !== '' || url.password !== '') return refuse('holds a user name or password');
  if (url.origin !== page.origin) return refuse(`leads away from ${page.origin}`);
  url.hash = '';
  return url;
}

/**
 * True if a page's link leads to the next item by offset. A link that `followed` refuses throws. A link whose start
 * cannot be read does not agree, since only the service knows where it leads.
 */
export function leadsTo(start: number, link: string | null | undefined, page: URL): boolean {
  if (!link) return true;
  const search = followed(link, page)
    .search.replace(/%28/gi, '(')
    .replace(/%29/gi, ')')
    .replace(/%2c/gi, ',');
  return Number(/[?&]limit\((\d+),\d+\)/.exec(search)?.[1]) === start;
}

/** The same address, limited to events created before `pin` unless it already has such a limit. */
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

/** Remembers the links of one read, and throws a `ServiceError` if they lead in a circle. */
export function loopGuard(): (url: URL) => void {
  const visited = new Set<string>();
  return (url) => {
    if (visited.has(url.href)) {
      throw new ServiceError("the service's links to the next page lead in a circle", {
        details: [`seen twice: ${url.href}`],
      });
    }
    visited.add(url.href);
  };
}
