import type { Context } from '../context.ts';
import { pageFetcher } from '../events/fetch-page.ts';
import type { Query } from '../events/query.ts';
import { readPages } from '../events/read-pages.ts';
import type { Service } from '../http/service.ts';
import type { Progress } from '../output/progress.ts';
import { eventsOf, type FoundEvent } from './items.ts';

export interface Finding {
  readonly service: Service;
  readonly queries: readonly Query[];
  readonly context: Pick<Context, 'clock' | 'signal'>;
  readonly progress: Progress;
}

const PAGE_SIZE = 500;
/** Handing over takes longer than finding: more pages ahead would only wait. */
const PAGES_AHEAD = 2;

/** The events of every search, one after the other. */
export async function* foundEvents({
  service,
  queries,
  context,
  progress,
}: Finding): AsyncGenerator<FoundEvent> {
  const { clock, signal } = context;
  let pages = 0;
  const fetchPage = pageFetcher(service, clock, ({ reason, delay }) =>
    progress.update({ note: `${reason}, trying again in ${Math.ceil(delay / 1000)} s` }),
  );
  for (const query of queries) {
    const options = {
      baseUrl: service.baseUrl,
      query,
      pageSize: PAGE_SIZE,
      concurrency: () => PAGES_AHEAD,
      signal,
    };
    for await (const { items, total } of readPages(fetchPage, options)) {
      progress.update({ pages: ++pages, total: queries.length === 1 ? total : undefined });
      yield* eventsOf(items);
    }
  }
}
