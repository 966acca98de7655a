import type { EventFilters } from '../filters/event-filters.ts';
import type { Health } from '../health/health-row.ts';
import { memberPath } from '../items/field-path.ts';
import { createCursor } from '../items/known-cursor.ts';
import type { ComparisonTable } from '../outcomes/comparison-table.ts';
import { largestRun, latestRun } from '../outcomes/failure-runs.ts';
import { OUTCOMES } from '../outcomes/outcome-names.ts';
import { sortRows } from '../outcomes/time-column.ts';
import type { EventSource, PageOfOutcomes } from '../sources/event-source.ts';
import { compareInstants, type Instant, instantAt, milliseconds, parseInstant } from '../time/instant.ts';
import { DAY_MS, HOUR_MS } from '../time/lengths.ts';

/** A run of failures from its first to its last. */
export interface Outage {
  readonly since: Instant;
  /** True if it may have begun before the events that were read. */
  readonly edge: boolean;
  readonly lastFailed: Instant;
  /** The delivery that ended it; undefined if it goes on, or if no event came since. */
  readonly until: Instant | undefined;
}

/** The run of a window with the most failures. */
export interface LargestOutage extends Outage {
  readonly failed: number;
}

interface Outcome {
  readonly at: Instant;
  readonly hasFailed: boolean;
}

/** Events read to find where an outage began, at most. */
const MOST_EVENTS = 20_000;
/** The end of an outage is looked for within these lengths after its last failure. */
const END_LENGTHS_MS = [HOUR_MS, DAY_MS, 30 * DAY_MS];

interface Span {
  readonly after: Instant;
  readonly before: Instant;
}

/**
 * Finds the latest run of failures, whole: back to `earliest` where it began before the window, or lies
 * there. Undefined if nothing failed in all that time, or if events that are read once do not tell.
 */
export async function findOutage(
  source: EventSource,
  chosen: EventFilters,
  health: Pick<Health, 'failed' | 'lastFailed'>,
  window: Span,
  earliest: Instant,
): Promise<Outage | undefined> {
  const lastFailed =
    health.lastFailed ??
    (await latestFailure(source, chosen, { after: earliest, before: justAfter(window.after) }));
  if (!lastFailed || source.isReadOnce) return undefined;
  const known: Outcome[] = [];
  // What stands behind the last failure shows whether it goes on; what stands before it, where it began.
  const until = await firstSuccess(source, chosen, lastFailed, window.before);
  const back = source.readOutcomes(chosen, { after: earliest, before: justAfter(lastFailed) });
  for await (const page of back) {
    known.push(...outcomesOf(page));
    const outage = outageOf(known, lastFailed, until);
    // Stored events may stand in any order: only all of them tell.
    if (source.count && outage && !outage.edge) return outage;
    if (source.count && known.length >= MOST_EVENTS) break;
  }
  return outageOf(known, lastFailed, until);
}

function outageOf(known: Outcome[], lastFailed: Instant, until: Instant | undefined): Outage | undefined {
  const sorted = known.toSorted((a, b) => compareInstants(a.at, b.at));
  const run = latestRun(sorted.length, (index) => (sorted[index] as Outcome).hasFailed);
  const first = run && sorted[run.start];
  return first && { since: first.at, edge: run.isAtEdge, lastFailed, until };
}

/**
 * The newest failure of a time. The newest events come first as a rule; stored ones are read to their end.
 */
async function latestFailure(
  source: EventSource,
  chosen: EventFilters,
  within: Span,
): Promise<Instant | undefined> {
  let latest: Instant | undefined;
  for await (const page of source.readOutcomes(chosen.withStatuses('FAILED'), within)) {
    for (const { at, hasFailed } of outcomesOf(page))
      if (hasFailed && (!latest || compareInstants(at, latest) > 0)) latest = at;
    if (latest && source.count) break;
  }
  return latest;
}

/** The first delivery after a failure. Short times are looked through first: most outages end soon after. */
async function firstSuccess(
  source: EventSource,
  chosen: EventFilters,
  failed: Instant,
  end: Instant,
): Promise<Instant | undefined> {
  for (const length of source.count ? END_LENGTHS_MS : END_LENGTHS_MS.slice(-1)) {
    const limit = Math.min(milliseconds(failed) + length, milliseconds(end));
    const before = instantAt(limit) ?? end;
    if (compareInstants(before, failed) <= 0) return undefined;
    const [first, second] = await deliveriesIn(source, chosen, { after: failed, before });
    // One lucky delivery ends no outage.
    if (second) return first;
    if (limit === milliseconds(end)) return undefined;
  }
  return undefined;
}

/** The times of the deliveries of a time, the oldest first. */
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

/** The outcomes of a page's events that tell their time. */
function outcomesOf({ items, haveFailed }: PageOfOutcomes): Outcome[] {
  const cursor = reader();
  return Array.from({ length: items.count }, (_, item) => {
    cursor.read(items.bytes, items.start(item));
    const at = parseInstant(cursor.text(0) ?? '');
    const hasFailed = haveFailed ?? OUTCOMES.get(cursor.text(1) ?? '');
    return at && hasFailed !== undefined ? [{ at, hasFailed }] : [];
  }).flat();
}

/** Finds the run with the most failures among events that were read; undefined if none failed. */
export function findLargestOutage({ times, failures, rows }: ComparisonTable): LargestOutage | undefined {
  const known = Array.from({ length: rows }, (_, row) => row).filter((row) => times.isKnown(row));
  const sorted = sortRows(known, times);
  const run = largestRun(sorted.length, (index) => failures[sorted[index] as number] === 1);
  if (!run) return undefined;
  const at = (index: number) => times.at(sorted[index]) as Instant;
  return {
    since: at(run.start),
    edge: run.isAtEdge,
    lastFailed: at(run.lastFailed),
    until: run.end === undefined ? undefined : at(run.end),
    failed: run.failures,
  };
}
