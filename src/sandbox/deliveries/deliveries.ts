import type { EventWriter, WrittenEvent } from '../event-writer.ts';
import type { Random } from '../random.ts';
import type { DeliveryAttempt, DeliveryOptions } from './options.ts';
import { payloadOf } from './payload.ts';
import { createEndpoint, type Endpoint } from './post.ts';

const SPREAD = 300;
const RETRY_DELAYS = [500, 1_000, 2_000];
const TIMEOUT = 10_000;
const KEPT = 100_000;

/**
 * Delivers events that are added while the sandbox runs as the service description says (part 6): out of order, some twice,
 * each with the `Api-Token`. Tries that fail are repeated; when the last one has failed the event becomes FAILED, and SUCCESS
 * again should a later delivery of it succeed.
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
    this.#endpoint = createEndpoint(new URL(options.url), options.apiToken, options.timeoutMs ?? TIMEOUT);
  }

  /** Deliveries that wait or are under way. */
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
    const delay = (this.#options.retryDelaysMs ?? RETRY_DELAYS)[tries];
    if (this.#isStopped) return;
    if (delay !== undefined) {
      this.#later(delay, () => this.#deliver(eventId, body, tries + 1));
      return;
    }
    this.#failed.add(eventId);
    this.#writer.setStatus(eventId, 'FAILED');
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
    return this.#random.float() * (this.#options.spreadMs ?? SPREAD);
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
