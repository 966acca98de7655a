import type { Clock } from '../../context.ts';
import { version } from '../../version.ts';
import { askCount } from '../count.ts';
import type { FetchPage } from '../fetch-page.ts';
import { compareInstants, type Instant, instantAt } from '../instant.ts';
import { type Query, searchUrl } from '../query.ts';
import type { Identity } from './identity.ts';
import { type Manifest, type Part, type SavedQuery, saved } from './manifest.ts';
import { type PlanOptions, planSlices } from './plan.ts';

export interface Beginning extends Identity {
  readonly queries: readonly Query[];
  readonly baseUrl: URL;
  readonly pageSize: number;
  readonly concurrency: () => number;
  readonly signal: AbortSignal;
}

/** Pages that a part holds: what a crash can cost. */
const PAGES_A_PART = 10;
/** More parts than this are made larger instead. */
const PARTS = 500;

/** Asks how much there is, holds it to events that exist by now, and plans the parts. */
export async function beginExport(
  fetchPage: FetchPage,
  clock: Clock,
  beginning: Beginning,
): Promise<Manifest> {
  const { baseUrl, queries, pageSize, concurrency, signal, service, filters, gzip } = beginning;
  const startedAt = new Date(clock.now()).toISOString();
  const count = (query: Query, abort: AbortSignal) => askCount(fetchPage, baseUrl, query, abort);

  const first = queries[0] as Query;
  const { serviceTime } = await fetchPage(searchUrl(baseUrl, first, { start: 1, count: 1 }), signal);
  // `Date` has no fraction: the next full second is the first that is surely behind the answer.
  const now = instantAt((Math.floor((serviceTime ?? clock.now()) / 1000) + 1) * 1000) as Instant;
  const pin = first.before && compareInstants(first.before, now) < 0 ? first.before : now;

  const savedQueries: SavedQuery[] = [];
  const parts: Part[] = [];
  for (const [index, query] of queries.entries()) {
    const held = { ...query, before: pin };
    savedQueries.push(saved(query, pin.text));
    const total = await count(held, signal);
    const target = Math.max(PAGES_A_PART * pageSize, Math.ceil((total ?? 0) / PARTS));
    const options: PlanOptions = { target, count, concurrency, signal };
    for (const slice of await planSlices(held, total, options)) {
      const number = String(parts.length + 1).padStart(6, '0');
      parts.push({
        file: `part-${number}.ndjson${gzip ? '.gz' : ''}`,
        query: index,
        after: slice.after?.text ?? null,
        before: slice.before.text,
        events: slice.events ?? null,
        counted: null,
        ofAnyStatus: null,
        bytes: null,
        sha256: null,
      });
    }
  }
  return {
    format: 'hooktrail-export',
    version: 1,
    hooktrail: version,
    service,
    filters,
    gzip,
    pin: pin.text,
    queries: savedQueries,
    startedAt,
    finishedAt: null,
    events: null,
    parts,
  };
}
