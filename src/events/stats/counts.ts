import type { Context } from '../../context.ts';
import { ServiceError } from '../../errors.ts';
import type { Service } from '../../http/service.ts';
import { startProgress } from '../../output/progress.ts';
import type { Reporter } from '../../output/reporter.ts';
import { adaptiveConcurrency } from '../adaptive-concurrency.ts';
import { askCount } from '../count.ts';
import { pageFetcher } from '../fetch-page.ts';
import { type Query, queryString } from '../query.ts';
import { readAhead } from '../read-ahead.ts';
import type { CountQueries } from './stats.ts';

/** Counts with `concurrency` requests at once, each query once. Throws `ServiceError` where there is no count. */
export function countQueries(
  service: Service,
  concurrency: number,
  context: Pick<Context, 'stderr' | 'environment' | 'clock' | 'signal'>,
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
