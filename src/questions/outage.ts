import type { EventFilters } from '../filters/event-filters.ts';
import { memberPath } from '../items/field-path.ts';
import { createCursor } from '../items/known-fields.ts';
import { parseOutcome } from '../items/outcome-names.ts';
import { sortRows } from '../items/time-column.ts';
import type { EventSource, PageOfOutcomes } from '../sources/event-source.ts';
import {
  type FailureRun,
  firstRun,
  largestOutage,
  latestOutage,
  latestRun,
} from '../statistics/failure-runs.ts';
import { compareInstants, type Instant, instantAt, milliseconds, parseInstant } from '../time/instant.ts';
import { DAY_MS, HOUR_MS } from '../time/lengths.ts';
import type { HealthFold } from './health-fold.ts';

/** A run of at least two failures. */
export interface Outage {
  readonly since: Instant;
  /** True if it may have begun before the events read. */
  readonly edge: boolean;
  readonly lastFailed: Instant;
  /** The delivery that ended it; undefined if it continues or no event followed. */
  readonly until: Instant | undefined;
}

export interface LargestOutage extends Outage {
  readonly failed: number;
}

interface Outcome {
  readonly at: Instant;
  readonly hasFailed: boolean;
}

/** Maximum events read to find the start of one outage. */
const MAX_EVENTS = 20_000;
/** Maximum lone failures skipped while looking for an outage. */
const MAX_PASSED_OVER = 20;
/** Search the end of an outage within these times after its last failure, shortest first. */
const END_LENGTHS_MS = [HOUR_MS, DAY_MS, 30 * DAY_MS];

interface Span {
  readonly after: Instant;
  readonly before: Instant;
}

/**
 * Finds the latest outage, looking back to `earliest` for its start. `lastFailed` is the latest failure of
 * the window. Undefined if there was none, or if the events can be read only once.
 */
export async function findOutage(
  source: EventSource,
  chosen: EventFilters,
  lastFailed: Instant | undefined,
  window: Span,
  earliest: Instant,
): Promise<Outage | undefined> {
  if (source.isReadOnce) return undefined;
  if (!source.service) return outageOf(await outcomesIn(source, chosen, { ...window, after: earliest }));
  let last =
    lastFailed ?? (await latestFailure(source, chosen, { after: earliest, before: justAfter(window.after) }));
  for (let passedOver = 0; last && passedOver < MAX_PASSED_OVER; passedOver++) {
    const known = await readBackFrom(last, source, chosen, earliest);
    const outage = outageOf(known);
    // Events after its last failure were not read.
    const isLast = outage && compareInstants(outage.lastFailed, last) === 0;
    if (isLast) return { ...outage, until: await firstSuccess(source, chosen, last, window.before) };
    if (outage) return outage;
    const [oldest] = known;
    const before = oldest && { after: earliest, before: oldest.at };
    last = cutOffFailure(known) ?? (before && (await latestFailure(source, chosen, before)));
  }
  return undefined;
}

/** Oldest first. Stops once the start of an outage is known, or that there is none. */
async function readBackFrom(
  last: Instant,
  source: EventSource,
  chosen: EventFilters,
  earliest: Instant,
): Promise<Outcome[]> {
  let known: Outcome[] = [];
  const within = { after: earliest, before: justAfter(last) };
  for await (const page of source.readOutcomes(chosen, within, 'newest first')) {
    known = sorted([...known, ...outcomesOf(page)]);
    const hasFailed = (index: number) => (known[index] as Outcome).hasFailed;
    const run = latestOutage(known.length, hasFailed) ?? latestRun(known.length, hasFailed);
    if ((run && isStartKnown(run)) || known.length >= MAX_EVENTS) break;
  }
  return known;
}

/** Two successes before a run separate it from any earlier one. */
function isStartKnown({ start }: FailureRun): boolean {
  return start >= 2;
}

