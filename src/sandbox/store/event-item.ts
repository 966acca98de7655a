import type { Random } from '../random.ts';
import { eventTypes } from './seeded-event-types.ts';

export type PublishStatus = 'SUCCESS' | 'FAILED';

/** An event in the store: the members that the service filters by, and the content of its JSON text. */
export interface StoredEvent {
  /** A GUID in lower case. */
  readonly eventId: string;
  readonly eventType: string;
  /** As `createdOnText` writes it. */
  readonly createdOn: string;
  readonly subscriptionId: string;
  publishStatus: PublishStatus;
  /** The item's JSON text as it was given, or the parts from which `itemText` writes it. */
  content: string | ItemParts;
}

interface ItemParts {
  readonly endpoint: string;
  /** The number of events before this one. */
  readonly ordinal: number;
  readonly details: string;
  readonly attempts: number;
  /** JSON text of the `lastError` member; `null` after a success. */
  readonly lastError: string;
}

const json = (values: readonly string[]) => values.map((value) => JSON.stringify(value));

const names = json([
  'Framework agreement 2026',
  'Non-disclosure agreement (mutual)',
  'Arbeitsvertrag Müller & Söhne GmbH',
  'Order form #4711',
  'Contrat de prêt – avenant nº 3',
  'Kaupsamningur Þórsdóttir',
  'Lease, 2nd floor',
  'Data processing addendum',
  '業務委託契約書',
  'Quarterly report "final" 📎',
]);
const people = json(
  ['anna.berg', 'j.okafor', 'li.wei', 'maria.silva', 'support', 'tom.hughes', 'zoe.petit'].map(
    (name) => `${name}@example.com`,
  ),
);
const currencies = json(['EUR', 'USD', 'GBP', 'NOK']);
const versions = ['1.0', '1.10', '2.0', '2.50', '3.00'];
const resources = new Map(eventTypes.map(({ name, category }) => [name, JSON.stringify(category)]));

/** JSON text of the members that describe the event's subject; several events may share it. */
export function drawDetails(random: Random): string {
  const id = randomWords(random);
  const name = random.pick(names);
  const version = random.pick(versions);
  const amount = `${random.below(5000)}.${String(random.below(100)).padStart(2, '0')}`;
  const currency = random.pick(currencies);
  return `"id":"${guidText(...id)}","name":${name},"version":${version}},"amount":{"value":${amount},"currency":${currency}},"actor":${random.pick(people)}`;
}

/**
 * An event as the sandbox's service shows it, about 540 bytes. The service description leaves an item's fields open: these
 * hold what clients tend to damage, such as integers beyond 2^53, decimals with trailing zeros and characters beyond ASCII.
 */
export function itemText(event: StoredEvent): string {
  const { content, eventType } = event;
  if (typeof content === 'string') return content;
  const resource = resources.get(eventType) ?? JSON.stringify(eventType.split('.', 1)[0]);
  // 9007199254740993 is the first integer that a double cannot hold.
  const sequence = `9007199${254_740_993 + content.ordinal}`;
  return `{"eventId":"${event.eventId}","eventType":${JSON.stringify(eventType)},"createdOn":"${event.createdOn}","publishStatus":"${event.publishStatus}","subscriptionId":"${event.subscriptionId}","sequence":${sequence},"resource":{"type":${resource},${content.details},"delivery":{"endpoint":"${content.endpoint}","attempts":${content.attempts},"lastError":${content.lastError}}}`;
}

/** Changes the publish status of an event; the rest of its text stays as it is. */
export function changeStatus(event: StoredEvent, status: PublishStatus, lastError: string): void {
  event.publishStatus = status;
  const { content } = event;
  event.content =
    typeof content === 'string'
      ? content
          .replace(/"publishStatus"\s*:\s*"[^"]*"/, () => `"publishStatus":"${status}"`)
          .replace(/"lastError":(null|\{[^{}]*\})/, () => `"lastError":${lastError}`)
      : { ...content, lastError };
}

const GUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Returns the GUID in lower case; undefined if the text is not 8-4-4-4-12 hexadecimal digits. */
export function parseGuid(text: string): string | undefined {
  const guid = text.toLowerCase();
  return GUID.test(guid) ? guid : undefined;
}

/** Returns the 128 bits of a GUID as four unsigned 32-bit words, first digits first. */
type GuidWords = [number, number, number, number];

function randomWords(random: Random): GuidWords {
  return [random.uint32(), random.uint32(), random.uint32(), random.uint32()];
}

/** A GUID of version 4 (RFC 9562 section 5.4): random bits, except for its version and variant. */
export function randomGuid(random: Random): string {
  const [a, b, c, d] = randomWords(random);
  return guidText(a, ((b & 0xffff0fff) | 0x4000) >>> 0, ((c & 0x3fffffff) | 0x80000000) >>> 0, d);
}

const HEX4 = Array.from({ length: 0x10000 }, (_, value) => value.toString(16).padStart(4, '0'));

function guidText(...[a, b, c, d]: GuidWords): string {
  return `${HEX4[a >>> 16]}${HEX4[a & 0xffff]}-${HEX4[b >>> 16]}-${HEX4[b & 0xffff]}-${HEX4[c >>> 16]}-${HEX4[c & 0xffff]}${HEX4[d >>> 16]}${HEX4[d & 0xffff]}`;
}
