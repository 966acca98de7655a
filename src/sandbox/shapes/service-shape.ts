import type { EventType, StoredEvent } from '../store/event-item.ts';

/** The names of the two shapes; the first is what the published service has. */
export const SHAPES = ['published', 'flat'] as const;

export type ShapeName = (typeof SHAPES)[number];

/** What is wrong with a request. */
export interface Issue {
  /** Shaped like `<resource>.<issue_type>` (service description, part 2). */
  readonly code: string;
  /** A sentence for people. */
  readonly message: string;
  readonly property?: string;
}

/**
 * How a service writes its answers and deliveries. The parts that the service description shows are the same
 * in all.
 */
export interface ServiceShape {
  /** An item of the EventTypeCollection. */
  eventTypeItem(type: EventType): object;
  /** The JSON text of an item of Search Events. */
  itemText(event: StoredEvent): string;
  /** The body of a delivery. */
  deliveryText(event: StoredEvent): string;
  /** The body of an answer other than 2xx. */
  errorBody(issues: readonly Issue[]): object;
  /** It has the requests of subscriptions. */
  readonly hasSubscriptions: boolean;
}