/** The last failure of a run that has ended, and may have begun before the events known. */
function cutOffFailure(known: readonly Outcome[]): Instant | undefined {
  const run = firstRun(known.length, (index) => (known[index] as Outcome).hasFailed);
  if (!run || run.end === undefined || isStartKnown(run)) return undefined;
  return known[run.lastFailed]?.at;
}

async function outcomesIn(source: EventSource, chosen: EventFilters, within: Span): Promise<Outcome[]> {
  const known: Outcome[] = [];
  for await (const page of source.readOutcomes(chosen, within)) known.push(...outcomesOf(page));
  return sorted(known);
}

function sorted(outcomes: readonly Outcome[]): Outcome[] {
  return outcomes.toSorted((a, b) => compareInstants(a.at, b.at));
}

function outageOf(known: readonly Outcome[]): Outage | undefined {
  const run = latestOutage(known.length, (index) => (known[index] as Outcome).hasFailed);
  return run && outageOfRun(run, (index) => (known[index] as Outcome).at);
}

function outageOfRun(run: FailureRun, at: (index: number) => Instant): Outage {
  return {
    since: at(run.start),
    edge: run.isAtEdge,
    lastFailed: at(run.lastFailed),
    until: run.end === undefined ? undefined : at(run.end),
  };
}

async function latestFailure(
  source: EventSource,
  chosen: EventFilters,
  within: Span,
): Promise<Instant | undefined> {
  for await (const page of source.readOutcomes(chosen.withStatuses('FAILED'), within, 'newest first')) {
    const [latest] = outcomesOf(page).filter(({ hasFailed }) => hasFailed);
    if (latest) return latest.at;
  }
  return undefined;
}

/** Most outages end soon, so short times are searched first. */
async function firstSuccess(
  source: EventSource,
  chosen: EventFilters,
  failed: Instant,
  end: Instant,
): Promise<Instant | undefined> {
  for (const length of END_LENGTHS_MS) {
    const limit = Math.min(milliseconds(failed) + length, milliseconds(end));
    const before = instantAt(limit) ?? end;
    if (compareInstants(before, failed) <= 0) return undefined;
    const [first, second] = await deliveriesIn(source, chosen, { after: failed, before });
    // A single success does not end an outage.
    if (second) return first;
    if (limit === milliseconds(end)) return undefined;
  }
  return undefined;
}

async function deliveriesIn(source: EventSource, chosen: EventFilters, within: Span): Promise<Instant[]> {
  const times: Instant[] = [];
  for await (const page of source.readOutcomes(chosen, within))
    times.push(...outcomesOf(page).flatMap(({ at, hasFailed }) => (hasFailed ? [] : [at])));
  return times.sort(compareInstants);
}

/** Bounds are exclusive. */
function justAfter(instant: Instant): Instant {
  return instantAt(Math.floor(milliseconds(instant)) + 1) ?? instant;
}

const reader = () => createCursor([memberPath('createdOn'), memberPath('publishStatus')]);

/** Omits events of unknown time or outcome. */
function outcomesOf({ items, haveFailed }: PageOfOutcomes): Outcome[] {
  const cursor = reader();
  return Array.from({ length: items.count }, (_, item) => {
    cursor.read(items.bytes, items.start(item));
    const at = parseInstant(cursor.text(0) ?? '');
    const hasFailed = haveFailed ?? parseOutcome(cursor.text(1));
    return at && hasFailed !== undefined ? [{ at, hasFailed }] : [];
  }).flat();
}

export function findLargestOutage(health: HealthFold): LargestOutage | undefined {
  const { times } = health;
  const known = Array.from({ length: health.events }, (_, row) => row).filter((row) => times.isKnown(row));
  const ordered = sortRows(known, times);
  const run = largestOutage(ordered.length, (index) => health.hasFailed(ordered[index] as number));
  if (!run) return undefined;
  const outage = outageOfRun(run, (index) => times.at(ordered[index]) as Instant);
  return { ...outage, failed: run.failures };
}
