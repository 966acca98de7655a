import { categoryOf, type FilteredMembers, type StoredEvent, sequenceText } from '../store/event-item.ts';
import type { ServiceShape } from './service-shape.ts';

export const flatShape: ServiceShape = {
  eventTypeItem: ({ share: _, ...item }) => item,
  itemText: flatItemText,
  deliveryText: (event) => withoutDelivery(flatItemText(event)),
  errorBody: ([issue]) => ({ ...issue }),
  hasSubscriptions: false,
};

function flatItemText(event: StoredEvent): string {
  const { eventId, eventType, createdOn, publishStatus, subscriptionId, marketplaces, details } = event;
  if (event.json !== undefined) return event.json;
  const filtered = {
    eventId,
    eventType,
    createdOn,
    publishStatus,
    subscriptionId,
  } satisfies FilteredMembers & Pick<StoredEvent, 'createdOn'>;
  const members = JSON.stringify(filtered);
  const { id, name, version, amount, currency, actor } = details;
  const type = JSON.stringify(categoryOf(eventType));
  const resource = `{"type":${type},"id":"${id}","name":${name},"version":${version}}`;
  const subject = `"resource":${resource},"amount":{"value":${amount},"currency":${currency}},"actor":${actor}`;
  const attempts = event.lastError === 'null' ? 1 : 5;
  const delivery = `{"endpoint":"${event.endpoint}","attempts":${attempts},"lastError":${event.lastError}}`;
  const headers = JSON.stringify({ marketplaceIds: marketplaces });
  return `${members.slice(0, -1)},"headers":${headers},"sequence":${sequenceText(event)},${subject},"delivery":${delivery}}`;
}

export function withoutDelivery(json: string): string {
  return json.replace(/,"publishStatus":"[^"]*"/, '').replace(/,"delivery":\{(?:[^{}]|\{[^{}]*\})*\}/, '');
}
