import type { KeepItems } from '../../json/item-conditions.ts';
import { createdOnReader } from '../../json/item-fields.ts';
import {
  compareInstants,
  type Instant,
  instantAt,
  knownInstant,
  laterOf,
  milliseconds,
} from '../../time/instant.ts';
import { PAGE_SIZE, type Query } from '../event-query.ts';
import type { FetchPage } from '../page.ts';
import { readPages } from '../read-pages.ts';

export interface Watch {
  /** One for each combination of repeated flags; their times are replaced. */
  readonly queries: readonly Query[];
  /** Events created later than this. */
  readonly start: Instant;
  readonly before: Instant | undefined;
  /** Keeps the events to print of those that the service found. */
  readonly keep: KeepItems | undefined;
  /** The time that each poll overlaps with the previous one, in milliseconds, for events that appear late. */
  readonly overlap: number;
  /** Events held in memory at once; a longer gap is caught up in slices of time. */
  readonly most: number;
}

/** The progress of a watch, from which another run can continue. */
export interface FollowerState {
  /** Events created later than this are watched. */
  readonly start: Instant;
  /** All events created before this were printed, except late ones; milliseconds since the epoch. */
  readonly watermark: number;
  /** The keys of events that a poll may find again, each with an upper bound of its creation time. */
  readonly printed: readonly (readonly [key: number, createdBefore: number])[];
}

interface Parts {
  readonly fetchPage: FetchPage;
  readonly baseUrl: URL;
  readonly concurrency: () => number;
  readonly signal: AbortSignal;
  /** This machine's time, for a service that sends no `Date`. */
  readonly now: () => number;
}

/** The service's `Date` has no fraction: its clock may be ahead by this much. */
const DATE_GRAIN = 1000;
/** A span shorter than this is not divided further. */
const SHORTEST_SLICE = 2000;

/**
 * Follows events by polling. All times are the service's; each poll begins at the one before, less the overlap, so that
 * it catches up after an outage or a laptop's sleep. Printed events are remembered for as long as a poll can find them
 * again.
 */
export class Follower {
  readonly #watch: Watch;
  readonly #parts: Parts;
  readonly #memory: WatchMemory;
  /** All events created before this were printed, except late ones. */
  #watermark: number;

  constructor(watch: Watch, parts: Parts, state?: FollowerState) {
    this.#watch = watch;
    this.#parts = parts;
    this.#watermark = state?.watermark ?? milliseconds(watch.start);
    this.#memory = new WatchMemory(state?.printed);
  }

