import { JsonScanner } from '../events/json-scanner.ts';
import type { ItemTexts } from '../events/page.ts';
import { type EventKey, eventKey } from './event-key.ts';

/** An event of a search, with memory of its own. */
export interface FoundEvent {
  /** The item's own JSON text. */
  readonly body: Buffer;
  /** Undefined where the item has no `eventId` that is a string. */
  readonly eventId: string | undefined;
  readonly key: EventKey | undefined;
}

const QUOTE = 0x22;

/** The events of a page. */
export function eventsOf({ bytes, spans, count }: ItemTexts): FoundEvent[] {
  return Array.from({ length: count }, (_, index) => {
    const body = Buffer.from(bytes.subarray(spans[2 * index], spans[2 * index + 1]));
    const scanner = new JsonScanner(body);
    scanner.value(0);
    const at = scanner.eventIdAt;
    const isText = at > 0 && body[at] === QUOTE;
    const eventId = isText
      ? (JSON.parse(body.toString('utf8', at, scanner.string(at))) as string)
      : undefined;
    return { body, eventId, key: eventId ? eventKey(eventId) : undefined };
  });
}

/** Some events as a page that a writer may overwrite. */
export function pageOf(events: readonly FoundEvent[]): ItemTexts {
  const spans = new Uint32Array(events.length * 2);
  let at = 0;
  events.forEach(({ body }, index) => {
    spans[2 * index] = at;
    at += body.length;
    spans[2 * index + 1] = at++;
  });
  const bytes = Buffer.alloc(Math.max(0, at));
  for (const [index, { body }] of events.entries()) bytes.set(body, spans[2 * index]);
  return { bytes, spans, count: events.length };
}
