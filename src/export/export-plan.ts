import type { Clock } from '../context.ts';
import type { EventFilters } from '../filters/event-filters.ts';
import { addQueries, type Query } from '../paging/event-query.ts';
import { askCount, askPage, type PageClient } from '../paging/page.ts';
import { readAhead } from '../paging/read-ahead.ts';
import {
  eventsIn,
  type Identity,
  isFiltered,
  type Manifest,
  type Part,
  partName,
  partQuery,
  versionOf,
} from '../sources/export-manifest.ts';
import { dayOf, folderOfDay, startOfDay } from '../sources/partitions.ts';
import type { Reporter } from '../terminal/reporter.ts';
import {
  compareInstants,
  earlierOf,
  type Instant,
  knownInstant,
  laterOf,
  milliseconds,
  nextFullSecond,
} from '../time/instant.ts';
import { version } from '../version.ts';

/** Asks the service for the pages and counts of an export. */
export interface ExportClient extends PageClient {
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
  client: ExportClient,
): Promise<Manifest> {
  const startedAt = new Date(client.clock.now()).toISOString();
  const { queries, pin } = await pinnedQueries(filters, client);
  const parts: Part[] = [];
  for (const [index, query] of queries.entries())
    parts.push(...(await planParts(index, { ...query, before: pin }, parts, identity, client)));
  return {
    format: 'hooktrail-export',
    version: versionOf(identity),
    hooktrail: version,
    ...identity,
    pin,
    queries: queries.map(({ after, before: _, ...query }) => ({ after, before: pin, ...query })),
    startedAt,
    finishedAt: null,
    events: null,
    parts,
  };
}

/**
 * A finished export with parts for what is new: from an hour before its end to the service's present time,
 * and all events of types that `--type order.*` stands for since then. The existing parts are not compared
 * with the service any more, which may have deleted their events.
 */
export async function planUpdate(
  filters: EventFilters,
  earlier: Manifest,
  client: ExportClient,
): Promise<Manifest> {
  const { queries: asked, pin } = await pinnedQueries(filters, client);
  if (compareInstants(pin, earlier.pin) === 0) return earlier;
  const { after } = earlier.queries[0] as Query;
  const queries = addQueries(earlier.queries, asked).map((query) => ({ ...query, after, before: pin }));
  // The service's clock may have been ahead of this machine's when the export ended.
  const ends = [milliseconds(earlier.pin), Date.parse(earlier.finishedAt as string), milliseconds(pin)];
  const from = knownInstant(Math.min(...ends) - OVERLAP_SECONDS * 1000);
  let parts = earlier.parts.map((part): Part => ({ ...part, settled: true }));
  for (const [index, query] of queries.entries()) {
    const isNew = index >= earlier.queries.length;
    const window = isNew ? query : { ...query, after: laterOf(after, from) };
    const added = await planParts(index, window, parts, earlier, client);
    // Within a query, newer parts come before older ones.
    const first = isNew ? parts.length : parts.findIndex((part) => part.query === index);
    parts = parts.toSpliced(first, 0, ...added);
  }
  return { ...earlier, pin, queries, finishedAt: null, events: null, overlapFrom: from, parts };
}

/**
 * The searches, and their end, which has passed: the service's time when it answered, or `--until` if that is
 * earlier.
 */
async function pinnedQueries(filters: EventFilters, client: ExportClient) {
  const { clock, signal } = client;
  const any = filters.queries(clock.now())[0];
  const { serviceTime: now = clock.now() } = await askPage(client, any, { start: 1, count: 1 }, signal);
  filters.requirePastStart(now);
  const queries = filters.queries(now);
  const pin = earlierOf(queries[0].before, nextFullSecond(now));
  // Events created until then belong to the export.
  await clock.sleep(Math.max(0, milliseconds(pin) - now), signal);
  return { queries, pin };
}

/** An event that is dated up to this much later may have been created since the service's clock was read. */
const MARGIN_MS = 60_000;

/**
 * Warns of events that the service dates later than its own clock: the export ends at that clock and leaves
 * them out.
 */
export async function warnOfLaterDated(
  filters: EventFilters,
  reporter: Pick<Reporter, 'warning'>,
  { pin }: Manifest,
  client: ExportClient,
): Promise<void> {
  const after = knownInstant(milliseconds(pin) + MARGIN_MS);
  let events = 0;
  for (const query of filters.queries(client.clock.now()))
    if (!query.before || compareInstants(query.before, after) > 0)
      events += (await askCount(client, { ...query, after }, client.signal)) ?? 0;
  if (events === 0) return;
  const subject = events === 1 ? '1 event is' : `${events} events are`;
  // They are not read, so `--where` and `--grep` may keep fewer of them.
  reporter.warning(
    `${filters.keep ? 'up to ' : ''}${subject} dated later than the service's clock and not in this export; --update adds them when their time has come`,
  );
}

/**
 * The parts of a search that is limited to its window, newest first, each with a name that no other part has.
 * The service compares with "greater than" only, and the resolution of its clock is unknown, so each part
 * reaches a second into the next older one. An event in both belongs to the newer. With partitions parts also
 * meet at the midnights between days that have events: a part is one day's.
 */
