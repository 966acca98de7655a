import path from 'node:path';

/**
 * A browser that follows redirects and keeps no cookies, which is enough for a sandbox that approves by
 * itself.
 */

/** The same as a command, for `HOOKTRAIL_BROWSER`. */
export const browserCommand = path.resolve(import.meta.dirname, 'browser-command.mjs');

export interface Visit {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

/** Visits the page and follows its redirects. */
export async function visit(url: string | URL): Promise<Visit> {
  const response = await fetch(url);
  return { status: response.status, headers: response.headers, body: await response.text() };
}

/** Signs in and stops before the redirect URI. Returns the URL that a browser would request next. */
export async function redirectOf(authorizeUrl: string | URL): Promise<URL> {
  const redirectUri = new URL(authorizeUrl).searchParams.get('redirect_uri') ?? '';
  let at = new URL(authorizeUrl);
  for (let hops = 0; hops < 10; hops++) {
    const response = await fetch(at, { redirect: 'manual' });
    const location = response.headers.get('location');
    if (!location) throw new Error(`no redirect from ${at}: ${response.status} ${await response.text()}`);
    at = new URL(location, at);
    if (at.href.startsWith(redirectUri)) return at;
  }
  throw new Error(`too many redirects from ${authorizeUrl}`);
}

/** Returns the URL with changed parameters; undefined removes one. */
export function changed(url: URL, parameters: Readonly<Record<string, string | undefined>>): URL {
  const copy = new URL(url);
  for (const [name, value] of Object.entries(parameters)) {
    if (value === undefined) copy.searchParams.delete(name);
    else copy.searchParams.set(name, value);
  }
  return copy;
}
