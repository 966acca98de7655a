import { compareInstants, type Instant, instantAt, milliseconds } from '../../items/instant.ts';
import type { Query } from '../event-query.ts';
import { type Polled, type PollParts, poll } from './watch-poll.ts';

export interface Watch {
  /** One for each combination of repeated flags; their times are replaced. */
  readonly queries: readonly Query[];
  /** Events created later than this. */
  readonly start: Instant;
  readonly before: Instant | undefined;
  /** How far each poll reaches back behind the one before, in milliseconds, for events that appear late. */
  readonly overlap: number;
  /** Events held in memory at once; a longer gap is caught up in slices of time. */
  readonly most: number;
}

type Parts = Omit<PollParts, 'onItem'> & { readonly now: () => number };
interface Found {
  readonly key: number;
  readonly item: WatchedItem;
}

/** The service's `Date` has no fraction: its clock may be this much further. */
const DATE_GRAIN = 1000;
/** Instants closer than this are not divided further. */
const SHORTEST_SLICE = 2000;

/**
 * Follows events by polling. All times are the service's; each poll begins at the one before, less the
 * overlap, so that whatever happened meanwhile (an outage, a laptop asleep) is caught up, and remembers what was handed on.
 */
export class Follower {
  readonly #watch: Watch;
  readonly #parts: Parts;
  readonly #memory = new WatchMemory();
  /** What was created before this has been handed on, but for late ones. */
  #watermark: number;
  #newest: Instant | undefined;

  constructor(watch: Watch, parts: Parts) {
    this.#watch = watch;
    this.#parts = parts;
    this.#watermark = milliseconds(watch.start);
  }

  /** From where another run misses nothing that was created later, and repeats nothing that was handed on. */
  get resumeAt(): Instant {
    const { start } = this.#watch;
    const reached = later(start, instantAt(this.#watermark) ?? start);
    return this.#newest ? later(this.#newest, reached) : reached;
  }

  /** Whether the service's clock has passed `before`. */
  get ended(): boolean {
    const { before } = this.#watch;
    return before !== undefined && this.#watermark >= milliseconds(before);
  }

  get remembered(): number {
    return this.#memory.size;
  }

  /**
   * One poll, in as many slices as it takes: new events, oldest first. When the service fails halfway, what it answered
   * comes out and the error after it; the next poll begins at the same time.
   */
  async *poll(): AsyncGenerator<readonly WatchedItem[]> {
    const { overlap } = this.#watch;
    let after = this.#lowest();
    this.#memory.forget(milliseconds(after));
    let sliceEnd: number | undefined;
    let most = this.#watch.most;
    for (;;) {
      const from = milliseconds(after);
      const before = sliceEnd === undefined ? this.#watch.before : instantAt(sliceEnd);
      const found: Found[] = [];
      let polled: Polled;
      try {
        polled = await this.#read(after, before, most, found);
      } catch (error) {
        if (!this.#parts.signal.aborted) yield this.#unseen(found, Number.POSITIVE_INFINITY);
        throw error;
      }
      const now = polled.serviceTime ?? this.#parts.now();
      if (!polled.complete) {
        const length = (sliceEnd ?? now + DATE_GRAIN) - from;
        if (length <= SHORTEST_SLICE) most = Number.POSITIVE_INFINITY;
        else sliceEnd = from + Math.floor(length / 2);
        continue;
      }
      const fresh = this.#unseen(found, sliceEnd ?? now + DATE_GRAIN);
      yield fresh;
      this.#note(fresh, now);
      this.#watermark = Math.max(this.#watermark, sliceEnd ?? now);
      if (sliceEnd === undefined) return;
      this.#memory.forget(sliceEnd - 1 - overlap);
      // `gt` leaves out its own instant.
      after = instantAt(sliceEnd - 1) as Instant;
      const next: number = sliceEnd + 2 * (sliceEnd - from);
      sliceEnd = next < now ? next : undefined;
      most = this.#watch.most;
    }
  }

  #lowest(): Instant {
    const { start, overlap } = this.#watch;
    return later(start, instantAt(this.#watermark - overlap) ?? start);
  }

  #read(after: Instant, before: Instant | undefined, most: number, found: Found[]): Promise<Polled> {
    const onItem = (key: number, item: WatchedItem) => void found.push({ key, item });
    return poll({ queries: this.#watch.queries, after, before, most }, { ...this.#parts, onItem });
  }

  #unseen(found: readonly Found[], createdBefore: number): WatchedItem[] {
    return oldestFirst(
      found.filter(({ key }) => this.#memory.add(key, createdBefore)).map(({ item }) => item),
    );
  }

  /** The newest that was handed on; one from the future would make a resumed run skip what comes before it. */
  #note(items: readonly WatchedItem[], now: number): void {
    for (const { createdOn } of items) {
      if (!createdOn || milliseconds(createdOn) > now + 2 * DATE_GRAIN) continue;
      this.#newest = this.#newest ? later(this.#newest, createdOn) : createdOn;
    }
  }
}

function later(a: Instant, b: Instant): Instant {
  return compareInstants(a, b) >= 0 ? a : b;
}

/**
 * Which events were printed, for as long as a later poll can meet them again. Each key is kept with a time that the event
 * was created before (the service's clock, milliseconds); once all polls begin after that time the key is of no use.
 */
export class WatchMemory {
  readonly #createdBefore = new Map<number, number>();

  /** Takes note of an event; true where it was unknown. */
  add(key: number, createdBefore: number): boolean {
    const known = this.#createdBefore.get(key);
    if (known === undefined || known < createdBefore) this.#createdBefore.set(key, createdBefore);
    return known === undefined;
  }

  /** Drops what no poll from this time on can meet. */
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
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
  /** Undefined where the item does not tell it. */
  readonly createdOn: Instant | undefined;
}

/**
 * Oldest first, as a follower expects it. Where an item does not tell its time all stay in the service's order, the last
 * first: searches are answered newest first as far as services are known to do.
 */
export function oldestFirst(items: readonly WatchedItem[]): WatchedItem[] {
  const reversed = items.toReversed();
  if (!reversed.every(({ createdOn }) => createdOn)) return reversed;
  return reversed.sort((a, b) => compareInstants(a.createdOn as Instant, b.createdOn as Instant));
}
