import { UsageError } from '../errors.ts';
import { urlText } from '../settings/setting-values.ts';

/**
 * The address of a path under the base URL. A whole URL is taken too when it lies on the base URL's own origin; anything else
 * would carry the token away and is a `UsageError`.
 */
export function apiUrl(baseUrl: URL, path: string): URL {
  if (/^[a-z][a-z0-9+.-]*:/i.test(path) || path.startsWith('//')) {
    const url = URL.canParse(path, baseUrl.href) ? new URL(path, baseUrl.href) : undefined;
    if (url?.origin === baseUrl.origin && !url.username && !url.password) return url;
    throw new UsageError(`'${path}' is not under the event service's address`, {
      next: `give a path, or a URL that starts with ${baseUrl.origin}`,
    });
  }
  const url = new URL(`${urlText(baseUrl)}/${path.replace(/^\//, '')}`);
  url.hash = '';
  return url;
}
