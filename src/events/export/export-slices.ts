import { type Query, searchUrl } from '../event-query.ts';
import type { FetchPage } from '../fetch-page.ts';
import type { IdentifiedItems } from '../page.ts';
import { totalOf } from '../read-account.ts';
import { readAhead } from '../read-ahead.ts';
import { IncompleteError, readPages } from '../read-pages.ts';

/** A search held to its window, and how many events are expected of it where that is known. */
export interface SliceToRead {
  readonly query: Query;
  readonly expected: number | null;
}

/** Takes what is read, one slice after the other. `begin` may come again for a slice: what it gave before is void. */
export interface SliceSink<Slice> {
  begin(slice: Slice): Promise<void>;
  take(items: IdentifiedItems): Promise<void>;
  /** `counted` is what the service counts for the slice's own query, where it tells. */
  end(counted: number | null): Promise<void>;
}

export interface SliceOptions {
  readonly baseUrl: URL;
  readonly pageSize: number;
  readonly concurrency: () => number;
  readonly signal: AbortSignal;
}

interface Job<Slice> {
  readonly slice: Slice;
  readonly start: number;
  readonly last: boolean;
}

const TRIES = 3;

/**
 * Reads slices in order. Pages whose places are known beforehand are read ahead across the borders of slices; a slice
 * that turns out not to stand still, or whose pages do not line up, is read again by itself, with more care.
 */
export async function readSlices<Slice extends SliceToRead>(
  fetchPage: FetchPage,
  slices: readonly Slice[],
  options: SliceOptions,
  sink: SliceSink<Slice>,
): Promise<void> {
  const { baseUrl, pageSize, concurrency, signal } = options;
  const at = (slice: Slice, start: number) => searchUrl(baseUrl, slice.query, { start, count: pageSize });
  let done: Slice | undefined;
  let total: number | undefined;
  let read = 0;
  const run = ({ slice, start }: Job<Slice>, abort: AbortSignal) => fetchPage(at(slice, start), abort);
  for await (const { job, result } of readAhead(jobs(slices, pageSize), run, concurrency, signal)) {
    const { slice } = job;
    if (slice === done) continue;
    let { page } = result;
    if (job.start === 1) {
      await sink.begin(slice);
      total = totalOf(page);
      read = 0;
    }
    for (;;) {
      const due = total === undefined ? undefined : Math.min(pageSize, Math.max(0, total - read));
      if (totalOf(page) !== total || page.items.count !== due) {
        await readCarefully(fetchPage, slice, options, sink);
        done = slice;
        break;
      }
      read += page.items.count;
      await sink.take(page.items);
      if (!job.last) break;
      if (read === total) {
        await sink.end(total);
        done = slice;
        break;
      }
      // The second that slices overlap by holds events that the plan did not count here.
      ({ page } = await fetchPage(at(slice, read + 1), signal));
    }
  }
}

function* jobs<Slice extends SliceToRead>(slices: readonly Slice[], size: number): Generator<Job<Slice>> {
  for (const slice of slices) {
    const pages = Math.max(1, Math.ceil((slice.expected ?? 0) / size));
    for (let page = 0; page < pages; page++)
      yield { slice, start: page * size + 1, last: page === pages - 1 };
  }
}

async function readCarefully<Slice extends SliceToRead>(
  fetchPage: FetchPage,
  slice: Slice,
  options: SliceOptions,
  sink: SliceSink<Slice>,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    await sink.begin(slice);
    let total: number | undefined;
    try {
      for await (const page of readPages(fetchPage, { ...options, query: slice.query })) {
        total = page.total;
        await sink.take(page.items);
      }
    } catch (error) {
      if (!(error instanceof IncompleteError) || attempt === TRIES) throw error;
      continue;
    }
    return sink.end(total ?? null);
  }
}
