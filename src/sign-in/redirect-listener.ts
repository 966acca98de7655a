import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type OutgoingHttpHeaders, type ServerResponse } from 'node:http';
import type { Clock } from '../context.ts';
import { UsageError } from '../errors.ts';
import { HEADER_LIMIT_BYTES, listenOnHost, refuseUnreadable } from '../http/local-server.ts';
import { isLoopback, type RedirectUri } from '../settings/setting-names.ts';
import { terminalSafeLine } from '../terminal/terminal-text.ts';
import { type AuthorizationAnswer, checkResponse, type ExpectedRedirect, errorIn } from './authorization.ts';

/**
 * Opens sockets on loopback for the browser's redirect (RFC 8252 sections 7.3 and 8.3), on every address of
 * the redirect URI's host. Throws `UsageError` naming `--redirect-uri`.
 */
export async function listenForRedirect(redirectUri: RedirectUri) {
  const { text, url } = redirectUri;
  if (url.protocol !== 'http:' || !isLoopback(url)) {
    throw new UsageError(`--redirect-uri: ${text} does not lead back to this machine`, {
      next: 'use --paste, and paste the URL that the browser ends up at',
    });
  }
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const port = Number(url.port || 80);
  const create = () => createServer({ maxHeaderSize: HEADER_LIMIT_BYTES });
  const { servers, port: bound } = await listenOnHost({ host, port }, create).catch((error) => {
    const { code, message } = error as NodeJS.ErrnoException;
    const taken = `port ${port} of ${url.hostname} is taken by another program, such as a \`hooktrail login\` that still waits`;
    throw new UsageError(
      `cannot wait for the sign-in on ${url.host}: ${code === 'EADDRINUSE' ? taken : message}`,
      {
        next: 'give another address with --redirect-uri (it has to be registered for the client), or use --paste',
        cause: error,
      },
    );
  });
  const close = () => {
    for (const server of servers) {
      server.close();
      server.closeAllConnections();
    }
  };
  const real = new URL(url);
  real.port = String(bound);
  const actual = url.port === '0' ? { text: real.href, url: real } : redirectUri;
  return { redirectUri: actual, servers, close };
}

/** Milliseconds that a browser waits for the outcome before the page points to the terminal. */
const PATIENCE_MS = 10_000;
/** Milliseconds that a browser may take to fetch the page. */
const FAREWELL_MS = 2_000;

export interface RefusedRequest {
  /** For people: `a GET of 127.0.0.1:8976/callback with the error access_denied`. */
  readonly came: string;
  readonly reason: string;
  /** False for requests that browsers make by themselves, such as for an icon. */
  readonly isRedirect: boolean;
}

/**
 * Receives the browser's redirect. Call it once; earlier requests get no answer. `onRefused` gets each
 * request refused before the redirect. A repeated answer gets the same page as the first one.
 */
export function receiveRedirect(
  { servers, redirectUri }: Awaited<ReturnType<typeof listenForRedirect>>,
  expected: ExpectedRedirect,
  clock: Pick<Clock, 'sleep'>,
  onRefused: (request: RefusedRequest) => void,
) {
  let isAnswered = false;
  let accept: (answer: AuthorizationAnswer) => void;
  const answer = new Promise<AuthorizationAnswer>((resolve) => {
    accept = (first) => {
      isAnswered = true;
      resolve(first);
    };
  });
  const report = (refused: RefusedRequest) => {
    if (!isAnswered) onRefused(refused);
  };
  const outcome = new OutcomePage(clock);

  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const objection = objectionTo(request, redirectUri.url);
    const parameters = parametersOf(request);
    const refuse = ({ status, reason }: Refusal) => {
      const isThere = request.url?.split('?', 1)[0] === redirectUri.url.pathname;
      const isRedirect = isThere || ANSWERS.some((name) => parameters.has(name));
      report({ came: whatCame(request, parameters), reason, isRedirect });
      respond(response, status);
    };
    if (objection) return refuse(objection);
    const result = await checkResponse(parameters, expected);
    if (result.kind === 'stray') return refuse({ status: 400, reason: result.reason });
    // Only the first call resolves the promise; a later one is a reload or a replay.
    accept(result);
    await outcome.show(response);
  };

  for (const server of servers) {
    server.on('request', (request, response) => {
      // If the connection breaks, the browser shows that.
      response.on('error', () => undefined);
      void handle(request, response).catch(() => response.destroy());
    });
    refuseUnreadable(server, () => {
      const kilobytes = HEADER_LIMIT_BYTES / 1024;
      report({
        came: `a request with more than ${kilobytes} KB of headers`,
        reason: `delete the cookies that the browser has for ${redirectUri.url.hostname}`,
        isRedirect: true,
      });
    });
  }
  return {
    /** The first redirect that answers the request; any other request is rejected and changes nothing. */
    answer,
    conclude: (name: PageName, issuer?: string) => outcome.conclude(name, issuer),
  };
}

/** The browser's answer, which waits for the outcome of the sign-in. */
class OutcomePage {
  readonly #clock: Pick<Clock, 'sleep'>;
  readonly #showing: Promise<void>[] = [];
  readonly #concluded = new AbortController();
  readonly #shown = new AbortController();
  #text: string | undefined;

  constructor(clock: Pick<Clock, 'sleep'>) {
    this.#clock = clock;
  }

  /** Sends the outcome once it is known, or after a while a page that it is still to come. */
  async show(response: ServerResponse): Promise<void> {
    const sent = this.#send(response);
    this.#showing.push(sent);
    await sent;
  }

