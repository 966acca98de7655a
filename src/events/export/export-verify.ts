import type { Reporter } from '../../terminal/reporter.ts';
import { askCount } from '../event-count.ts';
import type { Query } from '../event-query.ts';
import type { FetchPage } from '../fetch-page.ts';
import { readAhead } from '../read-ahead.ts';
import { heldQuery, isFiltered, type Manifest, type Part, partQuery } from './export-manifest.ts';
import { faultOf } from './export-part.ts';

/**
 * Checks every file that the manifest lists. Damaged or missing parts are marked to be read again, and the export
 * counts as unfinished.
 */
export async function verifyExport(
  directory: string,
  manifest: Manifest,
  reporter: Pick<Reporter, 'warning'>,
  signal: AbortSignal,
): Promise<Manifest> {
  const parts: Part[] = [];
  let sound = true;
  for (const part of manifest.parts) {
    signal.throwIfAborted();
    const fault = part.sha256 ? await faultOf(directory, part) : undefined;
    if (fault) reporter.warning(`${part.file} ${fault}; it will be downloaded again`);
    sound &&= fault === undefined;
    parts.push(fault ? { ...part, sha256: null } : part);
  }
  const events = parts.reduce((sum, part) => sum + (part.events ?? 0), 0);
  const finished = sound && parts.every(({ sha256 }) => sha256) && events === manifest.events;
  return { ...manifest, parts, finishedAt: finished ? manifest.finishedAt : null };
}

export interface RecountOptions {
  readonly baseUrl: URL;
  readonly concurrency: () => number;
  readonly signal: AbortSignal;
}

export interface Recount {
  /** Events that match now; undefined if the service gives no count, or if the files hold only some events. */
  readonly total: number | undefined;
  /** Events in the files. */
  readonly held: number;
  /** Parts whose number of events has changed since they were read. */
  readonly changed: number[];
}

/**
 * Compares the export with what the service counts now. If events can enter or leave the filter (when a status
 * changes), each part is counted by itself, since losses in one part could hide gains in another.
 */
export async function recount(
  fetchPage: FetchPage,
  manifest: Manifest,
  options: RecountOptions,
): Promise<Recount> {
  const { parts, queries } = manifest;
  const held = parts.reduce((sum, part) => sum + (part.events ?? 0), 0);
  // Each file is counted by itself if the files do not hold all that the searches match.
  const filtered = isFiltered(manifest) || parts.some(({ settled }) => settled);
  let total: number | undefined = filtered ? undefined : 0;
  for (const index of filtered ? [] : queries.keys()) {
    const counted = await askCount(fetchPage, options.baseUrl, heldQuery(manifest, index), options.signal);
    total = total === undefined || counted === undefined ? undefined : total + counted;
  }
  const moving = parts.some((part) => part.ofAnyStatus !== null);
  if (!filtered && (total === undefined || (total === held && !moving))) return { total, held, changed: [] };
  const indexes = [...parts.keys()].filter((index) => !parts[index]?.settled);
  const changed = new Set<number>();
  const note = (index: number, counted: number | undefined, known: number | null) => {
    if (counted !== undefined && counted !== known) changed.add(index);
  };
  const query = (index: number) => partQuery(manifest, parts[index] as Part);
  for await (const [index, counted] of counts(fetchPage, indexes, query, options))
    note(index, counted, parts[index]?.counted ?? null);
  for (const [index, counted] of await countAnyStatus(fetchPage, manifest, indexes, options))
    note(index, counted, parts[index]?.ofAnyStatus ?? null);
  return { total, held, changed: [...changed].sort((a, b) => a - b) };
}

/**
 * For queries with a status, counts the parts' events of any status: this reveals an event that came late, even if
 * another one has left the part meanwhile.
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
