import { createdOnReader } from '../items/item-times.ts';
import type { Items } from '../items/items.ts';
import { addQueries, PAGE_SIZE, type Query } from '../paging/event-query.ts';
import { observed, type PageClient } from '../paging/page.ts';
import { readPages } from '../paging/read-pages.ts';
import { sortByCreation } from '../sources/creation-order.ts';
import { type Instant, instantAt, knownInstant, laterOf, milliseconds } from '../time/instant.ts';

export interface Watch {
  /** One for each combination of repeated flags; their times are replaced. */
  readonly queries: readonly Query[];
  readonly start: Instant;
  readonly before: Instant | undefined;
  readonly keep: (<Some extends Items>(items: Some) => Some) | undefined;
  /** Milliseconds that each poll overlaps with the previous one, for events that appear late. */
  readonly overlap: number;
  /** Events held in memory at once; a longer gap is caught up in slices of time. */
  readonly most: number;
  /** True if a failed poll must yield none of the events that it read. */
  readonly isInOrder: boolean;
}

export interface FollowerState {
  readonly start: Instant;
  /** Milliseconds since the epoch: all events created before were printed, except late ones. */
  readonly watermark: number;
  /** Keys of events that a poll may find again, each with an upper bound of its creation time. */
  readonly printed: readonly (readonly [key: number, createdBefore: number])[];
}

interface Parts extends PageClient {
  readonly concurrency: () => number;
  readonly signal: AbortSignal;
  readonly onForeignLinks: (doubt: string) => void;
  /** Returns the current searches, if the service may offer more types while the watch runs. */
  readonly askQueries?: () => Promise<readonly Query[]>;
  readonly now: () => number;
}

export interface WatchedItem {
  readonly key: number;
  readonly text: Buffer;
  /** Undefined if missing from the item. */
  readonly createdOn: Instant | undefined;
  /** Upper bound of the creation time by the service's clock, in milliseconds. */
  readonly createdBefore: number;
}

/** The service's `Date` has no fraction, so its clock may be ahead by this many milliseconds. */
const DATE_GRAIN_MS = 1000;
/** Milliseconds of the shortest span that is still divided. */
const SHORTEST_SLICE_MS = 2000;

/**
 * Follows events by polling. All times are the service's; each poll begins at the previous one, less the
 * overlap, which also catches up after an outage or a laptop's sleep. Printed events are remembered for as
 * long as a poll can find them again.
 */
export class Follower {
  readonly #watch: Watch;
  readonly #parts: Parts;
  #queries: readonly Query[];
  /**
   * Keys of printed events, each with an upper bound of its creation (the service's clock, milliseconds). A
   * key is obsolete once all polls begin after that time.
   */
  readonly #printed: Map<number, number>;
  /** All events created before this were printed, except late ones. */
  #watermark: number;
  /** The latest time of the service that a poll has covered. */
  #readTo: number;

  constructor(watch: Watch, parts: Parts, state?: FollowerState) {
    this.#watch = watch;
    this.#parts = parts;
    this.#queries = watch.queries;
    this.#watermark = state?.watermark ?? milliseconds(watch.start);
    this.#readTo = this.#watermark;
    this.#printed = new Map(state?.printed);
  }

