import type { EventType, StoredEvent } from '../store/event-item.ts';

export const SHAPES = ['published', 'flat'] as const;

export type ShapeName = (typeof SHAPES)[number];

export interface Issue {
  /** Shaped like `<resource>.<issue_type>` (service description, part 2). */
  readonly code: string;
  readonly message: string;
  readonly property?: string;
}

/**
 * How a service formats its answers and deliveries. The members in the service description are the same in
 * all shapes.
 */
export interface ServiceShape {
  eventTypeItem(type: EventType): object;
  itemText(event: StoredEvent): string;
  deliveryText(event: StoredEvent): string;
  errorBody(issues: readonly Issue[]): object;
  readonly hasSubscriptions: boolean;
}
