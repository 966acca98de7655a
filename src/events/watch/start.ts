import type { Context } from '../../context.ts';
import { UsageError } from '../../errors.ts';
import type { Service } from '../../http/service.ts';
import type { ItemPage } from '../../output/item-format.ts';
import { adaptiveConcurrency } from '../adaptive-concurrency.ts';
import { pageFetcher } from '../fetch-page.ts';
import { type FilterFlags, filterQueries } from '../filter-flags.ts';
import { compareInstants, type Instant, instantAt } from '../instant.ts';
import { type Query, searchUrl } from '../query.ts';
import { Follower } from './follower.ts';

/** Some 10 MB of events. */
const MOST = 20_000;
/** Earlier events that show how wide a table's columns have to be. */
const SAMPLE = 100;

interface Following {
  readonly overlap: number;
  readonly concurrency: number;
  /** Whether a sample of earlier events is wanted. */
  readonly sampled: boolean;
}

/**
 * Asks the service once, for its time and for whether it answers at all: what is wrong now is an error now. Throws
 * `UsageError` where the flags leave nothing to watch.
 */
export async function startFollowing(
  service: Service,
  flags: FilterFlags,
  { overlap, concurrency, sampled }: Following,
  { clock, signal }: Pick<Context, 'clock' | 'signal'>,
): Promise<{ follower: Follower; sample: ItemPage }> {
  const { width, onRetry } = adaptiveConcurrency(concurrency);
  const fetchPage = pageFetcher(service, clock, onRetry);
  const { baseUrl } = service;
  const [first] = filterQueries(flags, clock.now());
  const count = sampled ? SAMPLE : 1;
  const { page, serviceTime } = await fetchPage(
    searchUrl(baseUrl, first as Query, { start: 1, count }),
    signal,
  );
  const now = serviceTime ?? clock.now();
  const queries = filterQueries(flags, now);
  const { after, before } = queries[0] as Query;
  const start = after ?? (instantAt(now) as Instant);
  if (before && compareInstants(start, before) >= 0)
    throw new UsageError(`--before: ${before.text} has passed: the service's time is ${start.text}`);
  const follower = new Follower(
    { queries, start, before, overlap, most: MOST },
    { fetchPage, baseUrl, concurrency: width, signal, now: () => clock.now() },
  );
  return { follower, sample: page.items };
}
