import type { Clock } from '../context.ts';
import type { EventFilters } from '../filters/event-filters.ts';
import { type Query, searchUrl } from '../paging/event-query.ts';
import type { FetchPage, PageAnswer, PageClient } from '../paging/page.ts';

/** `Date` has a resolution of one second. */
const TOLERANCE_MS = 2000;

/**
 * Resolves relative times by the service's clock. The first request, for `count` events, assumes this
 * machine's; if the answer's `Date` disagrees, times are resolved again. Otherwise the answer is reused for
 * the first page.
 */
export async function byServiceClock(
  filters: EventFilters,
  client: PageClient,
  count: number,
  clock: Pick<Clock, 'now'>,
  onDoubt?: (doubt: string) => void,
): Promise<{ queries: readonly Query[]; client: PageClient }> {
  const asked = clock.now();
  const queries = filters.queries(asked);
  if (!filters.isRelative && !filters.seemsToBeginLater(asked)) return { queries, client };
  const url = searchUrl(client.baseUrl, queries[0], { start: 1, count });
  const answer = await client.fetchPage(url);
  const { serviceTime } = answer;
  filters.requirePastStart(serviceTime ?? asked);
  if (
    filters.isRelative &&
    serviceTime !== undefined &&
    (serviceTime < asked - TOLERANCE_MS || serviceTime > clock.now() + TOLERANCE_MS)
  ) {
    const ahead = Math.round((asked - serviceTime) / 1000);
    onDoubt?.(
      `this machine's clock is ${Math.abs(ahead)} s ${ahead > 0 ? 'ahead of' : 'behind'} the service's: times are counted from the service's`,
    );
    return { queries: filters.queries(serviceTime), client };
  }
  let kept: PageAnswer | undefined = answer;
  const fetchPage: FetchPage = async (wanted, ...rest) => {
    if (!kept || wanted.href !== url.href) return client.fetchPage(wanted, ...rest);
    const page = kept;
    kept = undefined;
    return page;
  };
  return { queries, client: { ...client, fetchPage } };
}
