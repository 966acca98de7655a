import { askCount } from '../count.ts';
import type { FetchPage } from '../fetch-page.ts';
import type { Query } from '../query.ts';
import { readAhead } from '../read-ahead.ts';
import { heldQuery, type Manifest, type Part, partQuery } from './manifest.ts';

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
  options: RecountOptions,
): Promise<Recount> {
  const { parts, queries } = manifest;
  const held = parts.reduce((sum, part) => sum + (part.events ?? 0), 0);
  let total: number | undefined = 0;
  for (const index of queries.keys()) {
    const counted = await askCount(fetchPage, options.baseUrl, heldQuery(manifest, index), options.signal);
    total = total === undefined || counted === undefined ? undefined : total + counted;
  }
  const moving = parts.some((part) => part.ofAnyStatus !== null);
  if (total === undefined || (total === held && !moving)) return { total, held, changed: [] };
  const changed = new Set<number>();
  const note = (index: number, counted: number | undefined, known: number | null) => {
    if (counted !== undefined && counted !== known) changed.add(index);
  };
  const query = (index: number) => partQuery(manifest, parts[index] as Part);
  for await (const [index, counted] of counts(fetchPage, [...parts.keys()], query, options))
    note(index, counted, parts[index]?.counted ?? null);
  for (const [index, counted] of await countAnyStatus(fetchPage, manifest, [...parts.keys()], options))
    note(index, counted, parts[index]?.ofAnyStatus ?? null);
  return { total, held, changed: [...changed].sort((a, b) => a - b) };
}

/**
 * Counts parts whatever the status of their events, where their query is for one status: an event that came late is seen
 * there even if another has left the part meanwhile.
 */
export async function countAnyStatus(
  fetchPage: FetchPage,
  manifest: Manifest,
  indexes: readonly number[],
  options: RecountOptions,
): Promise<Map<number, number>> {
  const found = new Map<number, number>();
  const { parts } = manifest;
  const ofOneStatus = indexes.filter((index) => manifest.queries[parts[index]?.query ?? -1]?.publishStatus);
  const query = (index: number) => ({
    ...partQuery(manifest, parts[index] as Part),
    publishStatus: undefined,
  });
  for await (const [index, counted] of counts(fetchPage, ofOneStatus, query, options))
    if (counted !== undefined) found.set(index, counted);
  return found;
}

async function* counts(
  fetchPage: FetchPage,
  indexes: readonly number[],
  query: (index: number) => Query,
  { baseUrl, concurrency, signal }: RecountOptions,
): AsyncGenerator<[index: number, counted: number | undefined]> {
  const run = (index: number, abort: AbortSignal) => askCount(fetchPage, baseUrl, query(index), abort);
  for await (const { job, result } of readAhead(indexes.values(), run, concurrency, signal))
    yield [job, result];
}
