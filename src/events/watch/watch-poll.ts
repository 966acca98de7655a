import { createdOnReader } from '../../items/created-on.ts';
import type { Instant } from '../../items/instant.ts';
import { PAGE_SIZE, type Query } from '../event-query.ts';
import type { FetchPage } from '../fetch-page.ts';
import { readPages } from '../read-pages.ts';
import type { WatchedItem } from './watch-follower.ts';

export interface Poll {
  /** With the other filters, one for each combination of repeated flags. */
  readonly queries: readonly Query[];
  readonly after: Instant;
  readonly before: Instant | undefined;
  /** More events than this are not read: the caller asks for less time then. */
  readonly most: number;
}

export interface PollParts {
  readonly fetchPage: FetchPage;
  readonly baseUrl: URL;
  readonly concurrency: () => number;
  readonly signal: AbortSignal;
  /** Told each event as it is read, in the service's order. */
  readonly onItem: (key: number, item: WatchedItem) => void;
}

export interface Polled {
  /** False where there are more than `most`. */
  readonly complete: boolean;
  /** The service's time when it began to answer, in milliseconds; undefined where it tells none. */
  readonly serviceTime: number | undefined;
}

/** Reads all events of a span of time. */
export async function poll({ queries, after, before, most }: Poll, parts: PollParts): Promise<Polled> {
  const { baseUrl, concurrency, signal, onItem } = parts;
  const createdOn = createdOnReader();
  let serviceTime: number | undefined;
  let read = 0;
  for (const query of queries) {
    let answeredAt: number | undefined;
    const fetchPage: FetchPage = async (url, ending) => {
      const answer = await parts.fetchPage(url, ending);
      answeredAt ??= answer.serviceTime;
      return answer;
    };
    const bounded = { ...query, after, before };
    const options = { baseUrl, query: bounded, pageSize: PAGE_SIZE, concurrency, signal };
    for await (const { items, total } of readPages(fetchPage, options)) {
      // What was created before the earliest answer has been seen by all of them.
      serviceTime = Math.min(serviceTime ?? Number.POSITIVE_INFINITY, answeredAt ?? Number.POSITIVE_INFINITY);
      if (read + Math.max(items.count, total ?? 0) > most)
        return { complete: false, serviceTime: finite(serviceTime) };
      const { bytes, spans, keys, count } = items;
      for (let index = 0; index < count; index++) {
        const [start, end] = [spans[2 * index] as number, spans[2 * index + 1] as number];
        onItem(keys[index] as number, { bytes, start, end, createdOn: createdOn(bytes, start) });
      }
      read += count;
    }
  }
  return { complete: true, serviceTime: finite(serviceTime) };
}

function finite(time: number | undefined): number | undefined {
  return Number.isFinite(time) ? time : undefined;
}
