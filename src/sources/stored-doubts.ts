import { typeMatcher } from '../filters/event-filters.ts';
import { unlistedText } from '../filters/event-types.ts';
import { memberPath } from '../items/field-path.ts';
import { createRowReader } from '../items/item-columns.ts';
import { holdsEventsFrom } from '../items/item-times.ts';
import { type Items, KeyedItems } from '../items/items.ts';
import { valueText } from '../items/json-scanner.ts';
import { DOUBTFUL_EVENT } from '../paging/page.ts';
import { eventsText } from '../terminal/terminal-text.ts';
import type { Instant } from '../time/instant.ts';
import { afterText } from '../time/period.ts';
import type { TimeZone } from '../time/time-zone.ts';
import { HashSet } from './hash-set.ts';
import { createMatcher, keepKnownOutcomes } from './stored-matches.ts';

/** Watches events as they are read, then reports reasons to doubt the result. */
export interface Doubter {
  see(items: Items): void;
  doubts(): readonly string[];
}

export const OUTCOMES_UNKNOWN =
  '--from: no event has the publishStatus SUCCESS or FAILED, so failures are unknown';
export const UNDATED = 'createdOn is missing or not a time';

/** Doubts a filter by status if no event has a known outcome. */
export function doubtOutcomes(): Doubter {
  let hasEvents = false;
  let hasAnyOutcome = false;
  return {
    see: (items) => {
      hasEvents ||= items.count > 0;
      hasAnyOutcome ||= keepKnownOutcomes(items).count > 0;
    },
    doubts: () => (hasEvents && !hasAnyOutcome ? [OUTCOMES_UNKNOWN] : []),
  };
}

/** Reports statuses that differ only in case, which no filter by status matches. */
export function doubtCaseOfStatus(statuses: readonly string[]): Doubter {
  const otherCases = statuses.flatMap(otherCasesOf);
  const matchers = otherCases.map((publishStatus) => createMatcher([{ publishStatus }], []));
  let count = 0;
  return {
    see: (items) => {
      for (const match of matchers) count += match(items).kept.count;
    },
    doubts: () =>
      count === 0
        ? []
        : [
            `--status: ${eventsText(count)} left out: their publishStatus is ${otherCases.join(' or ')}, which the service does not have; --where 'publishStatus ~ ${otherCases[0]}' finds those too`,
          ],
  };
}

function otherCasesOf(status: string): readonly string[] {
  const lower = status.toLowerCase();
  return [lower, status.slice(0, 1) + lower.slice(1)];
}

/** If all events are older than the window, finding nothing is not an all-clear. */
export function doubtAge(after: Instant, zone: TimeZone): Doubter {
  let hasEvents = false;
  let reachesWindow = false;
  return {
    see: (items) => {
      hasEvents ||= items.count > 0;
      reachesWindow ||= holdsEventsFrom(items, after);
    },
    doubts: () =>
      hasEvents && !reachesWindow
        ? [`--from: no event was created ${afterText(after, ({ text }) => zone.shown(text))}`]
        : [],
  };
}

/** Reports events that a window omits because their time is unknown. */
export function doubtTimes(): Doubter {
  let count = 0;
  return {
    see: (items) => {
      count += items.count;
    },
    doubts: () =>
      count === 0 ? [] : [`${eventsText(count)} left out: ${UNDATED}, which --since and --until need`],
  };
}

/** Reports types and patterns that no event matches. */
export function doubtTypes(types: readonly string[], place: string): Doubter {
  const unseen = new Set(types);
  const seen = new Set<string>();
  const readTypes = createRowReader([memberPath('eventType')], valueText, '');
  const note = (type: string) => {
    if (seen.has(type)) return;
    seen.add(type);
    for (const one of unseen) if (typeMatcher(one)(type)) unseen.delete(one);
  };
  return {
    see: (items) => {
      if (unseen.size === 0) return;
      for (const [type = ''] of readTypes(items)) note(type);
    },
    doubts: () => [...unseen].map((type) => unlistedText(type, [...seen], place)),
  };
}

/** Maximum records remembered, which takes 16 MiB. */
const MAX_RECORDS = 1_000_000;

/** Reports records that are there twice, by the keys of items. */
export function doubtRecords(): Doubter {
  const seen = new HashSet();
  let repeated = 0;
  let hasDoubtful = false;
  const note = (key: number) => {
    if (seen.has(key)) repeated++;
    else if (seen.size < MAX_RECORDS) seen.add(key);
  };
  return {
    see: (items) => {
      if (!(items instanceof KeyedItems)) return;
      hasDoubtful ||= items.hasDoubtful && items.count > 0;
      for (const key of items.keys) if (!Number.isNaN(key)) note(key);
    },
    doubts: () => [
      ...(repeated > 0 ? [`--from: ${repeatedText(repeated)}`] : []),
      ...(hasDoubtful ? [`--from: ${DOUBTFUL_EVENT}`] : []),
    ],
  };
}

function repeatedText(count: number): string {
  const [have, countAgain] = count === 1 ? ['has', 'counts again'] : ['have', 'count again'];
  return `${eventsText(count)} ${have} the eventId and subscription of an earlier one, and ${countAgain}`;
}
