import type { Context } from '../context.ts';
import { waitText } from '../http/retry.ts';
import type { Service } from '../http/service.ts';
import { isGuid } from '../json/guid.ts';
import { createRowReader } from '../json/item-cells.ts';
import { itemFilter, parseCondition } from '../json/item-conditions.ts';
import { createdOnReader, type FieldPath, memberPath } from '../json/item-fields.ts';
import { Items } from '../json/items.ts';
import { valueText } from '../json/json-scanner.ts';
import { startProgress } from '../terminal/progress.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { compareInstants, type Instant } from '../time/instant.ts';
import type { EventFilters } from './event-filters.ts';
import { PAGE_SIZE, type Query } from './event-query.ts';
import { askEventTypes, eventTypeNames, warnOfUnlisted } from './event-types.ts';
import { readMerged, readWithProgress } from './find-events.ts';
import { EventGroups } from './group-events.ts';
import type { FoundPage } from './merge-pages.ts';
import { askCount, pageFetcher } from './page.ts';
import { countQueries, gatherStats, type Stats } from './statistics.ts';
import { type StatsWindow, statsWindow } from './statistics-window.ts';
import { EventTally } from './tally-events.ts';

export interface SubscriptionTally {
  /** Null for all subscriptions together that the latest failures do not name. */
  readonly subscriptionId: string | null;
  readonly failed: number;
}

export interface ReportData {
  readonly window: StatsWindow;
  /** Undefined if the service gives no counts. */
  readonly stats: Stats | undefined;
  /** Worst first; empty if the events name no subscription. */
  readonly subscriptions: readonly SubscriptionTally[];
  /** The latest failures, in pages; at most as many as requested. */
  readonly failures: readonly Items[];
  /** All failures, grouped by the requested fields. */
  readonly groups: EventGroups | undefined;
}

export interface ReportOptions {
  /** Fields to group the failures by. */
  readonly by: readonly FieldPath[] | undefined;
  readonly limit: number;
  readonly buckets: number | undefined;
  readonly concurrency: number;
}

/** The maximum number of subscriptions in a chart. */
const MAX_SUBSCRIPTIONS = 20;

/** Reads everything that a report shows: the service's counts, and the latest failures. */
export async function gatherReport(
  service: Service,
  filters: EventFilters,
  options: ReportOptions,
  context: Pick<Context, 'stdout' | 'stderr' | 'environment' | 'clock' | 'signal'>,
  reporter: Reporter,
): Promise<ReportData> {
  const { clock, signal } = context;
  const { page, serviceTime } = await askEventTypes(service, clock);
  const window = statsWindow(filters, serviceTime ?? clock.now());
  const { after, before } = window;
  if (filters.keep) {
    const reading = { concurrency: options.concurrency, within: window };
    const pages = readWithProgress(service, filters, reading, context, reporter);
    return reportOfEvents(window, pages, options);
  }
  const within = window.queries.map((query): Query => ({ ...query, after, before }));
  const failed = within.map((query): Query => ({ ...query, publishStatus: 'FAILED' }));
  const failures = await latest(service, failed, options, context, reporter);
  const counted = await askCount(pageFetcher(service, clock), service.baseUrl, within[0] as Query, signal);
  const groups = options.by && new EventGroups(options.by);
  if (groups) {
    const reading = { concurrency: options.concurrency, within: window };
    const pages = readWithProgress(service, filters.withStatuses('FAILED'), reading, context, reporter);
    for await (const { items } of pages) groups.add(items);
  }
  if (counted === undefined) return { window, stats: undefined, subscriptions: [], failures, groups };
  const count = countQueries(service, options.concurrency, context, reporter);
  const types = filters.eventTypes.length > 0 ? null : eventTypeNames(page.items);
  const stats = await gatherStats(window, types, options.buckets, count);
  if (stats.total === 0) warnOfUnlisted(filters, page.items, reporter);
  const ids = subscriptionsOf(failures);
  const cells = ids.map((subscriptionId) =>
    failed
      .filter((query) => !query.subscriptionId || query.subscriptionId.toLowerCase() === subscriptionId)
      .map((query) => ({ ...query, subscriptionId })),
  );
  const counts = (await count(cells.flat())).values();
  const tallies = cells.map(
    (cell, index): SubscriptionTally => ({
      subscriptionId: ids[index] as string,
      failed: cell.reduce((sum) => sum + (counts.next().value as number), 0),
    }),
  );
  const rest = (stats.failed ?? 0) - tallies.reduce((sum, tally) => sum + tally.failed, 0);
  const others = ids.length > 0 && rest > 0 ? [{ subscriptionId: null, failed: rest }] : [];
  tallies.sort((a, b) => b.failed - a.failed);
  return { window, stats, subscriptions: [...tallies, ...others], failures, groups };
}

