import { createdOnReader, type Direction, directionBetween } from '../items/item-times.ts';
import { Items } from '../items/items.ts';
import { PAGE_SIZE, type Query } from '../paging/event-query.ts';
import { askCount, askPage, type FoundPage, type PageClient } from '../paging/page.ts';
import { compareInstants, type Instant } from '../time/instant.ts';

/**
 * Reads events in a direction, whichever the service's own is: `limit` counts from that end. Only a first
 * page that shows the other direction costs more: `tail` asks for the service's last events at once, or else
 * all of them are read.
 */
export async function* readInDirection(
  read: (limit: number) => AsyncGenerator<FoundPage>,
  direction: Direction,
  limit: number,
  tail?: () => Promise<Items | undefined>,
): AsyncGenerator<FoundPage> {
  const pages = read(limit);
  const { done, value: first } = await pages.next();
  if (done) return;
  if (directionBetween(first.items, first.items) === direction) {
    yield first;
    return yield* pages;
  }
  await pages.return(undefined);
  const last = Number.isFinite(limit) ? await tail?.() : undefined;
  if (last && directionBetween(first.items, last) === direction) return yield* read(limit);
  if (last) return yield { items: Items.of(last.texts().reverse()), total: first.total };
  yield* inDirection(read(Number.POSITIVE_INFINITY), direction, limit, first.total);
}

/** Holds all events in memory to put them in order. */
export async function* inDirection(
  pages: AsyncIterable<FoundPage>,
  direction: Direction,
  limit: number,
  total?: number,
): AsyncGenerator<FoundPage> {
  const events: { readonly text: Buffer; readonly createdOn: Instant | undefined }[] = [];
  const createdOn = createdOnReader();
  for await (const { items } of pages)
    for (const [item, text] of items.texts().entries())
      events.push({ text, createdOn: createdOn(items.bytes, items.start(item)) });
  const due = sortByCreation(events, direction, 'newest first').slice(0, limit);
  for (let at = 0; at < due.length; at += PAGE_SIZE)
    yield { items: Items.of(due.slice(at, at + PAGE_SIZE).map(({ text }) => text)), total };
}

/**
 * Returns the events in a direction, those without a time last. Events of one moment stay as they were, or
 * are reversed with all others. If no time tells how they were, it is as `assumed`.
 */
export function sortByCreation<Event extends { readonly createdOn: Instant | undefined }>(
  given: readonly Event[],
  direction: Direction,
  assumed = direction,
): Event[] {
  const events = [...given];
  const sign = direction === 'oldest first' ? 1 : -1;
  const compare = (one?: Instant, other?: Instant) =>
    one && other ? sign * compareInstants(one, other) : Number(!one) - Number(!other);
  const dated = events.filter(({ createdOn }) => createdOn);
  const [first, last] = [dated[0]?.createdOn, dated.at(-1)?.createdOn];
  if ((compare(first, last) || Number(assumed !== direction)) > 0) events.reverse();
  return events.sort((one, other) => compare(one.createdOn, other.createdOn));
}

/** The number of times that the last events are asked for, if their number changes meanwhile. */
const MAX_TAIL_READS = 3;

/**
 * The last `limit` events of a search in the service's order, if its counts and pages agree; otherwise
 * undefined.
 */
export async function readTail(
  client: PageClient,
  query: Query,
  limit: number,
  signal: AbortSignal,
  tries = MAX_TAIL_READS,
): Promise<Items | undefined> {
  const total = await askCount(client, query, signal);
  if (total === undefined || tries === 0) return undefined;
  const texts: Buffer[] = [];
  for (let start = Math.max(1, total - limit + 1); start <= total; start += PAGE_SIZE) {
    const count = Math.min(PAGE_SIZE, total - start + 1);
    const { page } = await askPage(client, query, { start, count }, signal);
    if (page.count !== total || page.items.count !== count)
      return readTail(client, query, limit, signal, tries - 1);
    texts.push(...page.items.texts());
  }
  return Items.of(texts);
}
