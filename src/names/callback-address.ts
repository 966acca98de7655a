import { isObject } from '../items/items.ts';

/** Characters of a path segment above which it may be a secret; so may one with digits. */
const LONGEST_SEGMENT_CHARACTERS = 12;

/**
 * Returns the showable part of a callback address: its host, and the path segments unlikely to be secret,
 * with `…` for the rest. Omits user information and query. Undefined if it is not an HTTP address.
 */
export function shownAddress(callbackUrl: string): string | undefined {
  const url = httpUrl(callbackUrl);
  if (url === undefined) return undefined;
  const segments = url.pathname.split('/').filter((segment) => segment !== '');
  const shown = segments.map((segment) => (isHarmless(segment) ? segment : '…'));
  return [url.host, ...shown].join('/');
}

/** Returns a subscription with the showable part of its callback address, or null if nothing may be shown. */
export function withShownAddress(subscription: unknown): unknown {
  if (!isObject(subscription) || !('callbackUrl' in subscription)) return subscription;
  const { callbackUrl } = subscription;
  const shown = typeof callbackUrl === 'string' ? shownAddress(callbackUrl) : undefined;
  return { ...subscription, callbackUrl: shown ?? null };
}

/**
 * Returns host and path, for the person who typed the address and has to find a mistake in it. Omits user
 * information and query.
 */
export function typedAddress(callbackUrl: string): string | undefined {
  const url = httpUrl(callbackUrl);
  return url && `${url.host}${url.pathname}`;
}

/** Returns the text for searching addresses: host and path, in lower case. */
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
