import { createdOnReader, type Direction, directionBetween } from '../items/item-times.ts';
import { Items } from '../items/items.ts';
import { PAGE_SIZE, type Query } from '../paging/event-query.ts';
import { askCount, askPage, type FoundPage, type PageClient } from '../paging/page.ts';
import { compareInstants, type Instant } from '../time/instant.ts';

/**
 * Reads events in a direction; `limit` counts from that end. If the first page shows that the service lists
 * the other way, reads the service's last events by `tail`, or else all events.
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
 * Sorts by creation, unknown times last. Events of the same moment keep their order, or are reversed along
 * with the others. `assumed` is the given order if no time reveals it.
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

/** Maximum attempts to read the last events if their number changes meanwhile. */
const MAX_TAIL_READS = 3;

/** The last `limit` events in the service's order; undefined if its counts and pages disagree. */
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