/** The same from the events themselves, for filters that the service cannot count by. */
export async function reportOfEvents(
  window: StatsWindow,
  pages: AsyncIterable<FoundPage>,
  { by, limit, buckets }: Pick<ReportOptions, 'by' | 'limit' | 'buckets'>,
): Promise<ReportData> {
  const tally = new EventTally(window, buckets);
  const groups = by && new EventGroups(by);
  const isFailed = itemFilter([parseCondition('publishStatus = FAILED', '--status', 0)], []);
  const createdOn = createdOnReader();
  const bySubscription = new Map<string, number>();
  let latest: { text: Buffer; at: Instant | undefined }[] = [];
  for await (const { items } of pages) {
    tally.add(items);
    const failed = isFailed(items);
    groups?.add(failed);
    for (const id of subscriptionIds(failed)) bySubscription.set(id, (bySubscription.get(id) ?? 0) + 1);
    for (const text of failed.texts()) latest.push({ text: Buffer.from(text), at: createdOn(text, 0) });
    if (latest.length > 4 * limit) latest = newestOf(latest, limit);
  }
  const all = [...bySubscription].map(
    ([subscriptionId, failed]): SubscriptionTally => ({ subscriptionId, failed }),
  );
  all.sort((a, b) => b.failed - a.failed);
  const rest = all.slice(MAX_SUBSCRIPTIONS).reduce((sum, { failed }) => sum + failed, 0);
  const others = rest > 0 ? [{ subscriptionId: null, failed: rest }] : [];
  return {
    window,
    stats: tally.stats,
    subscriptions: [...all.slice(0, MAX_SUBSCRIPTIONS), ...others],
    failures: [Items.of(newestOf(latest, limit).map(({ text }) => text))],
    groups,
  };
}

function newestOf<Dated extends { readonly at: Instant | undefined }>(
  events: readonly Dated[],
  limit: number,
): Dated[] {
  const compare = (a: Dated, b: Dated) => (a.at && b.at ? compareInstants(b.at, a.at) : 0);
  return events.toSorted(compare).slice(0, limit);
}

/** The latest failures, as the service lists the newest events first. */
async function latest(
  service: Service,
  queries: readonly Query[],
  { limit, concurrency }: ReportOptions,
  context: Pick<Context, 'stdout' | 'stderr' | 'environment' | 'clock' | 'signal'>,
  reporter: Reporter,
): Promise<Items[]> {
  const progress = startProgress(context, reporter, 'reading failures');
  const fetchPage = pageFetcher(service, context.clock, (attempt) =>
    progress.update({ note: waitText(attempt) }),
  );
  const { signal } = context;
  const options = { pageSize: PAGE_SIZE, limit, signal, concurrency: () => concurrency };
  const pages: Items[] = [];
  let events = 0;
  try {
    for await (const { items } of readMerged(fetchPage, service.baseUrl, queries, options)) {
      pages.push(items);
      events += items.count;
      progress.update({ events, note: '' });
    }
  } finally {
    progress.stop();
  }
  return pages;
}

/** The subscriptions that occur most in some pages. */
function subscriptionsOf(pages: readonly Items[]): string[] {
  const seen = new Map<string, number>();
  for (const id of pages.flatMap(subscriptionIds)) seen.set(id, (seen.get(id) ?? 0) + 1);
  return [...seen]
    .sort((a, b) => b[1] - a[1])
    .slice(0, MAX_SUBSCRIPTIONS)
    .map(([id]) => id);
}

/** The subscription id of each item that has one. The query key takes GUIDs only (service description, part 4). */
function subscriptionIds(items: Items): string[] {
  const read = createRowReader([memberPath('subscriptionId')], valueText, '');
  return read(items).flatMap(([id = '']) => (isGuid(id) ? [id.toLowerCase()] : []));
}
