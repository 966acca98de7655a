import type { IncomingMessage } from 'node:http';

/** Why a request cannot be the redirect; answered with this status and nothing else. */
export interface Refusal {
  readonly status: 400 | 404 | 405;
  readonly reason: string;
}

/** The parameters of a request that came the way a browser follows the redirect URI, or why it did not. */
export function redirectParameters(
  request: Pick<IncomingMessage, 'method' | 'url' | 'headers'>,
  redirectUri: URL,
): URLSearchParams | Refusal {
  const { method, url = '', headers } = request;
  // A browser sends the host it was told; another name that resolves to us is DNS rebinding.
  if (!hostsOf(redirectUri).includes((headers.host ?? '').toLowerCase())) {
    return { status: 400, reason: 'another Host' };
  }
  const [path, ...query] = url.split('?');
  if (path !== redirectUri.pathname) return { status: 404, reason: 'another path' };
  // HEAD comes from link previews and virus scanners: it must not use up the code.
  if (method !== 'GET') return { status: 405, reason: 'not a GET' };
  return new URLSearchParams(query.join('?'));
}

function hostsOf({ hostname, port }: URL): string[] {
  return port ? [`${hostname}:${port}`] : [hostname, `${hostname}:80`];
}
