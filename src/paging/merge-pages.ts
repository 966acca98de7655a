import { createdOnReader } from '../items/item-times.ts';
import { Items } from '../items/items.ts';
import { compareInstants, type Instant } from '../time/instant.ts';
import type { FoundPage } from './page.ts';
import { readAhead } from './read-ahead.ts';

/** Most events passed on together. */
const BATCH = 500;

interface Due {
  readonly text: Buffer;
  readonly createdOn: Instant | undefined;
}

interface Stream {
  readonly pages: AsyncGenerator<FoundPage>;
  total: number | undefined;
  /**
   * The remaining events of the current page, in reverse: the next is the last; empty after the last page.
   */
  events: Due[];
}

type Compare = (one: Due, other: Due) => number | undefined;

/**
 * Merges the pages of several searches in order of creation: newest first, or oldest first if the service's
 * own pages are. Holds one page of each search at a time. Events without a time come as soon as they are
 * read. `onDoubt`: called once if such events, or unordered pages, keep the result from being in order.
 */
export async function* mergePages(
  searches: readonly AsyncGenerator<FoundPage>[],
  width: () => number,
  signal: AbortSignal,
  onDoubt?: (doubt: string) => void,
): AsyncGenerator<FoundPage> {
  const streams = searches.map((pages): Stream => ({ pages, total: 0, events: [] }));
  try {
    for await (const _ of readAhead(streams, advance, width, signal));
    const total = sumOfTotals(streams);
    for await (const batch of mergedBatches(streams, onDoubt)) yield { items: Items.of(batch), total };
  } finally {
    for (const { pages } of streams) await pages.return(undefined);
  }
}

/** Yields the events of ready streams, in order, and always before it waits for a page. */
async function* mergedBatches(
  streams: readonly Stream[],
  onDoubt?: (doubt: string) => void,
): AsyncGenerator<Buffer[]> {
  let open = streams.filter(({ events }) => events.length > 0);
  const compare = serviceOrder(open);
  let isDoubted = false;
  let batch: Buffer[] = [];
  while (open.length > 0) {
    const stream = nextStream(open, compare);
    const event = stream.events.pop() as Due;
    batch.push(event.text);
    if (stream.events.length === 0 || batch.length === BATCH) {
      yield batch;
      batch = [];
    }
    if (stream.events.length === 0) await advance(stream);
    if (stream.events.length === 0) {
      open = open.filter((other) => other !== stream);
      continue;
    }
    const doubt = isDoubted ? undefined : doubtOfOrder(compare(event, nextOf(stream.events)));
    if (doubt === undefined) continue;
    isDoubted = true;
    onDoubt?.(doubt);
  }
}

/** Takes the order from the first page that shows one; newest first by default. */
function serviceOrder(open: readonly Stream[]): Compare {
  const orders = open.map(({ events }) => compareTimes(nextOf(events), events[0] as Due));
  const isNewestFirst = (orders.find((order) => order) ?? 1) > 0;
  return (one, other) => (isNewestFirst ? compareTimes(one, other) : compareTimes(other, one));
}

/** Returns the stream whose next event is due. An event without a time is due at once. */
function nextStream(open: readonly Stream[], compare: Compare): Stream {
  return open.reduce((first, other) => {
    const next = nextOf(first.events);
    const order = compare(nextOf(other.events), next);
    const isOtherDue = order === undefined ? next.createdOn : order > 0;
    return isOtherDue ? other : first;
  });
}

const UNTIMED = 'some events have no creation time: the events of several filters are not in order';
const UNORDERED =
  'the service does not return events in order of time: the events of several filters are not in order either';

function doubtOfOrder(order: number | undefined): string | undefined {
  if (order === undefined) return UNTIMED;
  return order < 0 ? UNORDERED : undefined;
}

function sumOfTotals(streams: readonly Stream[]): number | undefined {
  let sum = 0;
  for (const { total } of streams) {
    if (total === undefined) return undefined;
    sum += total;
  }
  return sum;
}

async function advance(stream: Stream): Promise<void> {
  const createdOn = createdOnReader();
  while (stream.events.length === 0) {
    const { done, value } = await stream.pages.next();
    if (done) return;
    const { items, total } = value;
    stream.total = total;
    const timeAt = (index: number) => createdOn(items.bytes, items.start(index));
    const events = items.texts().map((text, index) => ({ text, createdOn: timeAt(index) }));
    stream.events = events.reverse();
  }
}

function nextOf(events: readonly Due[]): Due {
  return events.at(-1) as Due;
}

/** Returns a positive number if the first is later; undefined if one of them has no time. */
function compareTimes(one: Due, other: Due): number | undefined {
  return one.createdOn && other.createdOn && compareInstants(one.createdOn, other.createdOn);
}
