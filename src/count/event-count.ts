import type { Call } from '../command.ts';
import type { Context } from '../context.ts';
import type { EventFilters } from '../filters/event-filters.ts';
import { warnOfNoMatch } from '../filters/no-match.ts';
import { resolveFilters } from '../filters/resolve-filters.ts';
import type { Service } from '../http/service.ts';
import { PAGE_SIZE, type Query } from '../paging/event-query.ts';
import { adaptiveClient, askCount, type FoundPage } from '../paging/page.ts';
import { readAhead } from '../paging/read-ahead.ts';
import { readPages } from '../paging/read-pages.ts';
import { withService } from '../sign-in/session.ts';
import type { SourceOptions } from '../sources/event-source.ts';
import { openWithProgress, readNotice } from '../sources/find-events.ts';
import { previewRequests } from '../sources/request-preview.ts';
import { byServiceClock } from '../sources/service-clock.ts';
import { type StoredOptions, storedEvents } from '../sources/stored-events.ts';
import { startProgress } from '../terminal/progress.ts';
import { type Reporter, warnOfDoubts } from '../terminal/reporter.ts';

export interface CountOptions extends SourceOptions, Pick<StoredOptions, 'mustTell'> {
  /** Prints the requests in this form and sends nothing. */
  readonly preview: 'urls' | 'curl' | undefined;
}

/**
 * Returns the number of events that the filters choose, undefined after a preview; on a terminal a notice
 * says which they are.
 */
export async function countEvents(
  { from, filters, concurrency, preview, mustTell }: CountOptions,
  call: Call,
): Promise<number | undefined> {
  const { context, reporter } = call;
  if (preview) return await previewRequests(call, filters, filters.runHere ? PAGE_SIZE : 1, preview);
  if (from !== undefined)
    return countOf(storedEvents(from, filters, { context, onDoubt: warnOfDoubts(reporter), mustTell }));
  return await withService(call, async (service, settings) => {
    const chosen = await resolveFilters(filters, service, call.reporter);
    const { count, queries, lookedAt } = await countAll(service, chosen, concurrency, context, reporter);
    const [counted] = queries;
    // Of events that are only looked at, others are counted than those that the notice names.
    const verb = lookedAt === undefined ? 'counted' : 'searched';
    if (context.stdout.isTerminal && counted)
      reporter.notice(readNotice(verb, counted, lookedAt, filters.zone, settings, context));
    if (count === 0) await warnOfNoMatch(chosen, service, reporter);
    return count;
  });
}

interface Counted {
  readonly count: number;
  /** The queries counted, with the times of the filters resolved. */
  readonly queries: readonly Query[];
  /** The events that were looked at, if filters run here. */
  readonly lookedAt: number | undefined;
}

/** Counts the events that the filters choose, with `concurrency` requests at once. */
async function countAll(
  service: Service,
  filters: EventFilters,
  concurrency: number,
  context: Pick<Context, 'stdout' | 'stderr' | 'environment' | 'machine' | 'clock' | 'signal' | 'memory'>,
  reporter: Reporter,
): Promise<Counted> {
  if (filters.runHere) {
    reporter.notice(
      'reading the events to count them: the service does not filter by --where, --grep and --marketplace',
    );
    const search = await openWithProgress(service, filters, { concurrency }, context, reporter);
    return { count: await countOf(search.pages), queries: search.queries, lookedAt: search.lookedAt() };
  }
  const { clock, signal } = context;
  const { client: sender, width } = adaptiveClient(service, concurrency);
  const progress = startProgress(context, reporter, 'counting');
  let count = 0;
  let noticed = false;
  try {
    const { queries, client } = await byServiceClock(filters, sender, 1, clock, warnOfDoubts(reporter));
    const ask = (query: Query, ending: AbortSignal) => askCount(client, query, ending);
    for await (const { job: query, result } of readAhead(queries, ask, width, signal)) {
      if (result === undefined && !noticed) {
        noticed = true;
        reporter.notice('the service gives no count: reading every match to count it');
      }
      count +=
        result ??
        (await countOf(readPages(client, { query, pageSize: PAGE_SIZE, concurrency: width, signal })));
      progress.update({ events: count });
    }
    return { count, queries, lookedAt: undefined };
  } finally {
    progress.stop();
  }
}

/** The number of events in some pages. */
async function countOf(pages: AsyncIterable<FoundPage>): Promise<number> {
  let events = 0;
  for await (const { items } of pages) events += items.count;
  return events;
}
