import { createdOnReader } from '../json/item-fields.ts';
import { Items } from '../json/items.ts';
import { compareInstants, type Instant } from '../time/instant.ts';
import { readAhead } from './read-ahead.ts';

/** Some events of a search. */
export interface FoundPage {
  readonly items: Items;
  /** The number of all matching events, if the service gives it. */
  readonly total: number | undefined;
}

/** The maximum number of events passed on together. */
const BATCH = 500;

/**
 * Merges the pages of several searches in order of creation: newest first, or oldest first if the service's own pages
 * are. Holds one page of each search at a time. Events without a time come as soon as they are read. `onDoubt` is
 * called if such events, or unordered pages, keep the result from being in order.
 */
export async function* mergePages(
  searches: readonly AsyncGenerator<FoundPage>[],
  width: () => number,
  signal: AbortSignal,
  onDoubt?: (doubt: string) => void,
): AsyncGenerator<FoundPage> {
  const order = new Order(onDoubt);
  const streams = searches.map((pages) => new Stream(pages, order));
  try {
    for await (const _ of readAhead(streams, (stream) => stream.advance(), width, signal));
    const total = streams.reduce<number | undefined>(
      (sum, stream) => (sum === undefined || stream.total === undefined ? undefined : sum + stream.total),
      0,
    );
    let open = streams.filter((stream) => !stream.ended);
    order.decide(open);
    let batch: Buffer[] = [];
    while (open.length > 0) {
      const next = open.reduce((best, stream) => (order.comesFirst(stream, best) ? stream : best));
      batch.push(next.take());
      const isRead = next.isRead;
      if (isRead || batch.length === BATCH) {
        yield { items: Items.of(batch), total };
        batch = [];
      }
      if (!isRead) continue;
      await next.advance();
      if (next.ended) open = open.filter((stream) => stream !== next);
    }
  } finally {
    for (const stream of streams) await stream.close();
  }
}

/** Reads the pages of one search event by event. */
class Stream {
  readonly #pages: AsyncGenerator<FoundPage>;
  readonly #order: Order;
  readonly #createdOn = createdOnReader();
  #items: Items | undefined;
  #index = 0;
  total: number | undefined;
  ended = false;
  /** When the next event was created. */
  createdOn: Instant | undefined;

  constructor(pages: AsyncGenerator<FoundPage>, order: Order) {
    this.#pages = pages;
    this.#order = order;
  }

  /** True if all events of the page were taken. */
  get isRead(): boolean {
    return this.#index === this.#items?.count;
  }

  /** Reads the next page that has events. */
  async advance(): Promise<void> {
    for (;;) {
      const { done, value } = await this.#pages.next();
      if (done) {
        this.ended = true;
        this.total ??= 0;
        return;
      }
      if (this.#items === undefined) this.total = value.total;
      this.#items = value.items;
      this.#index = 0;
      if (value.items.count === 0) continue;
      this.#look();
      return;
    }
  }

  /** The next event's text. */
  take(): Buffer {
    const items = this.#items as Items;
    const text = items.text(this.#index++);
    if (this.#index < items.count) this.#look();
    return text;
  }

  /** When the first and the last event of the page were created. */
  get ends(): [Instant | undefined, Instant | undefined] {
    const items = this.#items as Items;
    const at = (index: number) => this.#createdOn(items.bytes, items.start(index));
    return [at(0), at(items.count - 1)];
  }

  async close(): Promise<void> {
    await this.#pages.return(undefined);
  }

  #look(): void {
    const items = this.#items as Items;
    const before = this.createdOn;
    this.createdOn = this.#createdOn(items.bytes, items.start(this.#index));
    this.#order.check(before, this.createdOn);
  }
}

/** The direction of the service's pages. Doubts are reported once: events without a time, or pages out of order. */
class Order {
  /** 1 for newest first, -1 for oldest first. */
  #sign = 1;
  #isDecided = false;
  #doubted = false;
  readonly #onDoubt: ((doubt: string) => void) | undefined;

  constructor(onDoubt?: (doubt: string) => void) {
    this.#onDoubt = onDoubt;
  }

  /** Decided by the first page whose first and last event have different times. */
  decide(streams: readonly Stream[]): void {
    for (const { ends } of streams) {
      const [first, last] = ends;
      const compared = first && last ? compareInstants(first, last) : 0;
      if (compared === 0) continue;
      this.#sign = Math.sign(compared);
      break;
    }
    this.#isDecided = true;
  }

  comesFirst(one: Stream, other: Stream): boolean {
    if (!one.createdOn || !other.createdOn) return !one.createdOn && other.createdOn !== undefined;
    return this.#sign * compareInstants(one.createdOn, other.createdOn) > 0;
  }

  /** Checks that two neighbouring events of one search are in the direction of all. */
  check(before: Instant | undefined, next: Instant | undefined): void {
    if (!this.#isDecided || this.#doubted) return;
    if (before && next && this.#sign * compareInstants(before, next) >= 0) return;
    this.#doubted = true;
    this.#onDoubt?.(
      before && next
        ? 'the service does not return events in order of time: the events of several filters are not in order either'
        : 'some events have no creation time: the events of several filters are not in order',
    );
  }
}
