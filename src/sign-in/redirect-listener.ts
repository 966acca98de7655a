import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Clock } from '../context.ts';
import { type AuthorizationResponse, checkResponse, type Expected } from './authorization-response.ts';
import { type PageName, page, pageHeaders } from './redirect-page.ts';
import type { LoopbackPort } from './redirect-port.ts';

export type Answer = Extract<AuthorizationResponse, { kind: 'code' | 'refused' }>;

export interface Reception {
  /** The first redirect that is an answer to the request; whatever else comes is turned away and leaves no mark. */
  readonly answer: Promise<Answer>;
  /** Tells the browser how it ended; resolves when it was told. */
  conclude(name: PageName): Promise<void>;
}

export interface Strays {
  /** Our `state` with another issuer: worth a warning. */
  foreign(issuer: string | undefined): void;
  /** Any other request, as a short reason. */
  stray(reason: string): void;
}

/** How long a browser is kept waiting for the outcome; then it is sent back to the terminal. */
const PATIENCE = 10_000;
/** How long a browser may take to fetch the page. */
const FAREWELL = 2_000;

/** Takes the browser's redirect on the port. A duplicate of an answer waits for the same page as the answer itself. */
export function receiveRedirect(
  port: LoopbackPort,
  expected: Expected,
  strays: Strays,
  clock: Pick<Clock, 'sleep'>,
): Reception {
  const waiting = new Set<ServerResponse>();
  let accept: (answer: Answer) => void;
  const answer = new Promise<Answer>((resolve) => {
    accept = resolve;
  });
  let outcome: PageName | undefined;
  const concluded = new AbortController();

  const keepWaiting = (response: ServerResponse) => {
    if (outcome) return void send(response, outcome, clock);
    waiting.add(response);
    const done = new AbortController();
    response.on('close', () => {
      waiting.delete(response);
      done.abort();
    });
    const late = () => void send(response, 'received', clock);
    clock.sleep(PATIENCE, AbortSignal.any([done.signal, concluded.signal])).then(late, () => undefined);
  };

  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const parameters = redirectParameters(request, port.redirectUri.url);
    if (!(parameters instanceof URLSearchParams)) {
      strays.stray(parameters.reason);
      return turnAway(response, parameters.status);
    }
    const result = await checkResponse(parameters, expected);
    if (result.kind === 'code' || result.kind === 'refused') {
      // The promise takes the first; what comes after it is a reload, a prefetch or a replay.
      accept(result);
      return keepWaiting(response);
    }
    if (result.kind === 'foreign') strays.foreign(result.issuer);
    else strays.stray(result.reason);
    turnAway(response, 400);
  };

  port.onRequest((request, response) => {
    // A socket that breaks is the browser's business.
    response.on('error', () => undefined);
    void handle(request, response).catch(() => response.destroy());
  });
  return {
    answer,
    conclude: async (name) => {
      outcome = name;
      concluded.abort();
      await Promise.all([...waiting].map((response) => send(response, name, clock)));
    },
  };
}

/** Resolves when the page is sent, or cannot be: one that waits behind another request's answer is never told that. */
async function send(response: ServerResponse, name: PageName, clock: Pick<Clock, 'sleep'>): Promise<void> {
  if (response.writableEnded || response.destroyed) return;
  const closed = new AbortController();
  response.on('close', () => closed.abort());
  const body = Buffer.from(page(name));
  response.writeHead(200, { ...pageHeaders, 'content-length': body.length }).end(body);
  await clock.sleep(FAREWELL, closed.signal).catch(() => undefined);
}

const TURNED_AWAY = Buffer.from('Only the answer to a sign-in is taken here.\n');

function turnAway(response: ServerResponse, status: 400 | 404 | 405): void {
  response.writeHead(status, {
    ...pageHeaders,
    'content-type': 'text/plain; charset=utf-8',
    'content-length': TURNED_AWAY.length,
    // RFC 9110 section 15.5.6.
    ...(status === 405 ? { allow: 'GET' } : {}),
  });
  response.end(TURNED_AWAY);
}

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
