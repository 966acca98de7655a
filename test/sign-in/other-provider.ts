import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { onLoopback } from '../support/server.ts';

/**
 * An independent identity provider, behind a front that only maps the paths in the service description to its
 * own.
 */
export interface OtherProvider extends AsyncDisposable {
  readonly env: Readonly<Record<string, string>>;
  /** The outcome of each token request: the grant type, and `ok` or the status and body of the answer. */
  readonly grants: readonly string[];
  /** The refresh tokens that were granted, in order. */
  readonly refreshTokens: readonly string[];
  /** Acts as a person with a browser: signs in, allows the access, and follows the redirects. */
  visit(url: string | URL): Promise<void>;
}

export interface FrontRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export interface FrontAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: string;
}

export const client = { id: 'acme', secret: 's3cret & more' };

/** The server at the auth URL, whose event service at `/v1` has the path `/me`. */
export async function startFront(
  redirectUri: string,
  answer: (request: FrontRequest) => Promise<FrontAnswer>,
): Promise<Omit<OtherProvider, 'visit'> & { readonly url: string }> {
  const grants: string[] = [];
  const refreshTokens: string[] = [];
  const note = (body: string, { status, body: text }: FrontAnswer) => {
    const kind = new URLSearchParams(body).get('grant_type');
    grants.push(`${kind}: ${status === 200 ? 'ok' : `${status} ${text}`.trim()}`);
    if (status === 200) refreshTokens.push(JSON.parse(text).refresh_token);
  };
  const server = createServer(async (incoming, outgoing) => {
    const body = await text(incoming);
    const url = new URL(incoming.url ?? '/', 'http://front');
    const headers = incoming.headers as Record<string, string>;
    const answered = await answer({ method: incoming.method ?? 'GET', url, headers, body }).catch(
      (error: Error) => ({ status: 502, headers: {}, body: error.stack ?? error.message }),
    );
    if (url.pathname === '/connect/token') note(body, answered);
    outgoing.writeHead(answered.status, answered.headers);
    outgoing.end(answered.body);
  });
  const { origin: url, ...loopback } = await onLoopback(server);
  return {
    ...loopback,
    url,
    grants,
    refreshTokens,
    env: {
      HOOKTRAIL_AUTH_URL: url,
      HOOKTRAIL_BASE_URL: `${url}/v1`,
      HOOKTRAIL_VENDOR: 'acme',
      HOOKTRAIL_CLIENT_ID: client.id,
      HOOKTRAIL_CLIENT_SECRET: client.secret,
      HOOKTRAIL_REDIRECT_URI: redirectUri,
    },
  };
}
