import type { Context } from '../context.ts';
import type { EventFilters } from '../events/event-filters.ts';
import { PAGE_SIZE } from '../events/event-query.ts';
import { findEvents } from '../events/find-events.ts';
import { type OnRetry, waitText } from '../http/retry.ts';
import type { Service } from '../http/service.ts';
import { createdOnReader } from '../json/created-on.ts';
import { JsonScanner } from '../json/json-scanner.ts';
import type { Progress } from '../terminal/progress.ts';
import { compareInstants, type Instant } from '../time/instant.ts';
import { type EventKey, eventKey } from './event-key.ts';

/** An event from a search or an export, copied into memory of its own. */
export interface FoundEvent {
  /** The item's own JSON text. */
  readonly body: Buffer;
  /** Undefined if the item has no `eventId` that is a string. */
  readonly eventId: string | undefined;
  readonly key: EventKey | undefined;
}

export interface Finding {
  readonly service: Service;
  readonly filters: EventFilters;
  readonly context: Pick<Context, 'clock' | 'signal'>;
  readonly progress: Pick<Progress, 'update'>;
  /** Called with warnings about the result, such as a wrong clock. */
  readonly onDoubt: (doubt: string) => void;
}

const QUOTE = 0x22;
/** Forwarding takes longer than searching, so reading more pages ahead would gain nothing. */
const PAGES_AHEAD = 2;

/** Yields every event that matches the filters, in the service's order. */
export async function* foundEvents({
  service,
  filters,
  context,
  progress,
  onDoubt,
}: Finding): AsyncGenerator<FoundEvent> {
  const { clock, signal } = context;
  const onRetry: OnRetry = (attempt) => progress.update({ note: waitText(attempt) });
  const options = { pageSize: PAGE_SIZE, concurrency: PAGES_AHEAD, clock, signal, onRetry, onDoubt };
  let pages = 0;
  for await (const { items, total } of findEvents(service, filters, options)) {
    progress.update({ pages: ++pages, total });
    yield* items.texts().map(foundEvent);
  }
}

export function foundEvent(text: Buffer): FoundEvent {
  const body = Buffer.from(text);
  const scanner = new JsonScanner(body);
  scanner.value(0);
  const at = scanner.eventIdAt;
  const isText = at > 0 && body[at] === QUOTE;
  const eventId = isText ? (JSON.parse(body.toString('utf8', at, scanner.string(at))) as string) : undefined;
  return { body, eventId, key: eventId ? eventKey(eventId) : undefined };
}

/** Returns the events in order of creation; those without a time come last, in the service's order. */
export function oldestFirst(events: readonly FoundEvent[]): FoundEvent[] {
  const createdOn = createdOnReader();
  const dated = events.map((event) => ({ event, at: createdOn(event.body, 0) }));
  return dated.sort((one, other) => compareTimes(one.at, other.at)).map(({ event }) => event);
}

function compareTimes(one: Instant | undefined, other: Instant | undefined): number {
  if (one && other) return compareInstants(one, other);
  return one ? -1 : other ? 1 : 0;
}
