/** Longer segments of a path, and those with digits, are taken for secrets. */
const LONGEST_SEGMENT_CHARACTERS = 12;

/**
 * The part of a callback address that may be shown: its host, and of its path the segments that are hardly a
 * secret; others are `…`. Neither user information nor a query. Undefined for a text that is no address of
 * HTTP.
 */
export function shownAddress(callbackUrl: string): string | undefined {
  const url = httpUrl(callbackUrl);
  if (url === undefined) return undefined;
  const segments = url.pathname.split('/').filter((segment) => segment !== '');
  const shown = segments.map((segment) => (isHarmless(segment) ? segment : '…'));
  return [url.host, ...shown].join('/');
}

/**
 * An address for the person who typed it: host and path whole, since only they can find the mistake in it.
 * Neither user information nor a query.
 */
export function typedAddress(callbackUrl: string): string | undefined {
  const url = httpUrl(callbackUrl);
  return url && `${url.host}${url.pathname}`;
}

/** The text in which a part of an address is looked for: host and path, in lower case. */
export function searchedAddress(callbackUrl: string): string {
  const url = httpUrl(callbackUrl);
  return url === undefined ? '' : `${url.host}${url.pathname}`.toLowerCase();
}

function httpUrl(text: string): URL | undefined {
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  return /^https?:$/.test(url.protocol) ? url : undefined;
}

function isHarmless(segment: string): boolean {
  return segment.length <= LONGEST_SEGMENT_CHARACTERS && !/[\d%]/.test(segment);
}
