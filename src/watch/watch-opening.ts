import { type Advice, advise, hooktrail } from '../advice.ts';
import type { EventFilters } from '../filters/event-filters.ts';
import type { Query } from '../paging/event-query.ts';
import { askPage, type PageClient } from '../paging/page.ts';
import { shellText } from '../shell-words.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { durationText } from '../time/lengths.ts';

export interface Opening {
  readonly filters: EventFilters;
  /** Milliseconds between two polls, and the overlap of each. */
  readonly intervalMs: number;
  readonly overlapMs: number;
  readonly isResumed: boolean;
  /** True if it ends by now, so it reads once. */
  readonly isPast: boolean;
  readonly window: string;
}

/** Reports the filters: a person who waits for an event has to see which ones can come. */
export function announceWatch(
  { filters, intervalMs, overlapMs, isResumed, isPast, window }: Opening,
  reporter: Pick<Reporter, 'notice'>,
): void {
  const what = isResumed ? window : `events ${window}`;
  const which = shellText(filters.words('since', 'timezone')) || 'all of them';
  const changes = filters.statuses.length > 0 ? 'appear or change their status' : 'appear';
  const limit = `events that ${changes} more than ${durationText(overlapMs)} after their creation are not seen (--overlap)`;
  reporter.notice(`watching ${what}, ${pollsText(intervalMs, isPast)}: ${which}; ${limit}`);
}

export function pollsText(intervalMs: number, isPast: boolean): string {
  return isPast ? 'once' : `every ${durationText(intervalMs)}`;
}

/** Values checked: each costs a request. */
const MAX_VALUES = 10;

/**
 * Reports subscriptions and types without any event: a wrong one would never match. Skips those for which the
 * service does not answer. In a resumed run this is not a warning.
 */
export async function warnOfSilentSubscriptions(
  { filters, isResumed }: Pick<Opening, 'filters' | 'isResumed'>,
  client: PageClient,
  signal: AbortSignal,
  reporter: Pick<Reporter, 'notice' | 'warning'>,
): Promise<void> {
  const { subscriptionIds, eventTypes, typePatterns = eventTypes } = filters;
  const types = typePatterns.filter((type) => !type.includes('*'));
  const values: readonly Silent[] = [
    ...subscriptionIds.map((id) => ({
      query: { subscriptionId: id },
      text: `no event has the subscription ${id}`,
      next: advise`${hooktrail('events health')} lists those that have some`,
    })),
    ...types.map((type) => ({
      query: { eventType: type },
      text: `no event has the type '${type}'`,
      next: advise`${hooktrail('event-types')} lists the types on offer`,
    })),
  ];
  const isSilent = await Promise.all(
    values.slice(0, MAX_VALUES).map(({ query }) => hasNoEvent(query, client, signal)),
  );
  signal.throwIfAborted();
  for (const { text, next } of values.filter((_, index) => isSilent[index]))
    if (isResumed) reporter.notice(`${text} yet`);
    else reporter.warning(`${text} yet`, { kind: 'usage', next });
}

interface Silent {
  readonly query: Query;
  readonly text: string;
  readonly next: Advice;
}

async function hasNoEvent(query: Query, client: PageClient, signal: AbortSignal): Promise<boolean> {
  try {
    const { page } = await askPage(client, query, { start: 1, count: 1 }, signal);
    return page.items.count === 0;
  } catch {
    return false;
  }
}
