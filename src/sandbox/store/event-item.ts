import type { Random } from '../random.ts';

/** An item of the sandbox's EventTypeCollection. `share`: relative frequency of its events. */
export interface EventType {
  readonly name: string;
  readonly description: string;
  readonly category: string;
  readonly version: string;
  readonly share: number;
}

const type = (name: string, share: number, description: string): EventType => ({
  name,
  description,
  category: categoryOf(name),
  version: '1.0',
  share,
});

export const eventTypes: readonly EventType[] = [
  type('document.created', 90, 'A document was uploaded or generated from a template.'),
  type('document.viewed', 160, 'A recipient opened a document for the first time.'),
  type('document.signed', 140, 'A recipient signed a document.'),
  type('document.completed', 80, 'All recipients have signed; the final document is available.'),
  type('document.declined', 8, 'A recipient declined to sign and may have given a reason.'),
  type('document.expired', 12, 'A document reached its expiry date before all recipients had signed.'),
  type('document.deleted', 6, 'A document was deleted by its owner or by a retention rule.'),
  type('envelope.sent', 95, 'An envelope was sent to its recipients.'),
  type('envelope.delivered', 90, 'An envelope reached the mailboxes of all recipients.'),
  type('envelope.bounced', 7, 'An envelope could not be delivered to a recipient’s mailbox.'),
  type('envelope.voided', 9, 'The sender withdrew an envelope before completion.'),
  type('recipient.authenticated', 70, 'A recipient proved their identity with the requested method.'),
  type('recipient.authentication_failed', 11, 'A recipient did not pass the requested identity check.'),
  type('recipient.reassigned', 10, 'A recipient handed the signature over to someone else.'),
  type('reminder.sent', 60, 'A reminder was sent to a recipient who has not signed yet.'),
  type('template.published', 5, 'A new version of a template was published.'),
  type('user.invited', 14, 'Somebody was invited to join the organisation.'),
  type('user.deactivated', 4, 'A user of the organisation was deactivated.'),
  type('invoice.issued', 18, 'An invoice for the organisation’s account was issued.'),
  type('invoice.paid', 16, 'An invoice for the organisation’s account was paid.'),
];

export const TEST_MARKETPLACE = '2900';
export const LIVE_MARKETPLACES = ['2001', '2002', '2003'];
const LIVE_COMBINATIONS = [['2001'], ['2002'], ['2001', '2003']];
/** One in this many events is a test. */
const TEST_EVERY = 20;

export function liveMarketplaces(eventId: string): readonly string[] {
  return LIVE_COMBINATIONS[draw(eventId) % LIVE_COMBINATIONS.length] as readonly string[];
}

export function anyMarketplaces(eventId: string): readonly string[] {
  return draw(eventId) % TEST_EVERY === 0 ? [TEST_MARKETPLACE] : liveMarketplaces(eventId);
}

function draw(eventId: string): number {
  return Number.parseInt(eventId.slice(9, 13), 16);
}

export type PublishStatus = 'SUCCESS' | 'FAILED';

export interface StoredEvent {
  readonly eventId: string;
  readonly eventType: string;
  /** In the form of `createdOnText`. */
  readonly createdOn: string;
  readonly subscriptionId: string;
  readonly endpoint: string;
  readonly marketplaces: readonly string[];
  readonly ordinal: number;
  readonly details: EventDetails;
  readonly isStray?: boolean | undefined;
  publishStatus: PublishStatus;
  lastError: string;
  json?: string | undefined;
}

/** The members that a search filters by: items have them in every shape. */
export type FilteredMembers = Pick<StoredEvent, 'subscriptionId' | 'eventId' | 'publishStatus' | 'eventType'>;

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
const users = ['anna.berg', 'j.okafor', 'li.wei', 'maria.silva', 'support', 'tom.hughes', 'zoe.petit'];
const people = json(users.map((name) => `${name}@example.com`));
const currencies = json(['EUR', 'USD', 'GBP', 'NOK']);
const versions = ['1.0', '1.10', '2.0', '2.50', '3.00'];

