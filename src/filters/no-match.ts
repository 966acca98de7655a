import { advise, hooktrail } from '../advice.ts';
import type { Service } from '../http/service.ts';
import { listSubscriptions } from '../names/subscription-names.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { type Instant, milliseconds } from '../time/instant.ts';
import { DAY_MS } from '../time/lengths.ts';
import type { EventFilters } from './event-filters.ts';
import { warnOfTypes } from './event-types.ts';
import { addressWithId } from './resolve-filters.ts';

type Warning = Pick<Reporter, 'warning'>;

/** Checks filters without results against the service's lists. Returns true if it warned. */
export async function warnOfNoMatch(
  filters: EventFilters,
  service: Service,
  reporter: Warning,
): Promise<boolean> {
  if (await warnOfTypes(filters, service, reporter)) return true;
  return await warnOfUnsubscribed(filters, service, reporter);
}

/** Ignores subscriptions that are unlisted or listed without types. */
export async function warnOfUnsubscribed(
  { subscriptionIds, eventTypes, typePatterns = eventTypes }: EventFilters,
  service: Service,
  reporter: Warning,
): Promise<boolean> {
  if (subscriptionIds.length === 0 || eventTypes.length === 0) return false;
  try {
    const listed = await listSubscriptions(service);
    const chosen = subscriptionIds.flatMap(
      (id) => listed.find((one) => one.id.toLowerCase() === id.toLowerCase()) ?? [],
    );
    const unsubscribed = chosen.filter(
      ({ eventTypes: own }) => own.length > 0 && !eventTypes.some((type) => own.includes(type)),
    );
    for (const one of unsubscribed) {
      const shown = hooktrail('subscriptions get', one.id);
      reporter.warning(
        advise`--subscription: ${addressWithId(one)} does not subscribe to ${typePatterns.join(' or ')}; ${shown} shows its types`,
        { kind: 'usage' },
      );
    }
    return unsubscribed.length > 0;
  } catch {
    service.signal.throwIfAborted();
    return false;
  }
}

/** Windows to suggest, in days. */
const LONGER_DAYS = [1, 7, 30, 90];

/** Suggests a window at least twice as long, up to `now` (milliseconds); undefined beyond the longest. */
export function furtherBack(after: Instant, now: number): string | undefined {
  const length = now - milliseconds(after);
  const days = LONGER_DAYS.find((longer) => longer * DAY_MS >= 2 * length);
  return days === undefined ? undefined : `\`--since ${days}d\` looks further back`;
}
