import type { Clock } from '../../context.ts';
import type { Reporter } from '../../terminal/reporter.ts';
import {
  compareInstants,
  earlierOf,
  type Instant,
  knownInstant,
  laterOf,
  milliseconds,
  nextFullSecond,
  parseInstant,
} from '../../time/instant.ts';
import { version } from '../../version.ts';
import type { EventFilters } from '../event-filters.ts';
import type { Query } from '../event-query.ts';
import { askCount, askPage, type PageClient } from '../page.ts';
import { readAhead } from '../read-ahead.ts';
import {
  eventsIn,
  heldQuery,
  type Identity,
  isFiltered,
  type Manifest,
  type Part,
  partName,
  partQuery,
  saveQuery,
} from './export-manifest.ts';

export interface Planning extends PageClient {
  readonly pageSize: number;
  readonly concurrency: () => number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Pages per part: a crash loses at most this much work. */
const PAGES_PER_PART = 10;
/** If there were more parts than this, the parts are made larger. */
const MAX_PARTS = 500;
/** An update starts this many seconds before the export's previous end: events may appear late, or change. */
const OVERLAP_SECONDS = 3600;

/** Limits the export to the events that exist now, and plans its parts. */
export async function beginExport(
  filters: EventFilters,
  identity: Identity,
  planning: Planning,
): Promise<Manifest> {
  const startedAt = new Date(planning.clock.now()).toISOString();
  const { queries, pin } = await pinnedQueries(filters, planning);
  const parts: Part[] = [];
  for (const [index, query] of queries.entries())
    parts.push(...(await planParts(index, { ...query, before: pin }, parts, identity.gzip, planning)));
  return {
    format: 'hooktrail-export',
    version: 1,
    hooktrail: version,
    ...identity,
    pin: pin.text,
    queries: queries.map((query) => saveQuery(query, pin.text)),
    startedAt,
    finishedAt: null,
    events: null,
    parts,
  };
}

/**
 * A finished export with parts for what is new: from an hour before its end to the service's present time. The existing
 * parts are not compared with the service any more, which may have deleted their events.
 */
export async function planUpdate(
  filters: EventFilters,
  earlier: Manifest,
  planning: Planning,
): Promise<Manifest> {
  const end = parseInstant(earlier.pin) as Instant;
  const { pin } = await pinnedQueries(filters, planning);
  if (compareInstants(pin, end) <= 0) return earlier;
  const from = knownInstant((end.seconds - OVERLAP_SECONDS) * 1000);
  let parts = earlier.parts.map((part): Part => ({ ...part, settled: true }));
  for (const index of earlier.queries.keys()) {
    const query = heldQuery(earlier, index);
    const window = { ...query, after: laterOf(query.after, from), before: pin };
    const added = await planParts(index, window, parts, earlier.gzip, planning);
    // Within a query, newer parts come before older ones.
    const first = parts.findIndex((part) => part.query === index);
    parts = parts.toSpliced(first, 0, ...added);
  }
  return {
    ...earlier,
    pin: pin.text,
    queries: earlier.queries.map((query) => ({ ...query, before: pin.text })),
    finishedAt: null,
    events: null,
    overlapFrom: from.text,
    parts,
  };
}

/** The searches, and their end: the service's time when it answered, or `--until` if that is earlier. */
async function pinnedQueries(filters: EventFilters, planning: Planning) {
  const { clock, signal } = planning;
  const any = filters.queries(clock.now())[0];
  const answer = await askPage(planning, any, { start: 1, count: 1 }, signal);
  const now = answer.serviceTime ?? clock.now();
  filters.requirePastStart(now);
  const queries = filters.queries(now);
  return { queries, pin: earlierOf(queries[0].before, nextFullSecond(now)) };
}

/** Events that are dated this much later than the service's clock are not those that were created since it was read. */
const MARGIN_MS = 60_000;

/** Warns of events that the service dates later than its own clock: the export ends at that clock and leaves them out. */
export async function warnOfLaterDated(
  filters: EventFilters,
  reporter: Pick<Reporter, 'warning'>,
  { pin }: Manifest,
  planning: Planning,
): Promise<void> {
  const after = knownInstant(milliseconds(parseInstant(pin) as Instant) + MARGIN_MS);
  let events = 0;
  for (const query of filters.queries(planning.clock.now()))
    if (!query.before || compareInstants(query.before, after) > 0)
      events += (await askCount(planning, { ...query, after }, planning.signal)) ?? 0;
  if (events === 0) return;
  const subject = events === 1 ? '1 event is' : `${events} events are`;
  // They are not read, so `--where` and `--grep` may keep fewer of them.
  reporter.warning(
    `${filters.keep ? 'up to ' : ''}${subject} dated later than the service's clock and not in this export; --update adds them when their time has come`,
  );
}

/** A slice of a search's time, in seconds, and the number of events before each end: no event at a boundary is lost. */
interface Slice {
  readonly from: number;
  readonly to: number;
  readonly eventsBeforeFrom: number;
  readonly eventsBeforeTo: number;
}

/**
 * The parts of a search that is limited to its window, newest first, each with a name that no other part has. The service
 * compares with "greater than" only, and the resolution of its clock is unknown, so each part reaches a second into the
 * next older one. An event in both belongs to the newer.
 */
async function planParts(
  index: number,
  query: Query,
  others: readonly Part[],
  gzip: boolean,
  planning: Planning,
): Promise<Part[]> {
  const { pageSize, signal } = planning;
  const end = query.before as Instant;
  const total = await askCount(planning, query, signal);
  const target = Math.max(PAGES_PER_PART * pageSize, Math.ceil((total ?? 0) / MAX_PARTS));
  const whole: Slice = {
    from: query.after?.seconds ?? 0,
    // An end with a fraction of a second is rounded up.
    to: end.seconds + (end.fraction === '' ? 0 : 1),
    eventsBeforeFrom: 0,
    eventsBeforeTo: total ?? 0,
  };
  const parts: Part[] = [];
  const slices = await cutToSize(whole, query, target, planning);
  for (const [at, slice] of slices.entries()) {
    const isOldest = at === slices.length - 1;
    const after = isOldest ? query.after : laterOf(query.after, knownInstant((slice.from - 1) * 1000));
    parts.push({
      file: partName([...others, ...parts], gzip),
      query: index,
      after: after?.text ?? null,
      before: at === 0 ? end.text : knownInstant(slice.to * 1000).text,
      events: total === undefined ? null : eventsOf(slice),
      counted: null,
      ofAnyStatus: null,
      bytes: null,
      sha256: null,
    });
  }
  return parts;
}

/** The number of cuts that are counted at once in one slice. */
const MAX_PIECES = 16;

/** Cuts a slice into some with about so many events each; one of a second may have more. Returns them newest first. */
async function cutToSize(whole: Slice, query: Query, target: number, planning: Planning): Promise<Slice[]> {
  const { concurrency, signal } = planning;
  const count = (seconds: number, ending: AbortSignal) =>
    askCount(planning, { ...query, before: knownInstant(seconds * 1000) }, ending);
  let slices = [whole];
  for (;;) {
    const cuts = slices.flatMap((slice) => cutsOf(slice, target));
    if (cuts.length === 0) break;
    const counts = new Map<number, number>();
    for await (const { job, result } of readAhead(cuts, count, concurrency, signal))
      counts.set(job, result ?? 0);
    slices = slices.flatMap((slice) => {
      let rest = slice;
      const pieces = cutsOf(slice, target).map((seconds) => {
        const { eventsBeforeFrom, eventsBeforeTo } = rest;
        // Events may appear or disappear during the count, but the numbers must still rise.
        const before = Math.min(Math.max(counts.get(seconds) as number, eventsBeforeFrom), eventsBeforeTo);
        const piece = { ...rest, from: seconds, eventsBeforeFrom: before };
        rest = { ...rest, to: seconds, eventsBeforeTo: before };
        return piece;
      });
      return [...pieces, rest];
    });
  }
  const merged: Slice[] = [];
  for (const slice of slices) {
    const newer = merged.at(-1);
    const both = newer && { ...slice, to: newer.to, eventsBeforeTo: newer.eventsBeforeTo };
    if (both && !isLarge(both, target)) merged[merged.length - 1] = both;
    else merged.push(slice);
  }
  return merged;
}

/** The seconds at which a slice is cut into equal spans of time, latest first. */
function cutsOf(slice: Slice, target: number): number[] {
  const seconds = slice.to - slice.from;
  if (!isLarge(slice, target) || seconds <= 1) return [];
  const pieces = Math.min(Math.ceil(eventsOf(slice) / target), MAX_PIECES, seconds);
  return Array.from({ length: pieces - 1 }, (_, cut) => slice.to - Math.ceil((seconds * (cut + 1)) / pieces));
}

function isLarge(slice: Slice, target: number): boolean {
  return eventsOf(slice) > 1.5 * target;
}

function eventsOf({ eventsBeforeFrom, eventsBeforeTo }: Slice): number {
  return eventsBeforeTo - eventsBeforeFrom;
}

/**
 * Compares the export with what the service counts now: the total, undefined if the service gives no count or the files
 * hold only some events, and the parts whose number of events has changed since they were read. If events can leave the
 * filter (when a status changes), each part is counted by itself, since losses in one could hide gains in another.
 */
export async function recount(
  manifest: Manifest,
  planning: Planning,
): Promise<{ total: number | undefined; changed: readonly number[] }> {
  const { parts, queries } = manifest;
  const isPartial = isFiltered(manifest) || parts.some(({ settled }) => settled);
  let total: number | undefined;
  if (!isPartial) {
    total = 0;
    for (const index of queries.keys()) {
      const counted = await askCount(planning, heldQuery(manifest, index), planning.signal);
      total = total === undefined || counted === undefined ? undefined : total + counted;
    }
    const mayMove = parts.some(({ ofAnyStatus }) => ofAnyStatus !== null);
    if (total === undefined || (total === eventsIn(manifest) && !mayMove)) return { total, changed: [] };
  }
  const indexes = [...parts.keys()].filter((index) => !parts[index]?.settled);
  const counts = await countParts(manifest, indexes, planning);
  const ofAnyStatus = await countAnyStatus(manifest, indexes, planning);
  const differs = (now: number | undefined, then: number | null | undefined) =>
    now !== undefined && now !== then;
  const changed = indexes.filter(
    (index) =>
      differs(counts.get(index), parts[index]?.counted) ||
      differs(ofAnyStatus.get(index), parts[index]?.ofAnyStatus),
  );
  return { total, changed };
}

/**
 * For queries with a status, counts the parts' events of any status: this reveals an event that came late, even if
 * another one has left the part meanwhile.
 */
export async function countAnyStatus(
  manifest: Manifest,
  indexes: readonly number[],
  planning: Planning,
): Promise<ReadonlyMap<number, number>> {
  const { parts, queries } = manifest;
  const ofOneStatus = indexes.filter((index) => queries[parts[index]?.query ?? -1]?.publishStatus);
  return countParts(manifest, ofOneStatus, planning, { publishStatus: undefined });
}

async function countParts(
  manifest: Manifest,
  indexes: readonly number[],
  planning: Planning,
  change: Partial<Query> = {},
): Promise<ReadonlyMap<number, number>> {
  const counts = new Map<number, number>();
  const count = (index: number, ending: AbortSignal) => {
    const query = partQuery(manifest, manifest.parts[index] as Part);
    return askCount(planning, { ...query, ...change }, ending);
  };
  for await (const { job, result } of readAhead(indexes, count, planning.concurrency, planning.signal))
    if (result !== undefined) counts.set(job, result);
  return counts;
}
