import type { EventFilters } from '../filters/event-filters.ts';
import { addQueries, type Query } from '../paging/event-query.ts';
import { askCount, askPage } from '../paging/page.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { eventsText } from '../terminal/terminal-text.ts';
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
import type { ExportClient } from './export-client.ts';
import type { Identity, Manifest } from './export-manifest.ts';
import { createNamer, type Part, type Partition } from './export-part.ts';
import { dayOf, folderOfDay } from './partitions.ts';
import { type Mark, markDays, markTime } from './time-marks.ts';

/**
 * Maximum events per part. Services page by offset, which usually costs more the further it goes, and a crash
 * loses the parts being read.
 */
const EVENTS_PER_PART = 50_000;
/** Number of parts to aim for in smaller exports. */
const PARTS_PER_EXPORT = 200;
/** Minimum pages per part. */
const PAGES_PER_PART = 10;
/** Overlap of an update with the export's previous end, since events may appear late or change. */
const OVERLAP_SECONDS = 3600;

/** Pins the export to the events that exist now, and plans its parts. */
export async function beginExport(
  filters: EventFilters,
  identity: Identity,
  client: ExportClient,
): Promise<Manifest> {
  const startedAt = new Date(client.clock.now()).toISOString();
  const { queries, pin } = await pinnedQueries(filters, client);
  const nameNext = createNamer([], identity);
  let parts: Part[] = [];
  for (const [index, query] of queries.entries()) {
    const added = await planParts(index, { ...query, before: pin }, identity.partition, nameNext, client);
    parts = [...parts, ...added];
  }
  return {
    format: 'hooktrail-export',
    version: 1,
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
 * Adds parts from an hour before the export's end to the service's present time, and all events of types that
 * match `--type order.*` only since then. Existing parts become settled, since the service may have deleted
 * their events.
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
  const nameNext = createNamer(earlier.parts, earlier);
  let parts = earlier.parts.map((part): Part => ({ ...part, isSettled: true }));
  for (const [index, query] of queries.entries()) {
    const isNew = index >= earlier.queries.length;
    const window = isNew ? query : { ...query, after: laterOf(after, from) };
    const added = await planParts(index, window, earlier.partition, nameNext, client);
    // Within a query, newer parts come before older ones.
    const first = isNew ? parts.length : parts.findIndex((part) => part.query === index);
    parts = [...parts.slice(0, first), ...added, ...parts.slice(first)];
  }
  return { ...earlier, pin, queries, finishedAt: null, events: null, overlapFrom: from, parts };
}

/** Ends the queries at the service's time or an earlier `--until`, and waits until that has passed. */
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

/** Events dated up to this much later may have been created since the clock was read. */
const MARGIN_MS = 60_000;

/** Warns of events dated later than the service's clock, which the export leaves out. */
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
  const subject = `${eventsText(events)} ${events === 1 ? 'is' : 'are'}`;
  // Without reading them, `--where` and `--grep` cannot be applied.
  reporter.warning(
    `${filters.runHere ? 'up to ' : ''}${subject} dated later than the service's clock and not in this export; --update adds them when their time has come`,
    { kind: 'incomplete' },
  );
}

/**
 * Returns the parts of a query, newest first. The service only compares with "greater than" and its clock's
 * resolution is unknown, so each part overlaps the next older one by a second; only one of them takes an
 * event in both. With partitions each part is within a day.
 */
async function planParts(
  ofQuery: number,
  query: Query,
  partition: Partition | undefined,
  nameNext: (folder: string) => string,
  client: ExportClient,
): Promise<Part[]> {
  const end = query.before as Instant;
  const total = await askCount(client, query, client.signal);
  const newest: Mark = { seconds: end.seconds + (end.fraction === '' ? 0 : 1), events: total ?? 0 };
  const oldest: Mark = { seconds: query.after?.seconds ?? 0, events: 0 };
  const days = partition ? await markDays([newest, oldest], query, client) : [newest, oldest];
  const marks = await markTime(days, query, eventsPerPart(total ?? 0, client.pageSize), client);
  return marks.slice(1).map((from, index): Part => {
    const to = marks[index] as Mark;
    const overlapping = () => laterOf(query.after, knownInstant((from.seconds - 1) * 1000));
    const after = from === oldest ? query.after : overlapping();
    const expected = total === undefined ? null : to.events - from.events;
    return {
      file: nameNext(partition ? folderOfDay(dayOf(to.seconds - 1)) : ''),
      query: ofQuery,
      after: after ?? null,
      before: to === newest ? end : knownInstant(to.seconds * 1000),
      expected,
      isSettled: false,
    };
  });
}

function eventsPerPart(total: number, pageSize: number): number {
  const least = PAGES_PER_PART * pageSize;
  return Math.min(Math.max(least, Math.ceil(total / PARTS_PER_EXPORT)), EVENTS_PER_PART);
}