  get state(): FollowerState {
    const { start } = this.#watch;
    return { start, watermark: this.#watermark, printed: this.#memory.entries };
  }

  /**
   * The time from which a run without this one's memory misses nothing. It prints events again that were printed since.
   */
  get resumeAt(): Instant {
    const { start, overlap } = this.#watch;
    return laterOf(instantAt(this.#watermark - overlap), start);
  }

  /** True if the service's clock has passed `before`. */
  get ended(): boolean {
    const { before } = this.#watch;
    return before !== undefined && this.#watermark >= milliseconds(before);
  }

  get remembered(): number {
    return this.#memory.size;
  }

  /**
   * One poll, in as many slices as needed: yields events that were not printed, oldest first. The caller has to
   * `remember` the printed ones before it takes the next. If the service fails halfway, the events read so far come
   * first and the error after them; the next poll begins at the same time.
   */
  async *poll(): AsyncGenerator<readonly WatchedItem[]> {
    const { overlap } = this.#watch;
    let after = this.resumeAt;
    this.#memory.forget(milliseconds(after));
    let sliceEnd: number | undefined;
    let most = this.#watch.most;
    for (;;) {
      const from = milliseconds(after);
      const before = sliceEnd === undefined ? this.#watch.before : instantAt(sliceEnd);
      const found: WatchedItem[] = [];
      let polled: Polled;
      try {
        polled = await this.#read(after, before, most, found);
      } catch (error) {
        if (!this.#parts.signal.aborted) yield this.#unseen(found, Number.MAX_SAFE_INTEGER);
        throw error;
      }
      const now = polled.serviceTime ?? this.#parts.now();
      if (!polled.complete) {
        const length = (sliceEnd ?? now + DATE_GRAIN) - from;
        if (length <= SHORTEST_SLICE) most = Number.POSITIVE_INFINITY;
        else sliceEnd = from + Math.floor(length / 2);
        continue;
      }
      yield this.#unseen(found, sliceEnd ?? now + DATE_GRAIN);
      this.#watermark = Math.max(this.#watermark, sliceEnd ?? now);
      if (sliceEnd === undefined) return;
      this.#memory.forget(sliceEnd - 1 - overlap);
      // `gt` leaves out its own instant.
      after = knownInstant(sliceEnd - 1);
      const next: number = sliceEnd + 2 * (sliceEnd - from);
      sliceEnd = next < now ? next : undefined;
      most = this.#watch.most;
    }
  }

  /** These were printed: no later poll yields them. */
  remember(items: readonly WatchedItem[]): void {
    for (const { key, createdBefore } of items) this.#memory.add(key, createdBefore);
  }

  /** Reads all events of a span of time, unless there are more than `most`. */
  async #read(
    after: Instant,
    before: Instant | undefined,
    most: number,
    found: WatchedItem[],
  ): Promise<Polled> {
    const { baseUrl, concurrency, signal, fetchPage: send } = this.#parts;
    const createdOn = createdOnReader();
    let serviceTime: number | undefined;
    for (const query of this.#watch.queries) {
      let answeredAt: number | undefined;
      const fetchPage: FetchPage = async (url, ending) => {
        const answer = await send(url, ending);
        answeredAt ??= answer.serviceTime;
        return answer;
      };
      const bounded = { ...query, after, before };
      const options = { baseUrl, query: bounded, pageSize: PAGE_SIZE, concurrency, signal };
      for await (const { items: all, total } of readPages(fetchPage, options)) {
        // Every answer includes the events created before the earliest answer.
        if (answeredAt !== undefined) serviceTime = Math.min(serviceTime ?? answeredAt, answeredAt);
        if (found.length + Math.max(all.count, total ?? 0) > most) return { complete: false, serviceTime };
        const items = this.#watch.keep?.(all) ?? all;
        const { bytes, keys, count } = items;
        for (let index = 0; index < count; index++) {
          const [start, end] = [items.start(index), items.end(index)];
          const key = keys[index] as number;
          found.push({ key, bytes, start, end, createdOn: createdOn(bytes, start), createdBefore: 0 });
        }
      }
    }
    return { complete: true, serviceTime };
  }

  /** The events that were not printed, each once, oldest first. `latest`: all of them were created before this time. */
  #unseen(found: readonly WatchedItem[], latest: number): WatchedItem[] {
    const fresh = new Map<number, WatchedItem>();
    for (const item of found) {
      const createdBefore = item.createdOn ? milliseconds(item.createdOn) + 1 : latest;
      // Kept longer if a later poll can find it again.
      if (this.#memory.has(item.key)) this.#memory.add(item.key, createdBefore);
      else fresh.set(item.key, { ...item, createdBefore });
    }
    return orderOldestFirst([...fresh.values()]);
  }
}

interface Polled {
  /** False if there are more events than requested. */
  readonly complete: boolean;
  /** The service's time when it began to answer, in milliseconds; undefined if it sends none. */
  readonly serviceTime: number | undefined;
}

/**
 * The events that were printed, for as long as a later poll can meet them again. Each key is kept with a time that the event
 * was created before (the service's clock, milliseconds); once all polls begin after that time the key is of no use.
 */
class WatchMemory {
  readonly #createdBefore: Map<number, number>;

  constructor(entries: FollowerState['printed'] = []) {
    this.#createdBefore = new Map(entries);
  }

  get entries(): FollowerState['printed'] {
    return [...this.#createdBefore];
  }

  has(key: number): boolean {
    return this.#createdBefore.has(key);
  }

  add(key: number, createdBefore: number): void {
    const known = this.#createdBefore.get(key);
    if (known === undefined || known < createdBefore) this.#createdBefore.set(key, createdBefore);
  }

  /** Drops the keys that no poll from this time on can find. */
  forget(from: number): void {
    for (const [key, createdBefore] of this.#createdBefore) {
      if (createdBefore <= from) this.#createdBefore.delete(key);
    }
  }

  get size(): number {
    return this.#createdBefore.size;
  }
}

/** One event's own bytes. */
export interface WatchedItem {
  readonly key: number;
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
  /** Undefined if the item has none. */
  readonly createdOn: Instant | undefined;
  /** An upper bound of its creation time by the service's clock, in milliseconds. */
  readonly createdBefore: number;
}

/**
 * Oldest first, as a follower expects it. If an item has no time, all stay in the service's order, or reversed where that
 * order is not seen to be oldest first.
 */
export function orderOldestFirst(items: readonly WatchedItem[]): WatchedItem[] {
  const dated = items.filter(({ createdOn }) => createdOn);
  const [first, last] = [dated[0]?.createdOn, dated.at(-1)?.createdOn];
  const isOldestFirst = first && last && compareInstants(first, last) < 0;
  const ordered = isOldestFirst ? [...items] : items.toReversed();
  if (dated.length < items.length) return ordered;
  return ordered.sort((a, b) => compareInstants(a.createdOn as Instant, b.createdOn as Instant));
}
