import { type Advice, advise, hooktrail } from '../advice.ts';
import type { EventFilters } from '../filters/event-filters.ts';
import type { Query } from '../paging/event-query.ts';
import { askPage, type PageClient } from '../paging/page.ts';
import type { Reporter } from '../terminal/reporter.ts';

/** Values checked: each costs a request. */
const MAX_VALUES = 10;

/**
 * Reports subscriptions and types without any event: a wrong one would never match. Skips those for which the
 * service does not answer. In a resumed run this is not a warning.
 */
export async function warnOfValuesWithoutEvents(
  { filters, isResumed }: { readonly filters: EventFilters; readonly isResumed: boolean },
  client: PageClient,
  signal: AbortSignal,
  reporter: Pick<Reporter, 'notice' | 'warning'>,
): Promise<void> {
  const { subscriptionIds, eventTypes, typePatterns = eventTypes } = filters;
  const types = typePatterns.filter((type) => !type.includes('*'));
  const values: readonly FilterValue[] = [
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
  const areWithout = await Promise.all(
    values.slice(0, MAX_VALUES).map(({ query }) => hasNoEvent(query, client, signal)),
  );
  signal.throwIfAborted();
  for (const { text, next } of values.filter((_, index) => areWithout[index]))
    if (isResumed) reporter.notice(`${text} yet`);
    else reporter.warning(`${text} yet`, { kind: 'usage', next });
}

interface FilterValue {
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
