import { UsageError } from '../errors.ts';
import { EventFilters } from '../filters/event-filters.ts';
import { memberPath } from '../items/field-path.ts';
import { conditionOn } from '../items/item-conditions.ts';
import { itemFilter } from '../items/item-filter.ts';
import type { Items } from '../items/items.ts';
import type { EventSource } from '../sources/event-source.ts';
import { keepTold } from '../sources/stored-matches.ts';
import type { Count } from '../statistics/chance.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { type Instant, instantAt, milliseconds } from '../time/instant.ts';
import { DAY_MS, SECOND_MS } from '../time/lengths.ts';
import type { TimeZone } from '../time/time-zone.ts';
import { fieldConditionsOf } from './cause-conditions.ts';
import type { Cause } from './exact-counts.ts';

/** The time to compare with: the same length before it, or the same time a day or a week earlier. */
export type Baseline = 'previous' | '1d' | '7d';

export interface BaselineCounts extends Count {
  readonly after: Instant;
  readonly before: Instant;
  /** For each cause: the events for which its conditions but the time held then, and none before it. */
  readonly ofCauses: readonly Count[];
}

interface Window {
  readonly after: Instant;
  readonly before: Instant;
}

/** Throws `UsageError` for events that are read only once, from a pipe: the baseline needs a second read. */
export function checkBaseline(source: EventSource): void {
  if (!source.isReadOnce) return;
  throw new UsageError('--baseline: standard input is read once, and the baseline has other events', {
    next: 'write the events to a file and name that with --from',
  });
}

/**
 * Counts the events of an earlier time, also for each cause of those that were explained. Warns where the
 * source may lack some of them, and where they count in both times. Throws `UsageError` if there is no such
 * time.
 */
export async function countBaseline(
  source: EventSource,
  baseline: Baseline,
  { after, before, causes }: Window & { readonly causes: readonly Cause[] },
  reporter: Reporter,
): Promise<BaselineCounts> {
  const { zone } = source.filters;
  const then = shifted({ after, before }, baseline, zone);
  if (source.isStored && !(await hasEventsBefore(source, then.after)))
    reporter.warning(
      `--baseline: ${source.name} has no event from before ${zone.shown(then.after.text)}, and may lack some to compare with`,
    );
  // The end is the next full second: a baseline as long as the window overlaps by less.
  if (milliseconds(then.before) > milliseconds(after) + SECOND_MS)
    reporter.warning(
      `--baseline ${baseline}: the time explained is longer than that, and its events up to ${zone.shown(then.before.text)} count in both`,
    );
  return await countWithin(source, then, causes);
}

function shifted({ after, before }: Window, baseline: Baseline, zone: TimeZone): Window {
  const from = milliseconds(after);
  const to = milliseconds(before);
  const days = baseline === '1d' ? 1 : 7;
  // Days are those of the zone's clock, which may be put forward or back between them.
  const earlier = (time: number) => zone.timesAt(time + zone.offsetAt(time) - days * DAY_MS)[0] as number;
  const start = instantAt(baseline === 'previous' ? 2 * from - to : earlier(from));
  const end = baseline === 'previous' ? after : instantAt(earlier(to));
  if (!start || !end) throw new UsageError(`--baseline: there is no time as long before ${after.text}`);
  return { after: start, before: end };
}

/** True if the events begin before that time, so that those after it are likely to be there. */
async function hasEventsBefore(source: EventSource, before: Instant): Promise<boolean> {
  for await (const { items } of source.read(new EventFilters(), { before })) if (items.count > 0) return true;
  return false;
}

async function countWithin(
  source: EventSource,
  within: Window,
  causes: readonly Cause[],
): Promise<BaselineCounts> {
  const isFailed = itemFilter([conditionOn(memberPath('publishStatus'), '=', '"FAILED"')], []);
  const failedOf = (items: Items, haveFailed: boolean | undefined) => {
    if (haveFailed === undefined) return isFailed(items).count;
    return haveFailed ? items.count : 0;
  };
  const all = { events: 0, failed: 0 };
  const counted = causes.map((cause) => {
    const conditions = fieldConditionsOf(cause);
    return {
      keep: itemFilter(
        conditions.map(({ condition }) => condition),
        [],
        source.filters.zone,
      ),
      // The events of a span are those of another time: none of these is among them.
      hasSpan: conditions.length < cause.conditions.length,
      events: 0,
      failed: 0,
    };
  });
  for await (const { items, haveFailed } of source.readOutcomes(source.filters, within)) {
    // As where the cause was found, the events of the causes before it are not among them.
    let left = haveFailed === undefined ? keepTold(items) : items;
    all.events += left.count;
    all.failed += failedOf(left, haveFailed);
    for (const cause of counted) {
      const kept = cause.keep(left);
      cause.events += kept.count;
      cause.failed += failedOf(kept, haveFailed);
      if (!cause.hasSpan) left = itemsWithout(left, kept);
    }
  }
  const ofCauses = counted.map(({ events, failed }) => ({ events, failed }));
  return { ...within, ...all, ofCauses };
}

/** The items that are not among some of them. */
function itemsWithout(items: Items, some: Items): Items {
  const starts = new Set(Array.from({ length: some.count }, (_, index) => some.start(index)));
  const places = Array.from({ length: items.count }, (_, index) => index);
  return items.pick(places.filter((index) => !starts.has(items.start(index))));
}
