import { Random } from '../random.ts';
import {
  categoryOf,
  drawAmount,
  type FilteredMembers,
  randomGuid,
  type StoredEvent,
  sequenceText,
} from '../store/event-item.ts';
import type { ServiceShape } from './service-shape.ts';

/**
 * The shape of the published service: an item is a record with the event inside, and shows only whether the
 * delivery succeeded.
 */
export const publishedShape: ServiceShape = {
  eventTypeItem: ({ name, description }) => ({ eventType: name, description }),
  itemText: recordText,
  deliveryText: (event) => event.json ?? eventText(event),
  errorBody: (issues) => ({
    errors: issues.map(({ code, message, property = null }) => ({
      code,
      description: message,
      property,
      properties: {},
    })),
  }),
  hasSubscriptions: true,
};

function recordText(event: StoredEvent): string {
  if (event.json !== undefined) return event.json;
  const { subscriptionId, publishStatus } = event;
  const record = `"subscriptionId":"${subscriptionId}","publishStatus":"${publishStatus}"`;
  return `{${record},"createdOn":"${shortTime(event.createdOn)}","eventData":${eventText(event)}}`;
}

/** Formats a time as the published service does, without trailing zeros in the fraction. */
export function shortTime(createdOn: string): string {
  return createdOn.replace(/(\.\d*?)0+Z$/, '$1Z').replace('.Z', 'Z');
}

const PARTITIONS = ['signing-eu', 'signing-us'];
/** Share of events with the second version of a topic, which few handlers expect. */
const NEW_TOPIC_VERSION = 0.002;

/** Draws everything not in the store from the event's id, so that an event has the same text each time. */
function eventText(event: StoredEvent): string {
  const { eventId, eventType, createdOn, subscriptionId, marketplaces, isStray } = event;
  const random = new Random(Number.parseInt(eventId.slice(0, 8), 16));
  const isNewVersion = isStray || random.float() < NEW_TOPIC_VERSION;
  const topic = JSON.stringify(`signing.${categoryOf(eventType)}`);
  const subject = `"topic":${topic},"topicVersion":"${isNewVersion ? 2 : 1}"`;
  // The event was submitted slightly before its record was created.
  const origin = `"timeStamp":"${createdOn.slice(0, 19)}Z","environment":"Sandbox"`;
  const way = `"partition":"${random.pick(PARTITIONS)}","correlationId":"${randomGuid(random)}"`;
  const message = `"messageId":"${randomGuid(random)}","subscriptionId":"${subscriptionId}"`;
  const headers = `{${message},"marketplaceIds":${JSON.stringify(marketplaces)}}`;
  const filtered = { eventId, eventType } satisfies Omit<FilteredMembers, 'subscriptionId' | 'publishStatus'>;
  const known = JSON.stringify(filtered).slice(1, -1);
  return `{${known},${subject},${origin},${way},"headers":${headers},"body":${bodyText(event, random)}}`;
}

function bodyText(event: StoredEvent, random: Random): string {
  const { id, name, version, amount, currency, actor } = event.details;
  const category = categoryOf(event.eventType);
  const subject = `${JSON.stringify(`${category}Id`)}:"${id}","name":${name},"version":${version}`;
  const money = `"amount":{"value":${amount},"currency":${currency}}`;
  const drawParts = partsByCategory.get(category);
  const parts = drawParts ? `,${drawParts(random)}` : '';
  return `{${subject},${money},"actor":${actor},"sequence":${sequenceText(event)}${parts}}`;
}

/** JSON text of further members, in addition to those of all bodies. */
const partsByCategory = new Map<string, (random: Random) => string>([
  ['document', (random) => `"pages":${1 + random.below(60)},"recipientIds":${guids(random)}`],
  ['envelope', (random) => `"documentIds":${guids(random)}`],
  [
    'recipient',
    (random) => `"documentIds":${guids(random)},"method":"${random.pick(['sms', 'eid', 'video'])}"`,
  ],
  ['reminder', (random) => `"ordinal":${1 + random.below(3)},"recipientIds":${guids(random)}`],
  ['user', (random) => `"groupIds":${guids(random)}`],
  ['invoice', (random) => `"lines":[${lines(random)}]`],
]);

function guids(random: Random): string {
  const ids = Array.from({ length: 1 + random.below(3) }, () => `"${randomGuid(random)}"`);
  return `[${ids}]`;
}

function lines(random: Random): string[] {
  return Array.from({ length: 1 + random.below(3) }, () => {
    const sku = random.pick(['seat', 'archive', 'eid-check', 'seal']);
    return `{"sku":"${sku}","quantity":${1 + random.below(40)},"price":${drawAmount(random)}}`;
  });
}
