import http from 'node:http';
import https from 'node:https';
import type { Random } from './random.ts';
import { itemText, type StoredEvent } from './store/event-item.ts';
import type { EventStore } from './store/event-store.ts';

/** Options for the delivery of events that are added while the sandbox runs. */
export interface DeliveryOptions {
  readonly url: string;
  /** Sent as the `Api-Token` header (service description, part 5). */
  readonly apiToken: string;
  /** Share (0 to 1) of events that are delivered twice, even if the first delivery succeeded. */
  readonly duplicates?: number | undefined;
  /**
   * Each delivery waits for a random time of up to this many milliseconds, so that they arrive out of order. Absent:
   * 300.
   */
  readonly spreadMs?: number | undefined;
  /** Milliseconds before each try after the first; there is no try after the last of them. */
  readonly retryDelaysMs?: readonly number[] | undefined;
}

const SPREAD_MS = 300;
const RETRY_DELAYS_MS = [500, 1_000, 2_000];
const TIMEOUT_MS = 10_000;
const CONNECTIONS = 32;

export type Deliveries = ReturnType<typeof createDeliveries>;

/**
 * Delivers events that are added while the sandbox runs as the service description says (part 6): out of order, some
 * twice, each with the `Api-Token`. An event becomes FAILED when its first try fails, and SUCCESS again when a later
 * one succeeds.
 */
export function createDeliveries(options: DeliveryOptions, events: EventStore, random: Random) {
  const { url, apiToken, duplicates = 0, spreadMs = SPREAD_MS, retryDelaysMs = RETRY_DELAYS_MS } = options;
  const { request, Agent } = url.startsWith('https:') ? https : http;
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  const failed = new Set<string>();
  const spread = () => random.float() * spreadMs;
  let pending = 0;
  let isStopped = false;

  function later(milliseconds: number, act: () => Promise<unknown>): void {
    pending++;
    const run = async () => {
      if (!isStopped) await act();
      pending--;
    };
    setTimeout(run, milliseconds).unref();
  }

  async function deliver(eventId: string, body: string, tries: number): Promise<void> {
    if (await send(eventId, body)) return;
    if (tries === 0) {
      failed.add(eventId);
      events.setStatus(eventId, 'FAILED');
    }
    const delay = retryDelaysMs[tries];
    if (delay !== undefined) later(delay, () => deliver(eventId, body, tries + 1));
  }

  /** Returns true if the endpoint took the event. */
  async function send(eventId: string, body: string): Promise<boolean> {
    const headers = { 'Content-Type': 'application/json; charset=utf-8', 'Api-Token': apiToken };
    const status = await new Promise<number>((resolve) => {
      const sent = request(url, { method: 'POST', agent, headers }, (response) => {
        response.resume();
        response.once('close', () => resolve((response.complete && response.statusCode) || 0));
      });
      sent.setTimeout(TIMEOUT_MS, () => sent.destroy(new Error('no answer in time')));
      sent.once('error', () => resolve(0));
      sent.end(body);
    });
    const succeeded = status >= 200 && status < 300;
    if (succeeded && failed.delete(eventId)) events.setStatus(eventId, 'SUCCESS');
    return succeeded;
  }

  return {
    add(event: StoredEvent): void {
      const { eventId } = event;
      const body = payloadOf(itemText(event));
      later(spread(), () => deliver(eventId, body, 0));
      if (random.float() < duplicates) later(spread() + spread(), () => send(eventId, body));
    },
    /** Returns the number of deliveries that are waiting or in progress. */
    pending: () => pending,
    stop(): void {
      isStopped = true;
      agent.destroy();
    },
  };
}

/**
 * Returns the body of a delivery. The service description shows only its `eventId`: here it is the item's own text
 * without the publish status and the result of the delivery.
 */
export function payloadOf(json: string): string {
  return json.replace(/,"publishStatus":"[^"]*"/, '').replace(/,"delivery":\{(?:[^{}]|\{[^{}]*\})*\}/, '');
}
