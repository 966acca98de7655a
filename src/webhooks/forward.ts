import type { Clock, Context } from '../context.ts';
import { proxyFor } from '../http/proxy.ts';
import { redactSecrets } from '../http/redaction.ts';
import { retryAfter } from '../http/service.ts';
import { PAGE_LIMITS, TransportError } from '../http/transport.ts';
import { createTransport } from '../http/undici-client.ts';
import { terminalSafeLine } from '../terminal/terminal-text.ts';

export interface OutgoingEvent {
  readonly body: Uint8Array;
  readonly contentType?: string | undefined;
  readonly apiToken?: string | undefined;
  readonly signal?: AbortSignal;
}

/** The handler's status, or the failure that left it without an answer. */
export interface HandlerAnswer {
  readonly status?: number;
  readonly failure?: string;
  /** The step that mends the failure, where it is known. */
  readonly mend?: string | undefined;
  /** Its `Retry-After`. */
  readonly retryAfter?: string | undefined;
  /** Origin and path of the address that it redirects to, inert. */
  readonly redirect?: string | undefined;
  /** The beginning of its body on one line, inert, if the status is not 2xx. */
  readonly body?: string | undefined;
}

export type Handler = ReturnType<typeof createHandler>;

/** Bytes of the handler's answer that are shown. */
const SHOWN_BYTES = 2048;

const REDIRECTS = new Set([301, 302, 303, 307, 308]);
const LONGEST_REDIRECT_CHARACTERS = 200;

/**
 * The HTTP endpoint that events are forwarded to. `timeout`: milliseconds until an attempt counts as failed.
 * Throws `UsageError` for a proxy variable that names no proxy.
 */
export function createHandler(
  url: URL,
  timeout: number,
  context: Pick<Context, 'environment' | 'requestLimits'>,
) {
  proxyFor(url, context.environment);
  const transport = createTransport(context, { ...PAGE_LIMITS, idle: timeout, total: timeout });
  return {
    /**
     * Posts an event, byte for byte, and waits for the answer. Throws only the signal's reason when it
     * aborts.
     */
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
    /** Ends every connection at once. */
    close: (): Promise<void> => transport.close(),
  };
}

/**
 * Returns the origin and path that a `Location` leads to. User information and the query may hold
 * secrets, and a path may repeat the token.
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
 * Returns the beginning of a body on one line; undefined if there is nothing to read. Secrets are redacted,
 * since an error page may show the headers of the request.
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

/** Describes an answer, such as `the handler answered 503`. */
export function answerText({ status, redirect, failure, mend }: HandlerAnswer): string {
  if (redirect !== undefined)
    return `the handler answered ${status} with Location ${redirect}: redirects are not followed`;
  if (status !== undefined) return `the handler answered ${status}`;
  return `the handler did not answer: ${failure}${mend === undefined ? '' : `: ${mend}`}`;
}

/** Describes an answer with the beginning of its body. */
export function answerLine(answer: HandlerAnswer): string {
  return answer.body === undefined ? answerText(answer) : `${answerText(answer)}: ${answer.body}`;
}

/** Why the handler or the listener did not take an event. */
export interface LeftReason {
  /** What events that are left for one reason have in common: a text may quote the handler's answer. */
  readonly kind: string;
  readonly text: string;
}

/** The reason for an event of which nothing but this text is known. */
export function leftFor(text: string): LeftReason {
  return { kind: text, text };
}

export function reasonOf(answer: HandlerAnswer): LeftReason {
  const { status, redirect } = answer;
  const kind = status === undefined ? 'no answer' : `${status} ${redirect ?? ''}`;
  return { kind, text: answerLine(answer) };
}

export interface ForwardRetryOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Milliseconds for which a handler that accepts nothing at all is tried again. */
  readonly retryFor: number;
  /** Called before each wait. */
  readonly onWait: (reason: string, delay: number) => void;
}

const RETRIED = new Set([408, 425, 429]);
const FIRST_DELAY_MS = 250;
const LONGEST_DELAY_MS = 10_000;
/** The number of events refused in a row after which a handler that answers is given up. */
const MOST_REFUSED = 10;
/** The same for a handler that does not answer. */
const MOST_UNANSWERED = 3;

/**
 * Returns a function for the events of a handler that may be overloaded or down. Answers of 5xx, 408, 425 and
 * 429, and missing answers, are retried for `retryFor`, after waits that double each time. An event that the
 * handler refuses for so long may be the only one it refuses: the next ones get one attempt each until one is
 * accepted, and after several in a row the handler is given up for good. Each such event halves the time for
 * later ones. Any other answer is final. Resolves to undefined if the event was accepted, otherwise to the
 * reason. Rejects with the signal's reason if it aborts before or between attempts, and with any error that
 * an attempt throws.
 */
export function createForwardRetry({ clock, signal, retryFor, onWait }: ForwardRetryOptions) {
  let patience = retryFor;
  let refusedInRow = 0;
  let isGivenUp = false;
  /** Behind an event that was refused for so long, the next ones get one attempt each. */
  const timeForOne = () => (refusedInRow > 0 ? 0 : patience);
  /** Notes that the handler refused an event for so long. */
  const noteRefused = ({ status }: HandlerAnswer): void => {
    if (refusedInRow === 0) patience /= 2;
    refusedInRow++;
    // With several under way a later answer must not take back that it was given up.
    isGivenUp ||= refusedInRow >= (status === undefined ? MOST_UNANSWERED : MOST_REFUSED);
  };
  return async (attempt: () => Promise<HandlerAnswer>): Promise<LeftReason | undefined> => {
    let failingSince: number | undefined;
    for (let tries = 0; ; tries++) {
      signal.throwIfAborted();
      if (isGivenUp) return leftFor('not tried: the handler had already been given up');
      const answer = await attempt();
      if (isTaken(answer)) {
        refusedInRow = 0;
        return undefined;
      }
      if (!isPassing(answer)) return reasonOf(answer);
      const now = clock.now();
      failingSince ??= now;
      const left = failingSince + timeForOne() - now;
      if (left <= 0) {
        noteRefused(answer);
        return reasonOf(answer);
      }
      const delay = Math.min(delayAfter(answer, tries, clock), left);
      onWait(answerText(answer), delay);
      await clock.sleep(delay, signal);
    }
  };
}

/**
 * Milliseconds until the next attempt: twice as many each time, and at least as many as the handler asks for.
 */
function delayAfter(answer: HandlerAnswer, tries: number, clock: Clock): number {
  const own = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** tries) * (0.5 + clock.jitter() / 2);
  return Math.max(own, retryAfter(answer.retryAfter, clock.now()) ?? 0);
}

/** Returns whether another attempt may succeed. */
export function isPassing({ status }: HandlerAnswer): boolean {
  return status === undefined || status >= 500 || RETRIED.has(status);
}
