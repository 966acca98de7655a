import type { Behaviour, CollectionMember, LinkStyle } from '../options.ts';
import { itemText } from '../store/event-item.ts';
import type { EventPage } from '../store/event-store.ts';

export interface PagePosition {
  /** Absolute URL of the collection, without query. */
  readonly collection: string;
  readonly filterKeys: readonly string[];
  readonly start: number;
  readonly size: number;
}

/** A SearchIntegratorEventCollection (service description, part 2). */
export function searchAnswer(position: PagePosition, page: EventPage, behaviour: Behaviour): string {
  const links = pageLinks(position, page.count, behaviour.links);
  const members: Partial<Record<CollectionMember, unknown>> = {
    ...links,
    count: page.count,
    limit: position.size,
  };
  for (const member of behaviour.omit) delete members[member];
  const head = JSON.stringify(members).slice(0, -1);
  if (behaviour.omit.includes('items')) return `${head}}`;
  return `${head}${head.length > 1 ? ',' : ''}"items":[${page.events.map(itemText).join(',')}]}`;
}

/**
 * Returns links in the `limit(start,count)` form, which keep the filters as they were sent (service description, part
 * 4).
 */
function pageLinks(position: PagePosition, count: number, style: LinkStyle) {
  const { start, size } = position;
  const link = (from: number) => styledLink(position, style, from);
  const after = start + size;
  const next = after <= count ? link(style === 'loop' ? 1 : style === 'same-page' ? start : after) : null;
  const none = style === 'none';
  return {
    href: styledLink(position, 'absolute', start),
    previous: start > 1 && !none ? link(Math.max(1, start - size)) : null,
    first: none ? null : link(1),
    next: none ? null : next,
  };
}

function styledLink({ collection, filterKeys, size }: PagePosition, style: LinkStyle, start: number): string {
  const query = `?${[...filterKeys, `limit(${start},${size})`].join('&')}`;
  const url = new URL(collection);
  if (style === 'query-only') return query;
  if (style === 'relative') return url.pathname + query;
  if (style === 'other-origin') return `http://other.invalid${url.pathname}${query}`;
  if (style === 'user-info') return `${url.protocol}//user:password@${url.host}${url.pathname}${query}`;
  return collection + query;
}

/**
 * Indents JSON text over several lines. Its values are not parsed, so numbers, duplicate members and escapes stay as
 * they are.
 */
export function indented(json: string): string {
  let depth = 0;
  const line = () => `\n${'  '.repeat(depth)}`;
  return json.replace(/"(?:[^"\\]|\\.)*"|\{\s*\}|\[\s*\]|[{}[\],:]|\s+/gs, (token) => {
    switch (token[0]) {
      case '{':
      case '[':
        if (token.length > 1) return token;
        depth++;
        return token + line();
      case '}':
      case ']':
        depth--;
        return line() + token;
      case ',':
        return token + line();
      case ':':
        return ': ';
      case '"':
        return token;
      default:
        return '';
    }
  });
}