  get state(): FollowerState {
    return { start: this.#watch.start, watermark: this.#watermark, printed: [...this.#printed] };
  }

  /** The time from which a run without this memory misses nothing, though it repeats events printed since. */
  get resumeAt(): Instant {
    const { start, overlap } = this.#watch;
    // `gt` is exclusive.
    return laterOf(instantAt(this.#watermark - Math.max(overlap, 1)), start);
  }

  get before(): Instant | undefined {
    return this.#watch.before;
  }

  get ended(): boolean {
    const { before } = this;
    return before !== undefined && this.#readTo >= milliseconds(before);
  }

  /**
   * Polls once, in as many slices of time as needed: yields events that were not printed, oldest first. The
   * caller has to `remember` the printed ones before it takes the next. If the service fails halfway, the
   * events read so far come before the error, unless they have to come in order; the next poll begins at the
   * same time.
   */
  async *poll(): AsyncGenerator<readonly WatchedItem[]> {
    this.#queries = addQueries(this.#queries, (await this.#parts.askQueries?.()) ?? []);
    yield* this.#follow(this.resumeAt, undefined, this.#watch.most);
  }

  remember(items: readonly Pick<WatchedItem, 'key' | 'createdBefore'>[]): void {
    for (const { key, createdBefore } of items)
      this.#printed.set(key, Math.max(createdBefore, this.#printed.get(key) ?? createdBefore));
  }

  /**
   * Reads the events from `after` to `end` (milliseconds) or to now, in two halves if there are more than
   * `most`.
   */
  async *#follow(
    after: Instant,
    end: number | undefined,
    most: number,
  ): AsyncGenerator<readonly WatchedItem[], void> {
    const { overlap, before } = this.#watch;
    const from = milliseconds(after);
    this.#forget(from - overlap);
    const found: WatchedItem[] = [];
    let polled: Polled;
    try {
      polled = await this.#read(after, end === undefined ? before : instantAt(end), most, found);
    } catch (error) {
      if (!this.#parts.signal.aborted && !this.#watch.isInOrder)
        yield this.#unseen(found, Number.MAX_SAFE_INTEGER);
      throw error;
    }
    const now = polled.serviceTime ?? this.#parts.now();
    const latest = end ?? now + DATE_GRAIN_MS;
    if (polled.complete) {
      yield this.#unseen(found, latest);
      this.#reach(end ?? now);
      return;
    }
    const length = Math.min(latest, before ? milliseconds(before) : latest) - from;
    if (length <= SHORTEST_SLICE_MS) return yield* this.#follow(after, end, Number.POSITIVE_INFINITY);
    const middle = from + Math.floor(length / 2);
    yield* this.#follow(after, middle, most);
    // `gt` is exclusive.
    yield* this.#follow(knownInstant(middle - 1), end, most);
  }

  #forget(before: number): void {
    for (const [key, createdBefore] of this.#printed) if (createdBefore <= before) this.#printed.delete(key);
  }

  /** Notes that all events created before the time (the service's clock, milliseconds) were printed. */
  #reach(time: number): void {
    const { before } = this.#watch;
    // Events created after `before` are left to the run that continues from here.
    const read = before ? Math.min(time, milliseconds(before)) : time;
    this.#readTo = Math.max(this.#readTo, read);
    // Otherwise one answer with a fast clock would hide the events until then.
    this.#watermark = Math.max(this.#watermark, Math.min(read, this.#parts.now()));
  }

  async #read(after: Instant, end: Instant | undefined, most: number, found: WatchedItem[]): Promise<Polled> {
    const createdOn = createdOnReader();
    let serviceTime: number | undefined;
    const { concurrency, signal, onForeignLinks } = this.#parts;
    // Every answer includes the events created before the earliest answer.
    const client = observed(this.#parts, ({ serviceTime: answeredAt }) => {
      if (answeredAt !== undefined) serviceTime = Math.min(serviceTime ?? answeredAt, answeredAt);
    });
    for (const query of this.#queries) {
      const slice = { ...query, after, before: end };
      const options = { query: slice, pageSize: PAGE_SIZE, concurrency, signal, onForeignLinks };
      for await (const { items: all, total } of readPages(client, options)) {
        if (found.length + Math.max(all.count, total ?? 0) > most) return { complete: false, serviceTime };
        const items = this.#watch.keep?.(all) ?? all;
        for (let index = 0; index < items.count; index++) {
          const key = items.keys[index] as number;
          const created = createdOn(items.bytes, items.start(index));
          found.push({ key, text: items.text(index), createdOn: created, createdBefore: 0 });
        }
      }
    }
    return { complete: true, serviceTime };
  }

  /** Returns the events not printed yet, each once, oldest first. `latest`: upper bound of their creation. */
  #unseen(found: readonly WatchedItem[], latest: number): WatchedItem[] {
    const fresh = new Map<number, WatchedItem>();
    for (const item of found) {
      const createdBefore = item.createdOn ? milliseconds(item.createdOn) + 1 : latest;
      // Keep the key longer if a later poll can find the event again.
      if (this.#printed.has(item.key)) this.remember([{ key: item.key, createdBefore }]);
      else fresh.set(item.key, { ...item, createdBefore });
    }
    return sortByCreation([...fresh.values()], 'oldest first', 'newest first');
  }
}

interface Polled {
  readonly complete: boolean;
  /** Milliseconds by the service's clock when it began to answer; undefined if it sends none. */
  readonly serviceTime: number | undefined;
}
