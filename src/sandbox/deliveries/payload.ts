/**
 * The body of a delivery. The service description leaves it open beside its `eventId`: here it is the event without what only
 * its stored form knows, its publish status and how its delivery went; the rest is the item's own text.
 */
export function payloadOf(json: string): string {
  return json.replace(/,"publishStatus":"[^"]*"/, '').replace(/,"delivery":\{(?:[^{}]|\{[^{}]*\})*\}/, '');
}
