import type { Query } from '../paging/event-query.ts';
import { askCount } from '../paging/page.ts';
import { readAhead } from '../paging/read-ahead.ts';
import { knownInstant } from '../time/instant.ts';
import type { ExportClient } from './export-client.ts';
import { dayOf, startOfDay } from './partitions.ts';

/** A second at which parts may meet, and the number of events before it. */
export interface Mark {
  readonly seconds: number;
  events: number;
}

/** Maximum marks counted at once between two others. */
const MAX_MARKS = 16;

/** Adds marks to the given ones until about `target` events are between two, or more within a second. */
export async function markTime(
  bounds: readonly Mark[],
  query: Query,
  target: number,
  client: ExportClient,
): Promise<Mark[]> {
  const isLarge = (to: Mark, from: Mark) => to.events - from.events > 1.5 * target;
  const between = (to: Mark, from: Mark) => {
    const seconds = to.seconds - from.seconds;
    if (!isLarge(to, from)) return [];
    const parts = Math.min(Math.ceil((to.events - from.events) / target), MAX_MARKS, seconds);
    return Array.from({ length: parts - 1 }, (_, at) => to.seconds - Math.ceil((seconds * (at + 1)) / parts));
  };
  const marks = await addMarks(bounds, between, query, client);
  return withoutNeedless(marks, bounds, (to, from) => !isLarge(to, from));
}

/** Marks UTC midnights between events, newest first; skips empty days. */
export async function markDays(bounds: readonly Mark[], query: Query, client: ExportClient): Promise<Mark[]> {
  const isEmpty = (to: Mark, from: Mark) => to.events === from.events;
  const between = (to: Mark, from: Mark) => {
    const first = dayOf(from.seconds) + 1;
    const days = dayOf(to.seconds - 1) - first + 1;
    if (isEmpty(to, from)) return [];
    const asked = Math.min(days, MAX_MARKS);
    return Array.from({ length: asked }, (_, at) =>
      startOfDay(first + Math.floor(((at + 0.5) * days) / asked)),
    );
  };
  return withoutNeedless(await addMarks(bounds, between, query, client), bounds, isEmpty);
}

/** Counts at the seconds that `between` returns for two marks, until there are none. */
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
    // Events may appear or disappear meanwhile, but counts must not increase.
    for (const [at, from] of marks.slice(1).entries())
      from.events = Math.min(from.events, (marks[at] as Mark).events);
  }
}

/** Keeps the marks that were given. */
function withoutNeedless(
  marks: readonly Mark[],
  given: readonly Mark[],
  mayMeet: (to: Mark, from: Mark) => boolean,
): Mark[] {
  const kept = new Set(given);
  const needed: Mark[] = [];
  for (const [at, mark] of marks.entries()) {
    // The first and the last mark were given.
    const isNeedless = !kept.has(mark) && mayMeet(needed.at(-1) as Mark, marks[at + 1] as Mark);
    if (!isNeedless) needed.push(mark);
  }
  return needed;
}
