import { createdOnReader } from '../items/item-times.ts';
import { Items } from '../items/items.ts';
import { compareInstants, type Instant } from '../time/instant.ts';
import type { FoundPage } from './page.ts';
import { readAhead } from './read-ahead.ts';

/** The maximum number of events passed on together. */
const BATCH = 500;

interface Due {
  readonly text: Buffer;
  readonly createdOn: Instant | undefined;
}

interface Stream {
  readonly pages: AsyncGenerator<FoundPage>;
  /** The search's number of events by the page at hand; 0 if it has none. */
  total: number | undefined;
  /**
   * The events of the page at hand that are left, in reverse: the next is the last; none after the last page.
   */
  events: Due[];
}

/** Positive if the first one comes first; undefined if one of them has no time. */
type Compare = (one: Due, other: Due) => number | undefined;

/**
 * Merges the pages of several searches in order of creation: newest first, or oldest first if the service's
 * own pages are. Holds one page of each search at a time. Events without a time come as soon as they are
 * read. `onDoubt` is called once if such events, or unordered pages, keep the result from being in order.
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

/** The events of streams that are ready, in order; the last ones before a page is asked for come at once. */
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

/** The order of the first page whose events tell it: newest first unless that one is the other way round. */
function serviceOrder(open: readonly Stream[]): Compare {
  const orders = open.map(({ events }) => compareTimes(nextOf(events), events[0] as Due));
  const isNewestFirst = (orders.find((order) => order) ?? 1) > 0;
  return (one, other) => (isNewestFirst ? compareTimes(one, other) : compareTimes(other, one));
}

/** The stream whose next event is due. One without a time is due at once. */
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

/** The doubt about two events of one search, by their order. */
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

/** Reads the next page that has events, if those of the page at hand are through. */
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

/** Positive if the first one is the later; undefined if one of them has no time. */
function compareTimes(one: Due, other: Due): number | undefined {
  return one.createdOn && other.createdOn && compareInstants(one.createdOn, other.createdOn);
}
