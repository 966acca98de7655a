import type { Clock } from '../context.ts';
import type { HttpRequest, HttpResponse, Transport } from './transport.ts';
import { TransportError } from './transport.ts';

/** Called before each wait, so that progress can show the reason. */
export type OnRetry = (attempt: { reason: string; delay: number; status?: number }) => void;

export interface RetryContext {
  readonly clock: Clock;
  readonly onRetry?: OnRetry | undefined;
  /** 0 to 1; `Math.random` where absent. */
  readonly random?: () => number;
}

const TRIES = 5;
/** Statuses of answers that a later try may not get. */
export const RETRIED = new Set([408, 429, 500, 502, 503, 504]);
const FIRST_DELAY_MS = 500;
const LONGEST_DELAY_MS = 20_000;
const LONGEST_RETRY_AFTER_MS = 60_000;

/**
 * Sends a request that may safely be repeated (GET), up to 5 times: on 408, 429, 500, 502, 503, 504 and on failures of
 * the connection that may pass. Waits twice as long each time, with jitter, and at least as long as `Retry-After` says
 * (RFC 9110 section 10.2.3), up to 60 s. The last answer is returned whatever its status; the last failure is thrown.
 */
export async function sendWithRetry(
  transport: Transport,
  request: HttpRequest,
  { clock, onRetry, random = Math.random }: RetryContext,
): Promise<HttpResponse> {
  for (let attempt = 1; ; attempt++) {
    let reason: string;
    let delay = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** (attempt - 1)) * (0.5 + random() / 2);
    let status: number | undefined;
    try {
      const response = await transport.send(request);
      if (!RETRIED.has(response.status) || attempt === TRIES) return response;
      status = response.status;
      const { date, 'retry-after': header } = response.headers;
      // A date is by the service's clock, which may differ from ours.
      const asked = retryAfter(header, Date.parse(date ?? '') || clock.now());
      // `Retry-After` is longer than we are willing to wait: the answer itself is more useful.
      if (asked !== undefined && asked > LONGEST_RETRY_AFTER_MS) return response;
      delay = Math.max(asked ?? 0, delay);
      reason = `status ${response.status}`;
    } catch (error) {
      if (!(error instanceof TransportError) || !error.passing || attempt === TRIES) throw error;
      reason = error.message;
    }
    onRetry?.({ reason, delay, ...(status === undefined ? {} : { status }) });
    await clock.sleep(delay, request.signal);
  }
}

/** The milliseconds that a `Retry-After` header (seconds or a date) asks for; undefined if it is missing or invalid. */
export function retryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  if (/^\s*\d+\s*$/.test(header)) return Number(header) * 1000;
  // An HTTP-date starts with a day's name; Date.parse would read '-1' as a year.
  const date = /^\s*[A-Za-z]/.test(header) ? Date.parse(header) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

/** The text that progress shows during the wait for the next try; `delay` in milliseconds. */
export function waitText({ reason, delay }: { reason: string; delay: number }): string {
  return `${reason}, trying again in ${Math.ceil(delay / 1000)} s`;
}
