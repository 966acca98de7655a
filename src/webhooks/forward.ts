import { isLoopback } from '../config/values.ts';
import type { Environment } from '../context.ts';
import { createTransport } from '../http/transport.ts';
import { TransportError } from '../http/transport-error.ts';

export interface HandedOver {
  readonly body: Uint8Array;
  readonly contentType?: string | undefined;
  readonly apiToken?: string | undefined;
}

/** The handler's answer: its status, or why there is none. */
export interface HandlerAnswer {
  readonly status?: number;
  readonly failure?: string;
  readonly retryAfter?: string | undefined;
}

export interface Handler {
  /** Posts an event, byte for byte, and waits for the answer. Throws nothing but the signal's reason. */
  hand(event: HandedOver, signal?: AbortSignal): Promise<HandlerAnswer>;
  close(): Promise<void>;
}

/** The HTTP endpoint that events are handed to. `timeout`: milliseconds without progress until it counts as failed. */
export function createHandler(url: URL, timeout: number, environment: Environment): Handler {
  // A proxy is for the world outside; it could not reach this machine's loopback addresses.
  const transport = createTransport(isLoopback(url) ? {} : environment);
  return {
    async hand({ body, contentType, apiToken }, signal) {
      const headers: Record<string, string> = { 'accept-encoding': 'identity' };
      if (contentType !== undefined) headers['content-type'] = contentType;
      if (apiToken !== undefined) headers['api-token'] = apiToken;
      try {
        const request = { method: 'POST', url, headers, body, idleTimeout: timeout, signal };
        const { status, headers: answered } = await transport.send(request);
        return { status, retryAfter: answered['retry-after'] };
      } catch (error) {
        if (error instanceof TransportError) return { failure: error.message };
        throw error;
      }
    },
    close: () => transport.close(),
  };
}

export function isTaken({ status = 0 }: HandlerAnswer): boolean {
  return status >= 200 && status < 300;
}

/** In words for a person: `the handler answered 503`. */
export function answerText({ status, failure }: HandlerAnswer): string {
  return status === undefined
    ? `the handler could not be reached: ${failure}`
    : `the handler answered ${status}`;
}