async function planParts(
  index: number,
  query: Query,
  others: readonly Part[],
  form: Pick<Identity, 'gzip' | 'partition' | 'fileFormat'>,
  client: ExportClient,
): Promise<Part[]> {
  const { pageSize, signal } = client;
  const { partition } = form;
  const end = query.before as Instant;
  const total = await askCount(client, query, signal);
  const target = Math.max(PAGES_PER_PART * pageSize, Math.ceil((total ?? 0) / MAX_PARTS));
  // An end with a fraction of a second is rounded up.
  const newest: Mark = { seconds: end.seconds + (end.fraction === '' ? 0 : 1), events: total ?? 0 };
  const oldest: Mark = { seconds: query.after?.seconds ?? 0, events: 0 };
  const days = partition ? await markDays([newest, oldest], query, client) : [newest, oldest];
  const marks = [newest];
  for (const [at, from] of days.slice(1).entries())
    marks.push(...(await markTime([days[at] as Mark, from], query, target, client)).slice(1));
  const parts: Part[] = [];
  for (const [at, from] of marks.slice(1).entries()) {
    const to = marks[at] as Mark;
    const overlapping = () => laterOf(query.after, knownInstant((from.seconds - 1) * 1000));
    parts.push({
      file: partName([...others, ...parts], form, partition ? folderOfDay(dayOf(to.seconds - 1)) : ''),
      query: index,
      after: (from === oldest ? query.after : overlapping()) ?? null,
      before: to === newest ? end : knownInstant(to.seconds * 1000),
      events: total === undefined ? null : to.events - from.events,
      counted: null,
      ofAnyStatus: null,
      bytes: null,
      sha256: null,
    });
  }
  return parts;
}

/**
 * A second at which parts may meet, and the number of a search's events before it: none at a boundary is
 * lost.
 */
interface Mark {
  readonly seconds: number;
  events: number;
}

/** The number of marks that are counted at once between two others. */
const MAX_MARKS = 16;

/**
 * Marks time, newest first, so that about `target` events lie between two marks; within a second there may be
 * more.
 */
async function markTime(bounds: readonly Mark[], query: Query, target: number, client: ExportClient) {
  const isLarge = (to: Mark, from: Mark) => to.events - from.events > 1.5 * target;
  const between = (to: Mark, from: Mark) => {
    const seconds = to.seconds - from.seconds;
    if (!isLarge(to, from)) return [];
    const parts = Math.min(Math.ceil((to.events - from.events) / target), MAX_MARKS, seconds);
    return Array.from({ length: parts - 1 }, (_, at) => to.seconds - Math.ceil((seconds * (at + 1)) / parts));
  };
  const marks = await addMarks(bounds, between, query, client);
  return withoutNeedless(marks, (to, from) => !isLarge(to, from));
}

/**
 * Marks the midnights in UTC between which events lie, newest first. Days without events are left together.
 */
async function markDays(bounds: readonly Mark[], query: Query, client: ExportClient) {
  const isEmpty = (to: Mark, from: Mark) => to.events === from.events;
  const between = (to: Mark, from: Mark) => {
    // The days that begin between the marks.
    const first = dayOf(from.seconds) + 1;
    const days = dayOf(to.seconds - 1) - first + 1;
    if (isEmpty(to, from) || days < 1) return [];
    const asked = Math.min(days, MAX_MARKS);
    return Array.from({ length: asked }, (_, at) =>
      startOfDay(first + Math.floor(((at + 0.5) * days) / asked)),
    );
  };
  return withoutNeedless(await addMarks(bounds, between, query, client), isEmpty);
}

/** Counts at the seconds that `between` names for two marks, until it names none any more. */
async function addMarks(
  bounds: readonly Mark[],
  between: (to: Mark, from: Mark) => readonly number[],
  query: Query,
  client: ExportClient,
): Promise<Mark[]> {
  const { concurrency, signal } = client;
  const count = (seconds: number, ending: AbortSignal) =>
    askCount(client, { ...query, before: knownInstant(seconds * 1000) }, ending);
  const marks = [...bounds];
  for (;;) {
    const times = marks.slice(1).flatMap((from, at) => between(marks[at] as Mark, from));
    if (times.length === 0) return marks;
    for await (const { job: seconds, result = 0 } of readAhead(times, count, concurrency, signal))
      marks.push({ seconds, events: result });
    marks.sort((a, b) => b.seconds - a.seconds);
    // Events may appear or disappear during the count, but the numbers must still fall.
    for (const [at, from] of marks.slice(1).entries())
      from.events = Math.min(from.events, (marks[at] as Mark).events);
  }
}

/** Leaves out marks whose neighbours may be neighbours themselves. */
function withoutNeedless(counted: readonly Mark[], mayMeet: (to: Mark, from: Mark) => boolean): Mark[] {
  let marks = [...counted];
  for (let at = 1; at < marks.length - 1; )
    if (!mayMeet(marks[at - 1] as Mark, marks[at + 1] as Mark)) at++;
    else marks = marks.toSpliced(at, 1);
  return marks;
}

/**
 * Compares the export with what the service counts now: the total, NaN if the service gives no count or the
 * files hold only some events, and the parts whose number of events has changed since they were read. If
 * events can leave the filter (when a status changes), each part is counted by itself, since losses in one
 * could hide gains in another.
 */
export async function recount(
  manifest: Manifest,
  client: ExportClient,
): Promise<{ total: number; changed: readonly number[] }> {
  const { parts, queries } = manifest;
  const isPartial = isFiltered(manifest) || parts.some(({ settled }) => settled);
  let total = isPartial ? Number.NaN : 0;
  if (!isPartial) {
    for (const query of queries) total += (await askCount(client, query, client.signal)) ?? Number.NaN;
    const mayMove = parts.some(({ ofAnyStatus }) => ofAnyStatus !== null);
    if (Number.isNaN(total) || (total === eventsIn(manifest) && !mayMove)) return { total, changed: [] };
  }
  const indexes = [...parts.keys()].filter((index) => !parts[index]?.settled);
  const counts = await countParts(manifest, indexes, client);
  const ofAnyStatus = await countAnyStatus(manifest, indexes, client);
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
 * For queries with a status, counts the parts' events of any status: this reveals an event that came late,
 * even if another one has left the part meanwhile.
 */
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
