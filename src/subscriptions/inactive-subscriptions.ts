import type { Call } from '../command.ts';
import { ServiceError } from '../errors.ts';
import { EventFilters } from '../filters/event-filters.ts';
import { CONCURRENCY } from '../filters/reading-flags.ts';
import { subscriptionIdsOf } from '../formats/item-table.ts';
import type { Service } from '../http/service.ts';
import type { Query } from '../paging/event-query.ts';
import { askCount, type PageClient } from '../paging/page.ts';
import { openWithProgress } from '../sources/find-events.ts';
import { knownInstant } from '../time/instant.ts';
import { DAY_MS } from '../time/lengths.ts';
import { readSubscription } from './read-subscription.ts';
import { IS_ENABLED, type SubscriptionText } from './subscription-text.ts';

/** Days of events searched for subscriptions that the service does not list. */
export const LOOK_BACK_DAYS = 30;

export interface InactiveSubscription {
  readonly id: string;
  readonly state: 'on' | 'off' | 'gone' | 'unknown';
  readonly text: SubscriptionText | undefined;
}

interface Asking {
  readonly service: Service;
  readonly client: PageClient;
  /** Milliseconds since the epoch, by the service's clock if known. */
  readonly now: number;
  readonly call: Pick<Call, 'context' | 'reporter'>;
}

/** Finds unlisted subscriptions with events in the last 30 days: the service lists only active ones. */
export async function findInactive(
  listed: ReadonlySet<string>,
  asking: Asking,
): Promise<InactiveSubscription[]> {
  const ids = await idsBeside(listed, asking);
  return await Promise.all(ids.map((id) => describe(id, asking)));
}

/**
 * Returns the ids, in lower case, that occur in events but not in the list. Counts of events show when the
 * last such event has been read; without counts all events are read.
 */
async function idsBeside(
  listed: ReadonlySet<string>,
  { service, client, now, call: { context, reporter } }: Asking,
): Promise<string[]> {
  const after = knownInstant(now - LOOK_BACK_DAYS * DAY_MS);
  const before = knownInstant(now);
  const count = (query: Query) => askCount(client, { after, before, ...query }, context.signal);
  const ofListed = await Promise.all([...listed].map((subscriptionId) => count({ subscriptionId })));
  let left = ofListed.reduce<number>(
    (sum, one) => sum - (one ?? Number.NaN),
    (await count({})) ?? Number.NaN,
  );
  const found = new Set<string>();
  if (left === 0) return [];
  const options = { concurrency: CONCURRENCY, within: { after, before } };
  const { pages } = await openWithProgress(service, new EventFilters(), options, context, reporter);
  for await (const { items } of pages) {
    const ids = new Set(subscriptionIdsOf(items).map((id) => id.toLowerCase()));
    for (const id of ids) {
      if (listed.has(id) || found.has(id)) continue;
      found.add(id);
      left -= (await count({ subscriptionId: id })) ?? Number.NaN;
    }
    if (left <= 0) break;
  }
  return [...found];
}

async function describe(
  id: string,
  { service, call: { context, reporter } }: Asking,
): Promise<InactiveSubscription> {
  try {
    const { text } = await readSubscription(id, service, context);
    return { id, state: text.value(IS_ENABLED) === true ? 'on' : 'off', text };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    if (error.status === 404) return { id, state: 'gone', text: undefined };
    reporter.warning(`whether the subscription ${id} is off or gone is unknown: ${error.message}`, {
      kind: error.kind,
    });
    return { id, state: 'unknown', text: undefined };
  }
}
