import http from 'node:http';
import https from 'node:https';
import type { Random } from './random.ts';
import type { EventWriter, WrittenEvent } from './store/event-writer.ts';

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

/**
 * Delivers events that are added while the sandbox runs as the service description says (part 6): out of order, some
 * twice, each with the `Api-Token`. An event becomes FAILED when its first try fails, and SUCCESS again when a later
 * one succeeds.
 */
export class Deliveries {
  /** The number of deliveries that are waiting or in progress. */
  pending = 0;
  readonly #options: DeliveryOptions;
  readonly #writer: EventWriter;
  readonly #random: Random;
  readonly #agent: http.Agent;
  readonly #failed = new Set<string>();
  #isStopped = false;

  constructor(options: DeliveryOptions, writer: EventWriter, random: Random) {
    this.#options = options;
    this.#writer = writer;
    this.#random = random;
    const { Agent } = options.url.startsWith('https:') ? https : http;
    this.#agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  }

  add({ eventId, json }: WrittenEvent): void {
    const body = payloadOf(json);
    this.#later(this.#spread(), () => this.#deliver(eventId, body, 0));
    if (this.#random.float() >= (this.#options.duplicates ?? 0)) return;
    this.#later(this.#spread() + this.#spread(), () => this.#try(eventId, body));
  }

  stop(): void {
    this.#isStopped = true;
    this.#agent.destroy();
  }

  async #deliver(eventId: string, body: string, tries: number): Promise<void> {
    if (await this.#try(eventId, body)) return;
    if (tries === 0) {
      this.#failed.add(eventId);
      this.#writer.setStatus(eventId, 'FAILED');
    }
    const delay = (this.#options.retryDelaysMs ?? RETRY_DELAYS_MS)[tries];
    if (delay !== undefined) this.#later(delay, () => this.#deliver(eventId, body, tries + 1));
  }

  /** Returns true if the endpoint took the event. */
  async #try(eventId: string, body: string): Promise<boolean> {
    const status = await this.#post(body);
    const succeeded = status !== undefined && status >= 200 && status < 300;
    if (succeeded && this.#failed.delete(eventId)) this.#writer.setStatus(eventId, 'SUCCESS');
    return succeeded;
  }

  /** Returns the status of the answer; undefined if the connection failed or timed out. */
  #post(body: string): Promise<number | undefined> {
    const { url, apiToken } = this.#options;
    const headers = { 'Content-Type': 'application/json; charset=utf-8', 'Api-Token': apiToken };
    const { request } = url.startsWith('https:') ? https : http;
    return new Promise((resolve) => {
      const sent = request(url, { method: 'POST', agent: this.#agent, headers }, (response) => {
        response.resume();
        response.once('close', () => resolve(response.complete ? response.statusCode : undefined));
      });
      sent.setTimeout(TIMEOUT_MS, () => sent.destroy(new Error('no answer in time')));
      sent.once('error', () => resolve(undefined));
      sent.end(body);
    });
  }

  #spread(): number {
    return this.#random.float() * (this.#options.spreadMs ?? SPREAD_MS);
  }

  #later(milliseconds: number, act: () => Promise<unknown>): void {
    this.pending++;
    const run = async () => {
      if (!this.#isStopped) await act();
      this.pending--;
    };
    setTimeout(run, milliseconds).unref();
  }
}

/**
 * Returns the body of a delivery. The service description shows only its `eventId`: here it is the item's own text
 * without the publish status and the result of the delivery.
 */
export function payloadOf(json: string): string {
  return json.replace(/,"publishStatus":"[^"]*"/, '').replace(/,"delivery":\{(?:[^{}]|\{[^{}]*\})*\}/, '');
}
