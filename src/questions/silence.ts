import type { EventFilters } from '../filters/event-filters.ts';
import type { CountQueries } from '../filters/stats-window.ts';
import { createdOnReader, type Direction } from '../items/item-times.ts';
import type { Query } from '../paging/event-query.ts';
import type { EventSource } from '../sources/event-source.ts';
import {
  comparedSpans,
  daysBefore,
  HISTORY_MS,
  rhythmOfDays,
  silenceAfter,
  type TimeSpan,
  usualGapSeconds,
} from '../statistics/rhythm.ts';
import { compareInstants, type Instant, knownInstant, milliseconds } from '../time/instant.ts';

export interface Silence {
  readonly since: Instant;
  /** Usual gap at the same hours of earlier weeks. */
  readonly usualGapSeconds: number;
}

/** Above this many events in four weeks, ask for counts instead of times: 32 requests are then cheaper. */
const MAX_TIMES = 5_000;
/** Fewer events in the same hours of a week prove nothing. */
const MIN_EVENTS = 2;

export interface Watched {
  readonly chosen: EventFilters;
  readonly last: Instant | undefined;
}

/**
 * Finds searches whose events have stopped for unusually long. With a service, most are ruled out by two
 * counts: in one of the last two weeks, the same hours had fewer than two events. For the others, up to 5,000
 * events of four weeks are read; if there are more, they are counted by day.
 */
export async function findSilences<One extends Watched>(
  source: EventSource,
  watched: readonly One[],
  now: Instant,
): Promise<ReadonlyMap<One, Silence>> {
  const end = milliseconds(now);
  const history = { start: end - HISTORY_MS, end };
  const silences = new Map<One, Silence>();
  const note = (one: One, silence: Silence | undefined) => {
    if (silence) silences.set(one, silence);
  };
  const count = source.service?.count;
  if (!count || watched.some(({ chosen }) => chosen.runHere)) {
    for (const one of watched) note(one, await silenceOfTimes(source, one.chosen, history));
    return silences;
  }
  const lasts = new Map<One, Instant>();
  for (const one of watched) {
    const last = one.last ?? (await newestIn(source, one.chosen, history));
    if (last) lasts.set(one, last);
  }
  for (const [one, last] of await withRecentEvents(count, lasts, end))
    note(one, await silenceByCounts(count, source, one.chosen, last, history));
  return silences;
}

/** Keeps those with events in the compared spans of the last two weeks, which are counted in one batch. */
async function withRecentEvents<One extends Watched>(
  count: CountQueries,
  lasts: ReadonlyMap<One, Instant>,
  end: number,
): Promise<readonly (readonly [One, Instant])[]> {
  const asked = [...lasts].map(([one, last]) => {
    const spans = comparedSpans(milliseconds(last), end).slice(0, 2);
    return { one, last, queries: spans.map((span) => one.chosen.queriesWithin(boundsOf(span))) };
  });
  const counts = (await count(asked.flatMap(({ queries }) => queries.flat()))).values();
  const sumOf = (some: readonly Query[]) => some.reduce((sum) => sum + (counts.next().value as number), 0);
  return asked.flatMap(({ one, last, queries }) => {
    const numbers = queries.map(sumOf);
    const hasEvents = numbers.length > 0 && Math.min(...numbers) >= MIN_EVENTS;
    return hasEvents ? [[one, last] as const] : [];
  });
}

async function silenceByCounts(
  count: CountQueries,
  source: EventSource,
  chosen: EventFilters,
  last: Instant,
  history: TimeSpan,
): Promise<Silence | undefined> {
  const at = milliseconds(last);
  const [total = 0] = await numbersIn(count, chosen, [history]);
  if (total <= MAX_TIMES) return await silenceOfTimes(source, chosen, history);
  const rhythm = rhythmOfDays(await numbersIn(count, chosen, daysBefore(at)));
  if (!rhythm) return undefined;
  const compared = comparedSpans(at, history.end, rhythm.weeks);
  const seconds = usualGapSeconds(compared, await numbersIn(count, chosen, compared), rhythm);
  return seconds === undefined ? undefined : { since: last, usualGapSeconds: seconds };
}

async function numbersIn(
  count: CountQueries,
  chosen: EventFilters,
  spans: readonly TimeSpan[],
): Promise<number[]> {
  const queries = spans.map((span) => chosen.queriesWithin(boundsOf(span)));
  const counts = (await count(queries.flat())).values();
  return queries.map((some) => some.reduce((sum) => sum + (counts.next().value as number), 0));
}

/** Bounds of searches are exclusive. */
function boundsOf({ start, end }: TimeSpan) {
  return { after: knownInstant(Math.ceil(start) - 1), before: knownInstant(Math.ceil(end)) };
}

async function silenceOfTimes(
  source: EventSource,
  chosen: EventFilters,
  history: TimeSpan,
): Promise<Silence | undefined> {
  const found: Instant[] = [];
  for await (const instant of timesIn(source, chosen, history)) found.push(instant);
  return silenceOf(found, history.end);
}

/** `events` in any order; `now` in milliseconds since the epoch. */
export function silenceOf(events: readonly Instant[], now: number): Silence | undefined {
  const sorted = events.toSorted(compareInstants);
  const since = sorted.at(-1);
  const seconds = silenceAfter(sorted.map(milliseconds))(now);
  return since && seconds !== undefined ? { since, usualGapSeconds: seconds } : undefined;
}

async function newestIn(
  source: EventSource,
  chosen: EventFilters,
  span: TimeSpan,
): Promise<Instant | undefined> {
  for await (const instant of timesIn(source, chosen, span, 'newest first')) return instant;
  return undefined;
}

async function* timesIn(
  source: EventSource,
  chosen: EventFilters,
  span: TimeSpan,
  direction?: Direction,
): AsyncGenerator<Instant> {
  const createdOn = createdOnReader();
  for await (const { items } of source.read(chosen, boundsOf(span), direction))
    for (let item = 0; item < items.count; item++) {
      const instant = createdOn(items.bytes, items.start(item));
      if (instant) yield instant;
    }
}
