import type { IncomingMessage } from 'node:http';
import type { Random } from './random.ts';

/** Which requests a fault is for; `service` is either operation of the event service. */
export type FaultTarget =
  | 'authorize'
  | 'token'
  | 'device'
  | 'revocation'
  | 'metadata'
  | 'event-types'
  | 'events'
  | 'service';

export interface Answer {
  status: number;
  headers: Record<string, string>;
  body: Buffer;
}

/** Something that goes wrong with one request. Lengths are bytes of the body, times milliseconds. */
export type Fault =
  /** Answers normally, so that a later request is hit. */
  | { readonly kind: 'pass' }
  /** Does something first, then answers normally. */
  | { readonly kind: 'run'; readonly run: (request: IncomingMessage) => unknown }
  /** Answers with this instead; the request is not carried out. */
  | {
      readonly kind: 'status';
      readonly status: number;
      readonly body?: string;
      readonly headers?: Readonly<Record<string, string>>;
    }
  /**
   * Writes text to the connection as it is, whatever HTTP says of it, then `again` every `everyMs` for as long as the client
   * listens. The request is not carried out.
   */
  | { readonly kind: 'raw'; readonly text: string; readonly again?: string; readonly everyMs?: number }
  /**
   * Answers with an empty search answer that has this many bytes of white space in it, without end when absent;
   * `compressed` sends a thousandth of them, as gzip. The request is not carried out.
   */
  | { readonly kind: 'flood'; readonly bytes?: number; readonly compressed?: boolean }
  /** Breaks the connection; the request is not carried out. */
  | { readonly kind: 'reset' }
  /** Carries the request out and breaks the connection instead of answering. */
  | { readonly kind: 'answer-lost' }
  /** Breaks the connection after part of the body (default: half). */
  | { readonly kind: 'reset-mid-body'; readonly after?: number }
  /** As `reset-mid-body`, with an orderly end of the connection. */
  | { readonly kind: 'close-mid-body'; readonly after?: number }
  /** Sends part of the body as if it were all. */
  | { readonly kind: 'truncate'; readonly after?: number }
  /** Stops after part of the body, for good or for `ms`; `after: -1` stops before the status line. */
  | { readonly kind: 'stall'; readonly after?: number; readonly ms?: number }
  /** Answers later. */
  | { readonly kind: 'slow'; readonly ms: number }
  /** Sends the body in small pieces. */
  | { readonly kind: 'trickle'; readonly bytes: number; readonly everyMs: number }
  /** Carries the request out and answers with something else. */
  | { readonly kind: 'edit'; readonly edit: (answer: Answer) => Answer };

/** An answer that hands the connection to another protocol, which nobody asked for. */
export const switchingProtocols: Fault = {
  kind: 'raw',
  text: 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n',
};

/** Interim answers (RFC 9110 section 15.2) that no final one ever follows. */
export const interimForEver: Fault = {
  kind: 'raw',
  text: '',
  again: 'HTTP/1.1 102 Processing\r\n\r\n',
  everyMs: 10,
};

/** Faults waiting for their requests, each target's in order. */
export class FaultQueue {
  readonly #waiting = new Map<FaultTarget, Fault[]>();

  add(target: FaultTarget, faults: readonly Fault[]): void {
    this.#waiting.set(target, [...(this.#waiting.get(target) ?? []), ...faults]);
  }

  take(targets: readonly FaultTarget[]): Fault | undefined {
    for (const target of targets) {
      const fault = this.#waiting.get(target)?.shift();
      if (fault) return fault;
    }
    return undefined;
  }

  get pending(): number {
    return [...this.#waiting.values()].reduce((sum, faults) => sum + faults.length, 0);
  }

  clear(): void {
    this.#waiting.clear();
  }
}

const statuses = [500, 502, 503, 504];

/** Draws whether a request fails, and how. */
export function drawFault(random: Random, rate: number): Fault | undefined {
  if (rate <= 0 || random.float() >= rate) return undefined;
  const draw = random.below(statuses.length + 2);
  const status = statuses[draw];
  if (status !== undefined) {
    const body = JSON.stringify({ code: 'service.unavailable', message: 'a fault drawn by chance' });
    return { kind: 'status', status, body, headers: { 'Content-Type': 'application/json' } };
  }
  return draw === statuses.length ? { kind: 'reset' } : { kind: 'reset-mid-body' };
}
