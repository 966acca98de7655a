import type { Clock, Context } from '../context.ts';
import type { Service } from '../http/service.ts';
import { tableColumns } from '../items/default-columns.ts';
import { createRowReader } from '../items/item-cells.ts';
import { membersOf } from '../items/item-members.ts';
import type { Items } from '../items/items.ts';
import { valueText } from '../items/json-bytes.ts';
import { suggestion } from '../settings/nearest.ts';
import type { Reporter } from '../terminal/reporter.ts';
import type { EventFilters } from './event-filters.ts';
import { endpoint } from './event-query.ts';
import { type Answer, pageFetcher } from './fetch-page.ts';

/** The event types on offer, and the service's time. */
export async function askEventTypes(service: Service, clock: Clock): Promise<Answer> {
  const fetchPage = pageFetcher(service, clock, undefined, 'the event types cannot be listed');
  return fetchPage(endpoint(service.baseUrl, 'event-types'));
}

/** Those items in which a value holds `match`, in any case. */
export function matchingItems(items: Items, match: string): Items {
  const text = match.toLowerCase();
  const indexes = [...Array(items.count).keys()];
  return items.pick(indexes.filter((index) => holds(JSON.parse(items.text(index).toString()), text)));
}

function holds(value: unknown, text: string): boolean {
  if (value !== null && typeof value === 'object')
    return Object.values(value).some((member) => holds(member, text));
  return String(value).toLowerCase().includes(text);
}

/**
 * The names of the listed types for `eq(eventType,…)`. The service does not say which member holds the name (service
 * description, part 2), so the member that `event-types` shows first is used.
 */
export function eventTypeNames(items: Items): string[] {
  if (items.count === 0) return [];
  const [name] = tableColumns(membersOf(items), 'event-types');
  const read = createRowReader(name ? [name] : [], valueText, '');
  const names = read(items).map(([text = '']) => text);
  return [...new Set(names.filter((text) => text !== ''))];
}

/** After a search without results, warns of types that the service does not list, and names the nearest listed type. */
export function warnOfUnlisted(
  { eventTypes }: EventFilters,
  items: Items,
  reporter: Pick<Reporter, 'warning'>,
): void {
  const listed = eventTypeNames(items);
  for (const type of eventTypes.filter((one) => !listed.includes(one))) {
    const next = suggestion(type, listed) ?? '`hooktrail event-types` lists them';
    reporter.warning(`'${type}' is not among the event types on offer; ${next}`);
  }
}

/** The same, with a request for the types. If that fails there is no warning. */
export async function warnOfTypes(
  filters: EventFilters,
  service: Service,
  { clock, signal }: Pick<Context, 'clock' | 'signal'>,
  reporter: Pick<Reporter, 'warning'>,
): Promise<void> {
  if (filters.eventTypes.length === 0) return;
  try {
    const { page } = await askEventTypes(service, clock);
    warnOfUnlisted(filters, page.items, reporter);
  } catch {
    signal.throwIfAborted();
  }
}
