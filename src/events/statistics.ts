import type { Context } from '../context.ts';
import { ServiceError } from '../errors.ts';
import type { Service } from '../http/service.ts';
import { startProgress } from '../terminal/progress.ts';
import type { Reporter } from '../terminal/reporter.ts';
import type { Instant } from '../time/instant.ts';
import { type Query, queryString } from './event-query.ts';
import { askCount, pageFetcher } from './page.ts';
import { adaptiveConcurrency, readAhead } from './read-ahead.ts';
import { bucketEnds, type StatsWindow } from './statistics-window.ts';

/** Numbers of events. If only one status was requested, the other is null. */
export interface Tally {
  readonly total: number;
  readonly success: number | null;
  readonly failed: number | null;
}
export interface TypeTally extends Tally {
  /** Null for all types together that the service does not list. */
  readonly eventType: string | null;
}
export interface Bucket extends Tally {
  readonly from: Instant;
  readonly to: Instant;
}
export interface Stats extends Tally {
  readonly window: StatsWindow;
  readonly types: readonly TypeTally[];
  readonly buckets: readonly Bucket[];
  /** True if the result changed during the count: some differences were negative, and are shown as zero. */
  readonly moved: boolean;
}

/** Gets the number of events of each query from the service. */
export type CountQueries = (queries: readonly Query[]) => Promise<readonly number[]>;

/**
 * Counts events by type, status and time, without reading them. A bucket is the difference of two counts from the
 * window's start: whatever the service does at a boundary, an event is in exactly one bucket and all buckets add up to
 * the total. `types` is null where the window's queries name the types themselves.
 */
export async function gatherStats(
  window: StatsWindow,
  types: readonly string[] | null,
  bucketCount: number | undefined,
  count: CountQueries,
): Promise<Stats> {
  const ends = bucketEnds(window, bucketCount);
  const within = (query: Query, before: Instant): Query => ({ ...query, after: window.after, before });
  const named = types ?? [...new Set(window.queries.map(({ eventType }) => eventType as string))];
  const typeCells = named.map((eventType) =>
    window.queries
      .filter((query) => types || query.eventType === eventType)
      .map((query) => within({ ...query, eventType }, window.before)),
  );
  const endCells = ends.map((end) => window.queries.map((query) => within(query, end)));
  const read = await countCells([...typeCells, ...endCells], window.status, count);

  let moved = false;
  const difference = (a: number, b: number) => {
    if (a < b) moved = true;
    return Math.max(0, a - b);
  };
  const tallyOf = ({ all, failed }: Cell): Tally => {
    if (window.status === 'FAILED') return { total: all, success: null, failed: all };
    if (window.status === 'SUCCESS') return { total: all, success: all, failed: null };
    return { total: all, success: difference(all, failed), failed };
  };
  const minus = (a: Cell, b: Cell): Cell => ({
    all: difference(a.all, b.all),
    failed: difference(a.failed, b.failed),
  });
  const typeCounts = read.slice(0, named.length);
  const endCounts = read.slice(named.length);
  const whole = endCounts.at(-1) as Cell;
  const tallies: TypeTally[] = named.map((eventType, index) => ({
    eventType,
    ...tallyOf(typeCounts[index] as Cell),
  }));
  if (types) {
    const listed = typeCounts.reduce((a, b) => ({ all: a.all + b.all, failed: a.failed + b.failed }), NONE);
    const rest = tallyOf(minus(whole, listed));
    if (rest.total > 0) tallies.push({ eventType: null, ...rest });
  }
  const buckets = ends.map((to, index) => ({
    from: ends[index - 1] ?? window.after,
    to,
    ...tallyOf(minus(endCounts[index] as Cell, endCounts[index - 1] ?? NONE)),
  }));
  return { window, ...tallyOf(whole), types: tallies.sort(byFailure), buckets, moved };
}

interface Cell {
  readonly all: number;
  readonly failed: number;
}
const NONE: Cell = { all: 0, failed: 0 };

/** All counts at once, each query counted once. A cell is the sum of its queries. */
async function countCells(
  cells: readonly (readonly Query[])[],
  status: StatsWindow['status'],
  count: CountQueries,
): Promise<Cell[]> {
  const asked = cells.flat().flatMap((query) => {
    const first: Query = status ? { ...query, publishStatus: status } : query;
    return status ? [first] : [first, { ...query, publishStatus: 'FAILED' as const }];
  });
  const counts = (await count(asked)).values();
  const next = () => counts.next().value as number;
  return cells.map((queries) =>
    queries.reduce<Cell>(
      ({ all, failed }) => ({ all: all + next(), failed: failed + (status ? 0 : next()) }),
      NONE,
    ),
  );
}

/** The share of events that failed; null if there are none, or if only one status was requested. */
export function failureRate({ total, success, failed }: Tally): number | null {
  return total === 0 || success === null || failed === null ? null : failed / total;
}

/** Worst first: by rate, then by number of failures, of events, by name. */
export function byFailure(a: TypeTally, b: TypeTally): number {
  return (
    (failureRate(b) ?? -1) - (failureRate(a) ?? -1) ||
    (b.failed ?? 0) - (a.failed ?? 0) ||
    b.total - a.total ||
    (a.eventType ?? '\uffff').localeCompare(b.eventType ?? '\uffff', 'en')
  );
}

/** Counts with `concurrency` requests at once, each query once. Throws `ServiceError` where there is no count. */
export function countQueries(
  service: Service,
  concurrency: number,
  context: Pick<Context, 'stdout' | 'stderr' | 'environment' | 'clock' | 'signal'>,
  reporter: Reporter,
): CountQueries {
  return async (queries) => {
    const { width, onRetry } = adaptiveConcurrency(concurrency);
    const fetchPage = pageFetcher(service, context.clock, onRetry);
    const distinct = new Map(queries.map((query) => [queryString(query), query]));
    const progress = startProgress(context, reporter, 'counting');
    const counts = new Map<string, number>();
    const ask = ([, query]: [string, Query], ending: AbortSignal) =>
      askCount(fetchPage, service.baseUrl, query, ending);
    try {
      for await (const { job, result } of readAhead(distinct.entries(), ask, width, context.signal)) {
        if (result === undefined) throw uncounted();
        counts.set(job[0], result);
        progress.update({ note: `${counts.size} of ${distinct.size} counts` });
      }
    } finally {
      progress.stop();
    }
    return queries.map((query) => counts.get(queryString(query)) as number);
  };
}

function uncounted(): ServiceError {
  return new ServiceError('the service gives no count, and statistics are made of its counts', {
    next: 'download the events and count them: `hooktrail events search --ndjson`',
  });
}
