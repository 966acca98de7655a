import { UsageError } from '../errors.ts';
import { EventFilters } from '../filters/event-filters.ts';
import { itemFilter } from '../items/item-filter.ts';
import type { Items } from '../items/items.ts';
import { failuresOf } from '../questions/latest-failures.ts';
import type { EventSource } from '../sources/event-source.ts';
import { keepKnownOutcomes } from '../sources/stored-matches.ts';
import type { Count } from '../statistics/chance.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { type Instant, instantAt, milliseconds } from '../time/instant.ts';
import { DAY_MS, SECOND_MS } from '../time/lengths.ts';
import type { TimeZone } from '../time/time-zone.ts';
import { fieldConditionsOf } from './cause-conditions.ts';
import type { Cause } from './exact-counts.ts';

export type Baseline = 'previous' | '1d' | '7d';

export interface BaselineCounts extends Count {
  readonly after: Instant;
  readonly before: Instant;
  /** Failures and events that fulfil a cause's field conditions and no earlier cause's. */
  readonly ofCauses: readonly Count[];
}

interface Window {
  readonly after: Instant;
  readonly before: Instant;
}

/** Throws `UsageError` for events that are read only once, from a pipe: the baseline needs a second read. */
export function checkBaseline(source: EventSource): void {
  if (!source.isReadOnce) return;
  throw new UsageError(`--baseline: ${source.name} is read once, and the baseline has other events`, {
    next: 'write the events to a file and name that with --from',
  });
}

/**
 * Counts the baseline's events, in all and for each cause. Warns if the source may lack some of them, or if
 * the two windows overlap. Throws `UsageError` if there is no such time.
 */
export async function countBaseline(
  source: EventSource,
  baseline: Baseline,
  { after, before, causes }: Window & { readonly causes: readonly Cause[] },
  reporter: Reporter,
): Promise<BaselineCounts> {
  const { zone } = source.filters;
  const then = shifted({ after, before }, baseline, zone);
  if (!source.service && !(await hasEventsBefore(source, then.after)))
    reporter.warning(
      `--baseline: ${source.name} has no event from before ${zone.shown(then.after.text)}, and may lack some to compare with`,
      { kind: 'incomplete' },
    );
  // The end is rounded up to a full second, so an overlap within that second is expected.
  if (milliseconds(then.before) > milliseconds(after) + SECOND_MS)
    reporter.warning(
      `--baseline ${baseline}: the time explained is longer than that, and its events up to ${zone.shown(then.before.text)} count in both`,
      { kind: 'usage' },
    );
  return await countWithin(source, then, causes);
}

function shifted({ after, before }: Window, baseline: Baseline, zone: TimeZone): Window {
  const from = milliseconds(after);
  const to = milliseconds(before);
  const days = baseline === '1d' ? 1 : 7;
  // Subtract days on the zone's clock, which may change for daylight saving between them.
  const earlier = (time: number) => zone.timesAt(time + zone.offsetAt(time) - days * DAY_MS)[0] as number;
  const start = instantAt(baseline === 'previous' ? 2 * from - to : earlier(from));
  const end = baseline === 'previous' ? after : instantAt(earlier(to));
  if (!start || !end) throw new UsageError(`--baseline: there is no time as long before ${after.text}`);
  return { after: start, before: end };
}

/** True if the source reaches back before that time and so probably covers the time after it. */
async function hasEventsBefore(source: EventSource, before: Instant): Promise<boolean> {
  for await (const { items } of source.read(new EventFilters(), { before })) if (items.count > 0) return true;
  return false;
}

async function countWithin(
  source: EventSource,
  within: Window,
  causes: readonly Cause[],
): Promise<BaselineCounts> {
  const failures = failuresOf();
  const all = { events: 0, failed: 0 };
  const counted = causes.map((cause) => {
    const conditions = fieldConditionsOf(cause);
    return {
      keep: itemFilter(
        conditions.map(({ condition }) => condition),
        [],
        source.filters.zone,
      ),
      // The cause's span lies in another time and is left out, so the cause matches too much here.
      hasSpan: conditions.length < cause.conditions.length,
      events: 0,
      failed: 0,
    };
  });
  for await (const { items, haveFailed } of source.readOutcomes(source.filters, within)) {
    // Each cause counts only the events that earlier causes leave, as in the explanation.
    let left = haveFailed === undefined ? keepKnownOutcomes(items) : items;
    all.events += left.count;
    all.failed += failures({ items: left, haveFailed }).count;
    for (const cause of counted) {
      const kept = cause.keep(left);
      cause.events += kept.count;
      cause.failed += failures({ items: kept, haveFailed }).count;
      if (!cause.hasSpan) left = itemsWithout(left, kept);
    }
  }
  const ofCauses = counted.map(({ events, failed }) => ({ events, failed }));
  return { ...within, ...all, ofCauses };
}

function itemsWithout(items: Items, some: Items): Items {
  const starts = new Set(Array.from({ length: some.count }, (_, index) => some.start(index)));
  const places = Array.from({ length: items.count }, (_, index) => index);
  return items.pick(places.filter((index) => !starts.has(items.start(index))));
}
