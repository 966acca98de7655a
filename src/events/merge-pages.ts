import { createdOnReader, directionBetween } from '../json/item-fields.ts';
import { Items } from '../json/items.ts';
import { compareInstants, type Instant } from '../time/instant.ts';
import type { FoundPage } from './page.ts';
import { readAhead } from './read-ahead.ts';

/** The maximum number of events passed on together. */
const BATCH = 500;

/**
 * Merges the pages of several searches in order of creation: newest first, or oldest first if the service's own pages
 * are. Holds one page of each search at a time. Events without a time come as soon as they are read. `onDoubt` is
 * called once if such events, or unordered pages, keep the result from being in order.
 */
export async function* mergePages(
  searches: readonly AsyncGenerator<FoundPage>[],
  width: () => number,
  signal: AbortSignal,
  onDoubt?: (doubt: string) => void,
): AsyncGenerator<FoundPage> {
  const streams = searches.map((pages) => new Stream(pages));
  let doubt: string | undefined;
  try {
    for await (const _ of readAhead(streams, (stream) => stream.advance(), width, signal));
    const total = streams.reduce<number | undefined>(
      (sum, stream) => (sum === undefined || stream.total === undefined ? undefined : sum + stream.total),
      0,
    );
    let open = streams.filter(({ items }) => items);
    const direction = open
      .map(({ items }) => items && directionBetween(items, items))
      .find((known) => known !== undefined);
    /** Positive if the first one comes first. */
    const compare = (one: Instant, other: Instant) =>
      direction === 'oldest first' ? compareInstants(other, one) : compareInstants(one, other);
    let batch: Buffer[] = [];
    while (open.length > 0) {
      const next = open.reduce((best, { createdOn }, index) => {
        const first = (open[best] as Stream).createdOn;
        const isFirst =
          createdOn && first ? compare(createdOn, first) > 0 : !createdOn && first !== undefined;
        return isFirst ? index : best;
      }, 0);
      const stream = open[next] as Stream;
      const { createdOn } = stream;
      const isLast = stream.isLastOfPage;
      batch.push(stream.take());
      if (isLast || batch.length === BATCH) {
        yield { items: Items.of(batch), total };
        batch = [];
      }
      if (isLast) await stream.advance();
      else stream.look();
      if (!stream.items) open = open.toSpliced(next, 1);
      else if (!doubt) {
        doubt = doubtOf(createdOn, stream.createdOn, compare);
        if (doubt) onDoubt?.(doubt);
      }
    }
  } finally {
    for (const stream of streams) await stream.pages.return(undefined);
  }
}

/** A reason to doubt the order of what is merged, by two neighbouring events of one search. */
function doubtOf(
  before: Instant | undefined,
  next: Instant | undefined,
  compare: (one: Instant, other: Instant) => number,
): string | undefined {
  if (!before || !next)
    return 'some events have no creation time: the events of several filters are not in order';
  return compare(before, next) < 0
    ? 'the service does not return events in order of time: the events of several filters are not in order either'
    : undefined;
}

/** Reads the pages of one search event by event. */
class Stream {
  readonly pages: AsyncGenerator<FoundPage>;
  readonly #createdOn = createdOnReader();
  #index = 0;
  /** The page at hand; undefined after the last one. */
  items: Items | undefined;
  /** The search's number of events by the page at hand; 0 if it has none. */
  total: number | undefined = 0;
  /** When the next event was created. */
  createdOn: Instant | undefined;

  constructor(pages: AsyncGenerator<FoundPage>) {
    this.pages = pages;
  }

  get isLastOfPage(): boolean {
    return this.#index + 1 === this.items?.count;
  }

  /** Reads the next page that has events. */
  async advance(): Promise<void> {
    do {
      const { done, value } = await this.pages.next();
      this.items = done ? undefined : value.items;
      if (!done) this.total = value.total;
    } while (this.items?.count === 0);
    this.#index = 0;
    this.look();
  }

  /** The next event's text. */
  take(): Buffer {
    return (this.items as Items).text(this.#index++);
  }

  /** Reads the time of the page's next event. */
  look(): void {
    const { items } = this;
    this.createdOn = items && this.#createdOn(items.bytes, items.start(this.#index));
  }
}
