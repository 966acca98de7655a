import type { Query } from '../paging/event-query.ts';
import { askCount } from '../paging/page.ts';
import { readAhead } from '../paging/read-ahead.ts';
import type { ExportClient } from './export-client.ts';
import { isFiltered, type Manifest, partQuery } from './export-manifest.ts';
import { eventsIn, type Part } from './export-part.ts';

/**
 * Compares the export with the service's counts. `total` is NaN without counts or if the files hold only some
 * events; `changed` are the parts whose counts have changed. If events can leave a filter, as when a status
 * changes, parts are counted separately: losses in one could hide gains in another.
 */
export async function recount(
  manifest: Manifest,
  client: ExportClient,
): Promise<{ total: number; changed: readonly number[] }> {
  const { parts, queries } = manifest;
  const isPartial = isFiltered(manifest) || parts.some(({ isSettled }) => isSettled);
  let total = isPartial ? Number.NaN : 0;
  if (!isPartial) {
    for (const query of queries) total += (await askCount(client, query, client.signal)) ?? Number.NaN;
    const mayMove = parts.some((part) => part.read?.ofAnyStatus != null);
    if (Number.isNaN(total) || (total === eventsIn(parts) && !mayMove)) return { total, changed: [] };
  }
  const indexes = [...parts.keys()].filter((index) => !parts[index]?.isSettled);
  const counts = await countParts(manifest, indexes, client);
  const ofAnyStatus = await countAnyStatus(manifest, indexes, client);
  const differs = (now: number | undefined, then: number | null | undefined) =>
    now !== undefined && now !== then;
  const changed = indexes.filter((index) => {
    const read = parts[index]?.read;
    return differs(counts.get(index), read?.counted) || differs(ofAnyStatus.get(index), read?.ofAnyStatus);
  });
  return { total, changed };
}

/** Reveals an event that arrived late even if another has left the query. */
export async function countAnyStatus(
  manifest: Manifest,
  indexes: readonly number[],
  client: ExportClient,
): Promise<ReadonlyMap<number, number>> {
  const { parts, queries } = manifest;
  const ofOneStatus = indexes.filter((index) => queries[parts[index]?.query ?? -1]?.publishStatus);
  return countParts(manifest, ofOneStatus, client, { publishStatus: undefined });
}

async function countParts(
  manifest: Manifest,
  indexes: readonly number[],
  client: ExportClient,
  change: Partial<Query> = {},
): Promise<ReadonlyMap<number, number>> {
  const counts = new Map<number, number>();
  const count = (index: number, ending: AbortSignal) =>
    askCount(client, { ...partQuery(manifest, manifest.parts[index] as Part), ...change }, ending);
  for await (const { job, result } of readAhead(indexes, count, client.concurrency, client.signal))
    if (result !== undefined) counts.set(job, result);
  return counts;
}
