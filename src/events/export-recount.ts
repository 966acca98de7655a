import { heldQuery, type Manifest, type Part, partQuery } from './export-manifest.ts';
import type { FetchPage } from './fetch-page.ts';
import { type Query, searchUrl } from './query.ts';
import { readAhead } from './read-ahead.ts';
import { totalOf } from './reading.ts';

export interface RecountOptions {
  readonly baseUrl: URL;
  readonly concurrency: () => number;
  readonly signal: AbortSignal;
}

export interface Recount {
  /** Events that match by now; undefined where the service does not tell. */
  readonly total: number | undefined;
  /** Events in the files. */
  readonly held: number;
  /** Parts whose number of events is another by now than when they were read. */
  readonly changed: number[];
}

/**
 * Holds what was exported against what the service counts by now. Where a filter may let go of events, or take in others
 * (a status changes), each part is counted by itself, as one may have lost what another won.
 */
export async function recount(
  fetchPage: FetchPage,
  manifest: Manifest,
  { baseUrl, concurrency, signal }: RecountOptions,
): Promise<Recount> {
  const count = async (query: Query, abort: AbortSignal) =>
    totalOf((await fetchPage(searchUrl(baseUrl, query, { start: 1, count: 1 }), abort)).page);
  const held = manifest.parts.reduce((sum, part) => sum + (part.events ?? 0), 0);
  let total: number | undefined = 0;
  let moving = false;
  for (const index of manifest.queries.keys()) {
    const query = heldQuery(manifest, index);
    const counted = await count(query, signal);
    moving ||= query.publishStatus !== undefined;
    total = total === undefined || counted === undefined ? undefined : total + counted;
  }
  if (total === undefined || (total === held && !(moving && manifest.parts.length > 1)))
    return { total, held, changed: [] };
  const changed: number[] = [];
  const run = ([, part]: [number, Part], abort: AbortSignal) => count(partQuery(manifest, part), abort);
  for await (const { job, result } of readAhead(manifest.parts.entries(), run, concurrency, signal)) {
    const [index, part] = job;
    if (result !== undefined && result !== part.counted) changed.push(index);
  }
  return { total, held, changed };
}