/** Values that several events may share. All but the id are JSON text. */
export interface EventDetails {
  readonly id: string;
  readonly name: string;
  /** A number with trailing zeros, which parsers tend to lose. */
  readonly version: string;
  readonly amount: string;
  readonly currency: string;
  readonly actor: string;
}

export function drawDetails(random: Random): EventDetails {
  const id = guidText(drawWords(random));
  const name = random.pick(names);
  const version = random.pick(versions);
  const amount = drawAmount(random);
  const currency = random.pick(currencies);
  return { id, name, version, amount, currency, actor: random.pick(people) };
}

/** JSON text of a number from 0 to 5000 with two decimals. */
export function drawAmount(random: Random): string {
  return `${random.below(5000)}.${String(random.below(100)).padStart(2, '0')}`;
}

/**
 * JSON text of an integer. The first, 9007199254740993, is the smallest positive one that a double cannot
 * represent.
 */
export function sequenceText({ ordinal }: Pick<StoredEvent, 'ordinal'>): string {
  return `9007199${254_740_993 + ordinal}`;
}

/** Returns `document` for `document.signed`. */
export function categoryOf(eventType: string): string {
  return eventType.split('.', 1)[0] as string;
}

const UTC = /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d)(?:(:\d\d)(?:\.(\d+))?)?Z)?$/;

/**
 * Parses a UTC ISO 8601 date or date-time (service description, part 4) with any number of fractional digits.
 * Returns the service's form without the `Z`, `2026-11-01T08:15:30.1234567`, with further digits only if they
 * are not zero: such texts sort by time. Returns undefined if the day or time does not exist.
 */
export function sortableTime(text: string): string | undefined {
  const [, day, time = '00:00', second = ':00', fraction = ''] = UTC.exec(text) ?? [];
  const whole = `${day}T${time}${second}`;
  const date = new Date(`${whole}Z`);
  // `Date` reads 30 February as 2 March.
  if (Number.isNaN(date.getTime()) || date.toISOString() !== `${whole}.000Z`) return undefined;
  return `${whole}.${fraction.replace(/0+$/, '').padEnd(7, '0')}`;
}

/** `2026-11-01T08:15:30.1234567Z`; `ticks`: units of 100 ns within the millisecond, 0 to 9999. */
export function createdOnText(ms: number, ticks: number): string {
  return `${new Date(ms).toISOString().slice(0, -1)}${String(ticks).padStart(4, '0')}Z`;
}

const GUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Returns the GUID in lower case; undefined if the text is not 8-4-4-4-12 hexadecimal digits. */
export function parseGuid(text: string): string | undefined {
  const guid = text.toLowerCase();
  return GUID.test(guid) ? guid : undefined;
}

/** A GUID of version 4 (RFC 9562 section 5.4): random bits, except for its version and variant. */
export function randomGuid(random: Random): string {
  const [a, b, c, d] = drawWords(random);
  return guidText([a, ((b & 0xffff0fff) | 0x4000) >>> 0, ((c & 0x3fffffff) | 0x80000000) >>> 0, d]);
}

type GuidWords = readonly [number, number, number, number];

function drawWords(random: Random): GuidWords {
  return [random.uint32(), random.uint32(), random.uint32(), random.uint32()];
}

/** The two digits of each byte: much faster than formatting each number with base 16. */
const hexOfByte = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));
const upperHex = (word: number) => `${hexOfByte[word >>> 24]}${hexOfByte[(word >>> 16) & 0xff]}`;
const lowerHex = (word: number) => `${hexOfByte[(word >>> 8) & 0xff]}${hexOfByte[word & 0xff]}`;

function guidText([a, b, c, d]: GuidWords): string {
  return `${upperHex(a)}${lowerHex(a)}-${upperHex(b)}-${lowerHex(b)}-${upperHex(c)}-${lowerHex(c)}${upperHex(d)}${lowerHex(d)}`;
}
