import type { Clock } from '../../context.ts';
import type { Reporter } from '../../terminal/reporter.ts';
import {
  compareInstants,
  earlierOf,
  type Instant,
  knownInstant,
  laterOf,
  nextFullSecond,
  parseInstant,
} from '../../time/instant.ts';
import { version } from '../../version.ts';
import type { EventFilters } from '../event-filters.ts';
import { type Query, searchUrl } from '../event-query.ts';
import { askCount, type FetchPage, totalOf } from '../page.ts';
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

export interface Planning {
  readonly fetchPage: FetchPage;
  readonly baseUrl: URL;
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

/** The service's time when it answered, and that time rounded up to a full second, since `Date` has no fraction. */
async function serviceTime(filters: EventFilters, { fetchPage, baseUrl, clock, signal }: Planning) {
  const any = filters.queries(clock.now())[0];
  const answer = await fetchPage(searchUrl(baseUrl, any, { start: 1, count: 1 }), signal);
  const now = answer.serviceTime ?? clock.now();
  filters.requirePastStart(now);
  return { now, pin: nextFullSecond(now) };
}

/**
 * Warns of events that the service dates later than its own clock: the export ends at that clock and leaves them out.
 * Events that were created since the export began are not among them: they are counted from the time of the answer.
 */
export async function warnOfLaterDated(
  filters: EventFilters,
  reporter: Pick<Reporter, 'warning'>,
  { pin }: Manifest,
  { fetchPage, baseUrl, signal, clock }: Planning,
): Promise<void> {
  let after = parseInstant(pin) as Instant;
  let events = 0;
  for (const query of filters.queries(clock.now())) {
    for (let tries = 3; tries > 0; tries--) {
      if (query.before && compareInstants(query.before, after) <= 0) break;
      const from = laterOf(query.after, after);
      const url = searchUrl(baseUrl, { ...query, after: from }, { start: 1, count: 1 });
      const { page, serviceTime = clock.now() } = await fetchPage(url, signal);
      const now = nextFullSecond(serviceTime);
      const counted = totalOf(page) ?? 0;
      if (counted === 0) break;
      if (compareInstants(now, after) <= 0) {
        events += counted;
        break;
      }
      after = now;
    }
  }
  if (events > 0) {
    const subject = events === 1 ? '1 event is' : `${events} events are`;
    // They are not read, so `--where` and `--grep` may keep fewer of them.
    reporter.warning(
      `${filters.keep ? 'up to ' : ''}${subject} dated later than the service's clock and not in this export; --update adds them when their time has come`,
    );
  }
}

/** Counts the events, limits the export to those that exist now, and plans the parts. */
export async function beginExport(
  filters: EventFilters,
  identity: Identity,
  planning: Planning,
): Promise<Manifest> {
  const startedAt = new Date(planning.clock.now()).toISOString();
  const { now, pin: latest } = await serviceTime(filters, planning);
  const queries = filters.queries(now);
  const { before } = queries[0];
  const pin = earlierOf(before, latest);
  const savedQueries = queries.map((query) => saveQuery(query, pin.text));
  const parts: Part[] = [];
  for (const [index, query] of queries.entries())
    parts.push(...(await planParts(index, { ...query, before: pin }, parts, identity.gzip, planning)));
  return {
    format: 'hooktrail-export',
    version: 1,
    hooktrail: version,
    ...identity,
    pin: pin.text,
    queries: savedQueries,
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
  const { now, pin: latest } = await serviceTime(filters, planning);
  const { before } = filters.queries(now)[0];
  const pin = earlierOf(before, latest);
  if (compareInstants(pin, end) <= 0) return earlier;
  const from = knownInstant((end.seconds - OVERLAP_SECONDS) * 1000);
  const settled = earlier.parts.map((part): Part => ({ ...part, settled: true }));
  const parts: Part[] = [...settled];
  for (const index of earlier.queries.keys()) {
    const query = heldQuery(earlier, index);
    const after = laterOf(query.after, from);
    const added = await planParts(index, { ...query, after, before: pin }, parts, earlier.gzip, planning);
    // Within a query, newer parts come before older ones.
    parts.splice(
      parts.findIndex((part) => part.query === index),
      0,
      ...added,
    );
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

/** The parts of a search that is limited to its window, each with a name that no other part has. */
async function planParts(
  index: number,
  query: Query,
  others: readonly Part[],
  gzip: boolean,
  { fetchPage, baseUrl, pageSize, concurrency, signal }: Planning,
): Promise<Part[]> {
  const count = (one: Query, abort: AbortSignal) => askCount(fetchPage, baseUrl, one, abort);
  const total = await count(query, signal);
  const target = Math.max(PAGES_PER_PART * pageSize, Math.ceil((total ?? 0) / MAX_PARTS));
  const parts: Part[] = [];
  for (const slice of await planSlices(query, total, { target, count, concurrency, signal })) {
    parts.push({
      file: partName([...others, ...parts], gzip),
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
  return parts;
}

/** A slice of a query's time: events from `after` (exclusive) to `before` (exclusive). */
interface Slice {
  readonly after: Instant | undefined;
  readonly before: Instant;
  /** Events in this slice that are not in newer slices; undefined if the service gives no count. */
  readonly events: number | undefined;
}

interface SliceOptions {
  /** The maximum number of events in a slice. A slice that cannot be divided further may hold more. */
  readonly target: number;
  /** Returns the number of events that a query matches, or undefined if the service gives no count. */
  readonly count: (query: Query, signal: AbortSignal) => Promise<number | undefined>;
  readonly concurrency: () => number;
  readonly signal: AbortSignal;
}

/** A moment and the number of events before it: differences of these numbers lose no event at a boundary. */
interface Mark {
  readonly seconds: number;
  readonly before: number;
}

const FIRST_STEP_SECONDS = 3600;
const MAX_CUTS = 256;

/**
 * Cuts a query that has an end into slices of time, newest first, that together hold every event it matches. The
 * service compares with "greater than" only, and the resolution of its clock is unknown, so each slice reaches a second
 * into the next older one. An event in both belongs to the newer.
 */
async function planSlices(query: Query, total: number | undefined, options: SliceOptions): Promise<Slice[]> {
  const end = query.before as Instant;
  if (total === undefined || total <= options.target * 1.5)
    return [{ after: query.after, before: end, events: total }];
  const marks = await refineMarks(await outlineMarks(query, end, total, options), query, options);
  return mergeSpans(marks, options.target).map(([from, to], index, spans) => ({
    after: index === spans.length - 1 ? query.after : laterOf(query.after, instantOf(from.seconds - 1)),
    before: index === 0 ? end : instantOf(to.seconds),
    events: to.before - from.before,
  }));
}

/** Marks from the end back to a time with no older events, each twice as far back as the previous one; oldest first. */
async function outlineMarks(
  query: Query,
  end: Instant,
  total: number,
  options: SliceOptions,
): Promise<Mark[]> {
  // An end with a fraction of a second is rounded up.
  const top = end.seconds + (end.fraction === '' ? 0 : 1);
  const marks: Mark[] = [{ seconds: top, before: total }];
  const bottom = query.after?.seconds ?? 0;
  for (let step = FIRST_STEP_SECONDS; ; step *= 2) {
    const seconds = end.seconds - step;
    if (seconds <= bottom) break;
    const before = await options.count({ ...query, before: instantOf(seconds) }, options.signal);
    marks.unshift({ seconds, before: before ?? 0 });
    if (!before) return marks;
  }
  // The oldest slice begins where the query does.
  return [{ seconds: Math.min(bottom, (marks[0] as Mark).seconds), before: 0 }, ...marks];
}

/**
 * Adds marks between those with too many events between them, until every interval is small enough or one second long.
 */
async function refineMarks(marks: Mark[], query: Query, options: SliceOptions): Promise<Mark[]> {
  for (;;) {
    const cuts = marks.flatMap((mark, index) => {
      const next = marks[index + 1];
      return next ? cutsBetween(mark, next, options.target) : [];
    });
    if (cuts.length === 0) return marks;
    const counted: Mark[] = [];
    const run = (seconds: number, signal: AbortSignal) =>
      options.count({ ...query, before: instantOf(seconds) }, signal);
    for await (const { job, result } of readAhead(cuts.values(), run, options.concurrency, options.signal))
      counted.push({ seconds: job, before: result ?? 0 });
    marks = [...marks, ...counted].sort((a, b) => a.seconds - b.seconds);
    // Events may appear or disappear during the count, but the numbers must still rise.
    for (let index = 1; index < marks.length; index++) {
      const [earlier, mark] = [marks[index - 1] as Mark, marks[index] as Mark];
      if (mark.before < earlier.before) marks[index] = { ...mark, before: earlier.before };
    }
  }
}

function cutsBetween(from: Mark, to: Mark, target: number): number[] {
  const events = to.before - from.before;
  const seconds = to.seconds - from.seconds;
  if (events <= target * 1.5 || seconds <= 1) return [];
  const pieces = Math.min(Math.ceil(events / target), MAX_CUTS, seconds);
  return Array.from(
    { length: pieces - 1 },
    (_, index) => from.seconds + Math.floor((seconds * (index + 1)) / pieces),
  );
}

/** The intervals between marks, newest first, with small neighbours merged. */
function mergeSpans(marks: readonly Mark[], target: number): [from: Mark, to: Mark][] {
  const spans: [Mark, Mark][] = [];
  for (let index = marks.length - 1; index > 0; index--) {
    const [from, to] = [marks[index - 1] as Mark, marks[index] as Mark];
    const newer = spans.at(-1);
    if (newer && newer[1].before - from.before <= target * 1.5) newer[0] = from;
    else spans.push([from, to]);
  }
  return spans;
}

function instantOf(seconds: number): Instant {
  return knownInstant(seconds * 1000);
}

interface Recount {
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
export async function recount(manifest: Manifest, options: Planning): Promise<Recount> {
  const { fetchPage, baseUrl, signal } = options;
  const { parts, queries } = manifest;
  const held = eventsIn(manifest);
  // Each file is counted by itself if the files do not hold all that the searches match.
  const isPartial = isFiltered(manifest) || parts.some(({ settled }) => settled);
  let total: number | undefined = isPartial ? undefined : 0;
  for (const index of isPartial ? [] : queries.keys()) {
    const counted = await askCount(fetchPage, baseUrl, heldQuery(manifest, index), signal);
    total = total === undefined || counted === undefined ? undefined : total + counted;
  }
  const mayMove = parts.some((part) => part.ofAnyStatus !== null);
  if (!isPartial && (total === undefined || (total === held && !mayMove)))
    return { total, held, changed: [] };
  const indexes = [...parts.keys()].filter((index) => !parts[index]?.settled);
  const changed = new Set<number>();
  const compare = (index: number, counted: number | undefined, known: number | null) => {
    if (counted !== undefined && counted !== known) changed.add(index);
  };
  const query = (index: number) => partQuery(manifest, parts[index] as Part);
  for await (const [index, counted] of countEach(indexes, query, options))
    compare(index, counted, parts[index]?.counted ?? null);
  for (const [index, counted] of await countAnyStatus(manifest, indexes, options))
    compare(index, counted, parts[index]?.ofAnyStatus ?? null);
  return { total, held, changed: [...changed].sort((a, b) => a - b) };
}

/**
 * For queries with a status, counts the parts' events of any status: this reveals an event that came late, even if
 * another one has left the part meanwhile.
 */
export async function countAnyStatus(
  manifest: Manifest,
  indexes: readonly number[],
  options: Planning,
): Promise<Map<number, number>> {
  const found = new Map<number, number>();
  const { parts } = manifest;
  const ofOneStatus = indexes.filter((index) => manifest.queries[parts[index]?.query ?? -1]?.publishStatus);
  const query = (index: number) => ({
    ...partQuery(manifest, parts[index] as Part),
    publishStatus: undefined,
  });
  for await (const [index, counted] of countEach(ofOneStatus, query, options))
    if (counted !== undefined) found.set(index, counted);
  return found;
}

async function* countEach(
  indexes: readonly number[],
  query: (index: number) => Query,
  { fetchPage, baseUrl, concurrency, signal }: Planning,
): AsyncGenerator<[index: number, counted: number | undefined]> {
  const run = (index: number, abort: AbortSignal) => askCount(fetchPage, baseUrl, query(index), abort);
  for await (const { job, result } of readAhead(indexes.values(), run, concurrency, signal))
    yield [job, result];
}
