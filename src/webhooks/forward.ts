import type { Context } from '../context.ts';
import { proxyFor } from '../http/proxy.ts';
import { PAGE_LIMITS } from '../http/transport.ts';
import { TransportError } from '../http/transport-error.ts';
import { createTransport } from '../http/undici-transport.ts';

export interface OutgoingEvent {
  readonly body: Uint8Array;
  readonly contentType?: string | undefined;
  readonly apiToken?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The handler's status, or the failure that left it without an answer. */
export interface HandlerAnswer {
  readonly status?: number;
  readonly failure?: string;
  /** Its `Retry-After`. */
  readonly retryAfter?: string | undefined;
  readonly headers?: Readonly<Record<string, unknown>>;
}

export interface Handler {
  /** Posts an event, byte for byte, and waits for the answer. Never rejects. */
  forward(event: OutgoingEvent): Promise<HandlerAnswer>;
  /** Ends every connection at once. */
  close(): Promise<void>;
}

/**
 * The HTTP endpoint that events are forwarded to. `timeout`: milliseconds until an attempt counts as failed.
 * Throws `UsageError` for a proxy variable that names no proxy.
 */
export function createHandler(
  url: URL,
  timeout: number,
  context: Pick<Context, 'environment' | 'requestLimits'>,
): Handler {
  proxyFor(url, context.environment);
  const transport = createTransport(context, { ...PAGE_LIMITS, idle: timeout, total: timeout });
  transport.prepare();
  return {
    async forward({ body, contentType, apiToken, headers: others }) {
      const headers = {
        ...others,
        ...(contentType === undefined ? {} : { 'content-type': contentType }),
        ...(apiToken === undefined ? {} : { 'api-token': apiToken }),
      };
      try {
        const sent = await transport.send({ method: 'POST', url, headers, body, dropBody: true });
        return { status: sent.status, retryAfter: sent.headers['retry-after'], headers: sent.headers };
      } catch (error) {
        if (!(error instanceof TransportError)) throw error;
        // Outcomes are told in one line, where no `next:` follows.
        const step = error.setupStep;
        return { failure: step ? `${error.message}: ${step}` : error.message };
      }
    },
    close: () => transport.close(),
  };
}

export function isTaken({ status = 0 }: HandlerAnswer): boolean {
  return status >= 200 && status < 300;
}

/** Describes an answer, such as `the handler answered 503`. */
export function answerText({ status, failure }: HandlerAnswer): string {
  return status === undefined ? `the handler did not answer: ${failure}` : `the handler answered ${status}`;
}
