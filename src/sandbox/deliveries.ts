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
  /** Milliseconds that an endpoint has to answer. Absent: 10 s. */
  readonly timeoutMs?: number | undefined;
}

/** One try to deliver an event. */
export interface DeliveryAttempt {
  readonly eventId: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** The status of the endpoint's answer; undefined if there was none. */
  readonly status: number | undefined;
  /** True for the second delivery of an event. */
  readonly isCopy: boolean;
}

const SPREAD_MS = 300;
const RETRY_DELAYS_MS = [500, 1_000, 2_000];
const TIMEOUT_MS = 10_000;
const KEPT = 100_000;

/**
 * Delivers events that are added while the sandbox runs as the service description says (part 6): out of order, some
 * twice, each with the `Api-Token`. An event becomes FAILED when its first try fails, and SUCCESS again when a later
 * one succeeds.
 */
export class Deliveries {
  /** The latest tries, oldest first. */
  readonly attempts: DeliveryAttempt[] = [];
  readonly #options: DeliveryOptions;
  readonly #writer: EventWriter;
  readonly #random: Random;
  readonly #clock: () => number;
  readonly #endpoint: Endpoint;
  readonly #waiting = new Set<NodeJS.Timeout>();
  readonly #failed = new Set<string>();
  #underWay = 0;
  #isStopped = false;

  constructor(options: DeliveryOptions, writer: EventWriter, random: Random, clock: () => number) {
    this.#clock = clock;
    this.#options = options;
    this.#writer = writer;
    this.#random = random;
    this.#endpoint = createEndpoint(new URL(options.url), options.apiToken, options.timeoutMs ?? TIMEOUT_MS);
  }

  /** The number of deliveries that are waiting or in progress. */
  get pending(): number {
    return this.#waiting.size + this.#underWay;
  }

  add({ eventId, json }: WrittenEvent): void {
    const body = payloadOf(json);
    this.#later(this.#spread(), () => this.#deliver(eventId, body, 0));
    if (this.#random.float() >= (this.#options.duplicates ?? 0)) return;
    this.#later(this.#spread() + this.#spread(), () => this.#copy(eventId, body));
  }

  stop(): void {
    this.#isStopped = true;
    for (const timer of this.#waiting) clearTimeout(timer);
    this.#waiting.clear();
    this.#endpoint.close();
  }

  async #deliver(eventId: string, body: string, tries: number): Promise<void> {
    if (await this.#try(eventId, body, false)) return;
    if (tries === 0) {
      this.#failed.add(eventId);
      this.#writer.setStatus(eventId, 'FAILED');
    }
    const delay = (this.#options.retryDelaysMs ?? RETRY_DELAYS_MS)[tries];
    if (delay !== undefined) this.#later(delay, () => this.#deliver(eventId, body, tries + 1));
  }

  async #copy(eventId: string, body: string): Promise<void> {
    await this.#try(eventId, body, true);
  }

  async #try(eventId: string, body: string, isCopy: boolean): Promise<boolean> {
    this.#underWay++;
    const status = await this.#endpoint.post(body);
    this.#underWay--;
    if (this.attempts.length >= KEPT) this.attempts.splice(0, KEPT / 10);
    this.attempts.push({ eventId, at: this.#clock(), status, isCopy });
    const succeeded = status !== undefined && status >= 200 && status < 300;
    if (succeeded && this.#failed.delete(eventId)) this.#writer.setStatus(eventId, 'SUCCESS');
    return succeeded;
  }

  #spread(): number {
    return this.#random.float() * (this.#options.spreadMs ?? SPREAD_MS);
  }

  #later(milliseconds: number, act: () => Promise<void>): void {
    if (this.#isStopped) return;
    const timer = setTimeout(() => {
      this.#waiting.delete(timer);
      void act();
    }, milliseconds);
    timer.unref();
    this.#waiting.add(timer);
  }
}

/**
 * Returns the body of a delivery. The service description shows only its `eventId`: here it is the item's own text
 * without the publish status and the result of the delivery.
 */
export function payloadOf(json: string): string {
  return json.replace(/,"publishStatus":"[^"]*"/, '').replace(/,"delivery":\{(?:[^{}]|\{[^{}]*\})*\}/, '');
}

/** Posts to one endpoint over kept-alive connections. */
interface Endpoint {
  /** Returns the status of the answer; undefined if the connection failed or timed out. */
  post(body: string): Promise<number | undefined>;
  close(): void;
}

const CONNECTIONS = 32;

function createEndpoint(url: URL, apiToken: string, timeoutMs: number): Endpoint {
  const { request, Agent } = url.protocol === 'https:' ? https : http;
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
  return {
    post: (body) =>
      new Promise((resolve) => {
        const headers = {
          'Content-Type': 'application/json; charset=utf-8',
          'Content-Length': Buffer.byteLength(body),
          'Api-Token': apiToken,
        };
        const sent = request(url, { method: 'POST', agent, headers }, (response) => {
          response.resume();
          response.once('close', () => resolve(response.complete ? response.statusCode : undefined));
        });
        sent.setTimeout(timeoutMs, () => sent.destroy(new Error('no answer in time')));
        sent.once('error', () => resolve(undefined));
        sent.end(body);
      }),
    close: () => agent.destroy(),
  };
}
