import { isUtf8 } from 'node:buffer';
import { createHash } from 'node:crypto';
import { Items, isGuid } from '../json/items.ts';
import { JsonScanner, JsonSyntaxError } from '../json/json-scanner.ts';
import { terminalSafeLine } from '../terminal/terminal-text.ts';

/** An `eventId` as the journal holds it: 32 hexadecimal digits, whatever form the id is written in. */
export type EventKey = string;

/** Half of a surrogate pair: UTF-8 would encode every one of them as the same replacement character. */
const LONE_SURROGATE = /\p{Surrogate}/u;

/**
 * Returns the key of an `eventId`: the digits of a GUID, so that upper and lower case give the same key, and for any
 * other text (the service description names no format for payloads) the first 128 bits of its SHA-256.
 */
export function eventKey(id: string): EventKey {
  if (isGuid(id)) return id.replaceAll('-', '').toLowerCase();
  const encoding = LONE_SURROGATE.test(id) ? 'utf16le' : 'utf8';
  return createHash('sha256').update(id, encoding).digest('hex').slice(0, 32);
}

/** A delivery with the right token, whose body has the form in the service description (parts 2 and 6). */
export interface Delivery {
  readonly eventId: string;
  readonly key: EventKey;
  /** The body as received, to be forwarded byte for byte. */
  readonly body: Buffer;
  readonly contentType: string | undefined;
  readonly apiToken: string;
  /** Returns the body on one line, without white space between tokens. */
  line(): Buffer;
  /** Returns the `eventType`, or `-` if the body has none that is a string. */
  type(): string;
}

/** The body is not that of a delivery; the message tells the sender why. */
export class BodyError extends Error {}

const OBJECT_OPEN = 0x7b;
const QUOTE = 0x22;

/** Reads a delivery's body, which may hold anything besides its `eventId`. Throws `BodyError`. */
export function readDelivery(
  body: Buffer,
  headers: { readonly contentType: string | undefined; readonly apiToken: string },
): Delivery {
  const { scanner, start, end } = readObject(body);
  const at = scanner.eventIdAt;
  if (at === 0) throw new BodyError("the body has no 'eventId'");
  if (body[at] !== QUOTE) throw new BodyError("the 'eventId' is not a string");
  const eventId: string = JSON.parse(body.toString('utf8', at, scanner.string(at)));
  if (eventId === '') throw new BodyError("the 'eventId' is empty");
  const { spaced } = scanner;
  return {
    eventId,
    key: eventKey(eventId),
    body,
    ...headers,
    line: () => lineOf(body, start, end, spaced),
    type: () => {
      const { eventType } = JSON.parse(body.toString('utf8', start, end)) as { eventType?: unknown };
      return typeof eventType === 'string' ? eventType : '-';
    },
  };
}

/** Checks that a text is a JSON object and returns it without white space between tokens. Throws `BodyError`. */
export function objectLine(body: Buffer): Buffer {
  const { scanner, start, end } = readObject(body);
  return lineOf(body, start, end, scanner.spaced);
}

function readObject(body: Buffer): { scanner: JsonScanner; start: number; end: number } {
  if (!isUtf8(body)) throw new BodyError('the body is not UTF-8');
  const hasMark = body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf;
  const scanner = new JsonScanner(body);
  let start: number;
  let end: number;
  try {
    start = scanner.space(hasMark ? 3 : 0);
    end = scanner.value(start);
    const rest = scanner.space(end);
    if (rest !== body.length) throw scanner.fault('the end', rest);
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error;
    throw new BodyError(`the body is not JSON: ${error.message}`);
  }
  if (body[start] !== OBJECT_OPEN) throw new BodyError('the body is not a JSON object');
  return { scanner, start, end };
}

function lineOf(body: Buffer, start: number, end: number, spaced: boolean): Buffer {
  if (!spaced) return body.subarray(start, end);
  return new Items(body, [start, end]).compacted().bytes;
}

const LONGEST_ID = 100;

/** Returns an `eventId` for a message: escaped to stay on one line, and cut if it is unreasonably long. */
export function shownId(eventId: string): string {
  if (eventId.length <= LONGEST_ID) return terminalSafeLine(eventId);
  const start = terminalSafeLine(eventId.slice(0, LONGEST_ID));
  return `${start}… (${eventId.length.toLocaleString('en-US')} characters)`;
}
