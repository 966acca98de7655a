import type { Context } from '../context.ts';
import { waitText } from '../http/retry.ts';
import type { Service } from '../http/service.ts';
import { isGuid } from '../items/guid.ts';
import { createRowReader } from '../items/item-cells.ts';
import type { Items } from '../items/items.ts';
import { valueText } from '../items/value-text.ts';
import { startProgress } from '../terminal/progress.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { askCount } from './event-count.ts';
import type { EventFilters } from './event-filters.ts';
import { PAGE_SIZE, type Query } from './event-query.ts';
import { askEventTypes, eventTypeNames, warnOfUnlisted } from './event-types.ts';
import { pageFetcher } from './fetch-page.ts';
import { readMerged } from './find-events.ts';
import { countQueries, gatherStats, type Stats } from './statistics.ts';
import { type StatsWindow, statsWindow } from './statistics-window.ts';

export interface SubscriptionTally {
  /** Null for the failures of subscriptions that the latest failures do not name, taken together. */
  readonly subscriptionId: string | null;
  readonly failed: number;
}

export interface ReportData {
  readonly window: StatsWindow;
  /** Undefined where the service gives no counts. */
  readonly stats: Stats | undefined;
  /** Worst first; empty where the events name no subscription. */
  readonly subscriptions: readonly SubscriptionTally[];
  /** The latest failures, in pages; at most as many as were asked for. */
  readonly failures: readonly Items[];
}

export interface ReportOptions {
  readonly limit: number;
  readonly buckets: number | undefined;
  readonly concurrency: number;
}

/** Beyond these a chart of subscriptions is no help. */
const MAX_SUBSCRIPTIONS = 20;

/** Everything that a report shows: counts by the service, and the latest failures themselves. */
export async function gatherReport(
  service: Service,
  filters: EventFilters,
  options: ReportOptions,
  context: Pick<Context, 'stderr' | 'environment' | 'clock' | 'signal'>,
  reporter: Reporter,
): Promise<ReportData> {
  const { clock, signal } = context;
  const { page, serviceTime } = await askEventTypes(service, clock);
  const window = statsWindow(filters, serviceTime ?? clock.now());
  const { after, before } = window;
  const within = window.queries.map((query): Query => ({ ...query, after, before }));
  const failed = within.map((query): Query => ({ ...query, publishStatus: 'FAILED' }));
  const failures = await latest(service, failed, options, context, reporter);
  const counted = await askCount(pageFetcher(service, clock), service.baseUrl, within[0] as Query, signal);
  if (counted === undefined) return { window, stats: undefined, subscriptions: [], failures };
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
  return { window, stats, subscriptions: [...tallies, ...others], failures };
}

/** The latest failures, as the service lists the newest events first. */
async function latest(
  service: Service,
  queries: readonly Query[],
  { limit, concurrency }: ReportOptions,
  context: Pick<Context, 'stderr' | 'environment' | 'clock' | 'signal'>,
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

function subscriptionsOf(pages: readonly Items[]): string[] {
  const read = createRowReader([{ text: 'subscriptionId', steps: ['subscriptionId'] }], valueText, '');
  const seen = new Map<string, number>();
  for (const page of pages) {
    for (const [id = ''] of read(page)) {
      // The query key takes GUIDs alone (service description, part 4).
      if (isGuid(id)) seen.set(id.toLowerCase(), (seen.get(id.toLowerCase()) ?? 0) + 1);
    }
  }
  return [...seen]
    .sort((a, b) => b[1] - a[1])
    .slice(0, MAX_SUBSCRIPTIONS)
    .map(([id]) => id);
}
