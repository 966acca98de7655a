import type { Context } from '../context.ts';
import type { Service } from '../http/service.ts';
import { startProgress } from '../output/progress.ts';
import type { Reporter } from '../output/reporter.ts';
import { adaptiveConcurrency } from './adaptive-concurrency.ts';
import { askCount, countByReading } from './count.ts';
import { pageFetcher } from './fetch-page.ts';
import type { Query } from './query.ts';
import { readAhead } from './read-ahead.ts';

/** The number of events that match any of the queries, which must not overlap; `concurrency` requests at once. */
export async function countAll(
  service: Service,
  queries: readonly Query[],
  concurrency: number,
  context: Pick<Context, 'stderr' | 'environment' | 'clock' | 'signal'>,
  reporter: Reporter,
): Promise<number> {
  const { baseUrl } = service;
  const { clock, signal } = context;
  const { width, onRetry } = adaptiveConcurrency(concurrency);
  const fetchPage = pageFetcher(service, clock, onRetry);
  const progress = startProgress(context, reporter, 'counting');
  let total = 0;
  let noticed = false;
  try {
    const ask = (query: Query, ending: AbortSignal) => askCount(fetchPage, baseUrl, query, ending);
    for await (const { job, result } of readAhead(queries.values(), ask, width, signal)) {
      if (result === undefined && !noticed) {
        noticed = true;
        reporter.notice('the service gives no count: reading every match to count it');
      }
      const onPage = (events: number) => progress.update({ events: total + events });
      total += result ?? (await countByReading(fetchPage, baseUrl, job, width, signal, onPage));
    }
  } finally {
    progress.stop();
  }
  return total;
}