  /**
   * Shows the outcome in the browser; for `foreign`, with the issuer received. Resolves when the page is
   * sent, including to a browser that reloads it meanwhile.
   */
  async conclude(name: PageName, issuer?: string): Promise<void> {
    this.#text = page(name, issuer);
    this.#concluded.abort();
    await Promise.allSettled(this.#showing);
    if (this.#showing.length > 0 && !this.#shown.signal.aborted)
      await this.#clock.sleep(FAREWELL_MS, this.#shown.signal).catch(() => undefined);
  }

  async #send(response: ServerResponse): Promise<void> {
    const due = AbortSignal.any([closing(response), this.#concluded.signal]);
    await this.#clock.sleep(PATIENCE_MS, due).catch(() => undefined);
    if (response.destroyed) return;
    respond(response, 200, this.#text ?? page('received'));
    // A response queued after another one may never close.
    await this.#clock.sleep(FAREWELL_MS, closing(response)).catch(() => undefined);
    if (response.writableFinished) this.#shown.abort();
  }
}

function closing(response: ServerResponse): AbortSignal {
  const closed = new AbortController();
  response.once('close', () => closed.abort());
  return closed.signal;
}

function respond(response: ServerResponse, status: 200 | Refusal['status'], content?: string): void {
  const body = Buffer.from(content ?? 'Only the answer to a sign-in is accepted here.\n');
  response.writeHead(status, {
    ...pageHeaders,
    ...(content === undefined ? { 'content-type': 'text/plain; charset=utf-8' } : {}),
    'content-length': body.length,
    // RFC 9110 section 15.5.6.
    ...(status === 405 ? { allow: 'GET' } : {}),
  });
  response.end(body);
}

/** Headers that mark a prefetch: the standard one, and older ones. */
const PREFETCHES = ['sec-purpose', 'purpose', 'x-purpose', 'x-moz'];

interface Refusal {
  readonly status: 400 | 404 | 405;
  readonly reason: string;
}

function objectionTo(
  { method, url = '', headers }: Pick<IncomingMessage, 'method' | 'url' | 'headers'>,
  { pathname, hostname, port, host }: URL,
): Refusal | undefined {
  const refuse = (status: Refusal['status'], reason: string): Refusal => ({ status, reason });
  // A browser sends the host of the redirect URI. Another name that resolves to this machine is DNS
  // rebinding.
  const hosts = port ? [`${hostname}:${port}`] : [hostname, `${hostname}:80`];
  if (!hosts.includes(String(headers.host).toLowerCase()))
    return refuse(400, `its host is not ${host} (--redirect-uri)`);
  if (url.split('?', 1)[0] !== pathname) return refuse(404, `its path is not ${pathname} (--redirect-uri)`);
  // A prefetch may never be shown, and would leave the person's own request without an answer.
  if (PREFETCHES.some((name) => /\bpre(fetch|render|view)\b/i.test(String(headers[name]))))
    return refuse(400, 'a prefetch is not the answer');
  // HEAD comes from link previews and virus scanners: it must not use up the code.
  return method === 'GET' ? undefined : refuse(405, 'the answer has to be a GET (response_mode=query)');
}

function parametersOf({ url = '' }: Pick<IncomingMessage, 'url'>): URLSearchParams {
  return new URLSearchParams(url.split('?').slice(1).join('?'));
}

const ANSWERS = ['code', 'error', 'state'];

/** Characters shown of a stranger's request. */
const SHOWN_CHARACTERS = 100;

/** Describes a request for people, without codes and states. */
function whatCame(
  { method = '', url = '', headers }: Pick<IncomingMessage, 'method' | 'url' | 'headers'>,
  parameters: URLSearchParams,
): string {
  const error = errorIn(parameters);
  const [path = ''] = url.split('?', 1);
  const address = terminalSafeLine(`${headers.host ?? ''}${path}`.slice(0, SHOWN_CHARACTERS));
  return `a ${method} of ${address}${error === undefined ? '' : ` with the error ${error}`}`;
}

/**
 * Shown in the browser. The page contains nothing of a request, except the issuer of one with our `state`.
 */
export type PageName = 'signedIn' | 'failed' | 'refused' | 'foreign' | 'received';

const texts: {
  readonly [Name in PageName]: readonly [mood: 'good' | 'bad' | 'busy', title: string, text: string];
} = {
  signedIn: ['good', 'Signed in', 'You can close this tab and go back to the terminal.'],
  failed: ['bad', 'Not signed in', 'Something went wrong. The terminal says what.'],
  refused: ['bad', 'Not signed in', 'The sign-in was refused. The terminal says why.'],
  foreign: [
    'bad',
    'Not signed in',
    'The answer names another identity provider than expected. If it is yours, give its name with --issuer.',
  ],
  received: ['busy', 'Almost there', 'The terminal finishes the sign-in. You can close this tab.'],
};

const signs = { good: 'M7 12.5l3.4 3.4L17 9', bad: 'M8 8l8 8M16 8l-8 8', busy: 'M12 7v5.2l3.2 2' } as const;

const template = readFileSync(new URL('redirect-page.html', import.meta.url), 'utf8');

const [, style = ''] = /<style>([^<]*)<\/style>/.exec(template) ?? [];
const styleHash = hash('sha256', style, 'base64');

/** Prevents caching, scripts, framing and referrers. */
const pageHeaders: OutgoingHttpHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  connection: 'close',
};

function page(name: PageName, issuer?: string): string {
  const [mood, title, text] = texts[name];
  const named = issuer === undefined ? '' : `\n<p>It names ${escaped(issuer)}.</p>`;
  const parts: Readonly<Record<string, string>> = { mood, title, text, named, sign: signs[mood] };
  return template.replaceAll(/\{\{(\w+)\}\}/g, (_, part: string) => parts[part] as string);
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
