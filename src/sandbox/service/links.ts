import type { LinkStyle } from '../behaviour.ts';

export interface Links {
  readonly href: string;
  readonly previous: string | null;
  readonly first: string | null;
  readonly next: string | null;
}

export interface PagePosition {
  /** Absolute URL of the collection, without query. */
  readonly collection: string;
  readonly filterKeys: readonly string[];
  readonly start: number;
  readonly size: number;
  /** Number of items that match. */
  readonly count: number;
}

/** Links in the `limit(start,count)` form, keeping the filters as they were sent (service description, part 4). */
export function pageLinks(position: PagePosition, style: LinkStyle): Links {
  const { start, size, count } = position;
  const link = (from: number) => styled(position, style, from);
  const after = start + size;
  const next = after <= count ? link(style === 'loop' ? 1 : style === 'same-page' ? start : after) : null;
  const none = style === 'none';
  return {
    href: styled(position, 'absolute', start),
    previous: start > 1 && !none ? link(Math.max(1, start - size)) : null,
    first: none ? null : link(1),
    next: none ? null : next,
  };
}

function styled({ collection, filterKeys, size }: PagePosition, style: LinkStyle, start: number): string {
  const query = `?${[...filterKeys, `limit(${start},${size})`].join('&')}`;
  const url = new URL(collection);
  if (style === 'query-only') return query;
  if (style === 'relative') return url.pathname + query;
  if (style === 'other-origin') return `http://other.invalid${url.pathname}${query}`;
  if (style === 'user-info') return `${url.protocol}//user:password@${url.host}${url.pathname}${query}`;
  return collection + query;
}
