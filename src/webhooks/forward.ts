import type { Context } from '../context.ts';
import { proxyFor } from '../http/proxy.ts';
import { redactSecrets } from '../http/redaction.ts';
import { PAGE_LIMITS, TransportError } from '../http/transport.ts';
import { createTransport } from '../http/undici-client.ts';
import { terminalSafeLine } from '../terminal/terminal-text.ts';

export interface OutgoingEvent {
  readonly body: Uint8Array;
  readonly contentType?: string | undefined;
  readonly apiToken?: string | undefined;
  readonly signal?: AbortSignal;
}

export interface HandlerAnswer {
  readonly status?: number;
  readonly failure?: string;
  readonly mend?: string | undefined;
  readonly retryAfter?: string | undefined;
  /** Origin and path of the redirect's target, escaped. */
  readonly redirect?: string | undefined;
  readonly body?: string | undefined;
}

export type Handler = ReturnType<typeof createHandler>;

/** Bytes of the handler's answer shown in messages. */
const SHOWN_BYTES = 2048;

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const LONGEST_REDIRECT_CHARACTERS = 200;

/**
 * Creates the HTTP client for the handler. `timeout`: milliseconds until an attempt counts as failed. Throws
 * `UsageError` for an invalid proxy variable.
 */
export function createHandler(
  url: URL,
  timeout: number,
  context: Pick<Context, 'environment' | 'requestLimits'>,
) {
  proxyFor(url, context.environment);
  const transport = createTransport(context, { ...PAGE_LIMITS, idle: timeout, total: timeout });
  return {
    /** Posts an event, byte for byte. Throws only the signal's reason when it aborts. */
    async forward({ body, contentType, apiToken, signal }: OutgoingEvent): Promise<HandlerAnswer> {
      const headers = {
        ...(contentType === undefined ? {} : { 'content-type': contentType }),
        ...(apiToken === undefined ? {} : { 'api-token': apiToken }),
      };
      const request = { method: 'POST', url, headers, body, signal, keepBytes: SHOWN_BYTES } as const;
      try {
        const { status, headers, body: start } = await transport.send(request);
        if (isTaken({ status })) return { status };
        const redirect = REDIRECTS.has(status) ? shownTarget(headers.location, url, apiToken) : undefined;
        if (redirect !== undefined) return { status, redirect };
        const shown = shownBody(start, headers['content-encoding'], apiToken);
        return { status, retryAfter: headers['retry-after'], body: shown };
      } catch (error) {
        if (!(error instanceof TransportError)) throw error;
        return { failure: error.message, mend: error.setupStep };
      }
    },
    close: (): Promise<void> => transport.close(),
  };
}

/**
 * Shows only the origin and path of a `Location`: user information and the query may hold secrets. The path
 * may repeat the token, so it is redacted.
 */
function shownTarget(location: string | undefined, from: URL, token: string | undefined): string | undefined {
  if (location === undefined || !URL.canParse(location, from.href)) return undefined;
  const { protocol, origin, pathname } = new URL(location, from);
  if (protocol !== 'https:' && protocol !== 'http:') return undefined;
  const shown = redactSecrets(`${origin}${pathname}`, token === undefined ? [] : [token]);
  return terminalSafeLine(
    shown.length > LONGEST_REDIRECT_CHARACTERS ? `${shown.slice(0, LONGEST_REDIRECT_CHARACTERS)}…` : shown,
  );
}

/**
 * Returns the beginning of a body on one line; undefined if it is encoded or empty. Secrets are redacted,
 * since an error page may repeat the request's headers.
 */
function shownBody(start: Buffer, coding: string | undefined, token: string | undefined): string | undefined {
  if (coding !== undefined && coding !== 'identity') return undefined;
  const text = start.toString().replace(/\s+/g, ' ').trim();
  const shown = redactSecrets(text, token === undefined ? [] : [token]);
  return terminalSafeLine(start.length < SHOWN_BYTES ? shown : `${shown}…`) || undefined;
}

export function isTaken({ status = 0 }: HandlerAnswer): boolean {
  return status >= 200 && status < 300;
}

export function answerText({ status, redirect, failure, mend }: HandlerAnswer): string {
  if (redirect !== undefined)
    return `the handler answered ${status} with Location ${redirect}: redirects are not followed`;
  if (status !== undefined) return `the handler answered ${status}`;
  return `the handler did not answer: ${failure}${mend === undefined ? '' : `: ${mend}`}`;
}

export function answerLine(answer: HandlerAnswer): string {
  return answer.body === undefined ? answerText(answer) : `${answerText(answer)}: ${answer.body}`;
}

const RETRIED = new Set([408, 425, 429]);

/** True if the handler may accept the event later. */
export function isPassing({ status }: HandlerAnswer): boolean {
  return status === undefined || status >= 500 || RETRIED.has(status);
}

/** Returns a function that waits for the next event's turn: at most `rate` events start per second. */
export function createPace(rate: number | undefined, { clock, signal }: Pick<Context, 'clock' | 'signal'>) {
  let next = clock.now();
  return async (): Promise<void> => {
    if (rate === undefined) return;
    const now = clock.now();
    const mine = Math.max(next, now);
    next = mine + 1000 / rate;
    if (mine > now) await clock.sleep(mine - now, signal);
  };
}
