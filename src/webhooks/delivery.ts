import { type EventKey, eventKey } from '../ids/event-keys.ts';
import { Items, isObject } from '../items/items.ts';
import { knownValues } from '../items/known-fields.ts';
import { terminalSafeLine } from '../terminal/terminal-text.ts';

/** Has the right token, and a body as in the service description (parts 2 and 6). */
export interface Delivery {
  readonly eventId: string;
  readonly key: EventKey;
  readonly body: Buffer;
  readonly contentType: string | undefined;
  readonly apiToken: string;
  /** The `eventType`, or `-` if it is missing or not a string. */
  readonly type: string;
}

/** The body is not a delivery. The sender gets the message. */
export class BodyError extends Error {}

/** Requires only an `eventId`. Throws `BodyError`. */
export function readDelivery(
  body: Buffer,
  headers: { readonly contentType: string | undefined; readonly apiToken: string },
): Delivery {
  const { eventId, eventType } = knownValues(readObject(body));
  if (eventId === undefined) throw new BodyError("the body has no 'eventId'");
  if (typeof eventId !== 'string') throw new BodyError("the 'eventId' is not a string");
  if (eventId === '') throw new BodyError("the 'eventId' is empty");
  const type = typeof eventType === 'string' ? eventType : '-';
  return { eventId, key: eventKey(eventId), body, ...headers, type };
}

const UTF_8 = new TextDecoder('utf-8', { fatal: true });

/** Parses a body as a JSON object. Throws `BodyError`. */
export function readObject(body: Buffer): Readonly<Record<string, unknown>> {
  let item: unknown;
  try {
    item = JSON.parse(UTF_8.decode(body));
  } catch (error) {
    throw new BodyError(error instanceof SyntaxError ? 'the body is not JSON' : 'the body is not UTF-8');
  }
  if (isObject(item)) return item;
  throw new BodyError('the body is not a JSON object');
}

/** Returns a JSON object's text on one line, without a byte order mark or white space between tokens. */
export function objectLine(body: Buffer): Buffer {
  return new Items(body, [body.indexOf('{'), body.length]).compacted().bytes;
}

const LONGEST_ID_CHARACTERS = 100;

export function shownId(eventId: string): string {
  if (eventId.length <= LONGEST_ID_CHARACTERS) return terminalSafeLine(eventId);
  const start = terminalSafeLine(eventId.slice(0, LONGEST_ID_CHARACTERS));
  return `${start}… (${eventId.length.toLocaleString('en-US')} characters)`;
}
