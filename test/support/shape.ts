import type { ShapeName } from '../../src/sandbox/shapes/service-shape.ts';
import type { PublishStatus } from '../../src/sandbox/store/event-item.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The shape of the services of this project's tests. */
    shape: ShapeName;
  }
}

/**
 * The shape of sandboxes that are started without another. `vitest.config.ts` says which tests run in both.
 */
export let shape: ShapeName = 'published';

/** Called before each test file. */
export function useShape(name: ShapeName): void {
  shape = name;
}

/** Returns what belongs to the shape in which the test runs. */
export function inShape<Value>(values: Readonly<Record<ShapeName, Value>>): Value {
  return values[shape];
}

/**
 * Fields that the items of both shapes have, by their path in the flat one, with their path in the published
 * one.
 */
const publishedPaths = {
  'resource.name': 'eventData.body.name',
  'resource.version': 'eventData.body.version',
  'amount.value': 'eventData.body.amount.value',
  'amount.currency': 'eventData.body.amount.currency',
  actor: 'eventData.body.actor',
  sequence: 'eventData.body.sequence',
} as const;

type SharedField = keyof typeof publishedPaths;

/** Returns the path of a field that the items of both shapes have. */
export function pathOf(field: SharedField): string {
  return inShape({ flat: field, published: publishedPaths[field] });
}

/** Returns the value of such a field in a parsed item. */
// biome-ignore lint/suspicious/noExplicitAny: the field has the type that the test expects.
export function valueAt(item: object, field: SharedField): any {
  const names = pathOf(field).split('.');
  return names.reduce<unknown>((value, name) => (value as Record<string, unknown>)[name], item);
}

/** Returns the path of the event's id or type. */
export function pathInEvent(field: 'eventId' | 'eventType'): string {
  return inShape({ flat: field, published: `eventData.${field}` });
}

/** Returns the name of a parsed item of the event types. */
export function typeName(item: { readonly name?: string; readonly eventType?: string }): string {
  return inShape({ flat: item.name, published: item.eventType }) as string;
}

/** The known fields of an item, which all sandboxes give to all items. */
export interface KnownValues {
  readonly eventId: string;
  readonly eventType: string;
  readonly subscriptionId: string;
  readonly createdOn: string;
  readonly publishStatus: PublishStatus;
}

/**
 * Returns an item of these fields, of which those that are the event's own go into it in the published shape.
 */
export function itemOf(fields: Readonly<Record<string, unknown>>): object {
  const { subscriptionId, publishStatus, createdOn, ...event } = fields;
  return inShape({ flat: fields, published: { subscriptionId, publishStatus, createdOn, eventData: event } });
}

/**
 * Returns an item with the event's id and type one level down. All else stays where it is, so that a test
 * expects the same of it as of the flat item. What has no text for an id is left as it is: nothing would be
 * an event in it.
 */
export function withEventInside(item: object): object {
  const { eventId, eventType, ...others } = item as Partial<KnownValues>;
  return typeof eventId === 'string' ? { ...others, eventData: { eventId, eventType } } : item;
}

/** Returns the JSON text of a flat item in the shape in which the test runs. */
export function textInShape(item: object): string {
  return JSON.stringify(inShape({ flat: item, published: withEventInside(item) }));
}

/**
 * Returns the bytes that a handler gets of an item of the sandbox: the event, which is the item's last
 * member.
 */
export function eventIn(item: string): string {
  const start = item.indexOf('"eventData":');
  return start === -1 ? item : item.slice(start + '"eventData":'.length, -1);
}

/** What is said of a hand-over in which records have an event inside. */
export const eventsInside = () =>
  inShape({
    flat: '',
    published:
      'the handler gets the event inside each record, as a delivery carries it; --hand-over record sends the whole record\n',
  });

/** Returns the known fields of a parsed item of the sandbox, in either shape. */
export function knownOf(item: object): KnownValues {
  const event = (item as { readonly eventData?: object }).eventData ?? {};
  const memberOf = <Name extends keyof KnownValues>(name: Name) =>
    ((name in item ? item : event) as KnownValues)[name];
  return {
    eventId: memberOf('eventId'),
    eventType: memberOf('eventType'),
    subscriptionId: memberOf('subscriptionId'),
    createdOn: memberOf('createdOn'),
    publishStatus: memberOf('publishStatus'),
  };
}
