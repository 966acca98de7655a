import type { Random } from '../random.ts';
import type { PublishStatus } from '../store/event-store.ts';
import { guidText } from '../store/guid.ts';

export interface EventParts {
  readonly eventId: string;
  readonly eventType: string;
  readonly createdOn: string;
  readonly status: PublishStatus;
  readonly subscriptionId: string;
  readonly endpoint: string;
  /** JSON text of the `lastError` member; `null` after a success. */
  readonly lastError: string;
  /** How many events came before. */
  readonly ordinal: number;
}

const names = [
  'Framework agreement 2026',
  'Non-disclosure agreement (mutual)',
  'Arbeitsvertrag Müller & Söhne GmbH',
  'Order form #4711',
  'Contrat de prêt – avenant nº 3',
  'Kaupsamningur Þórsdóttir',
  'Lease, 2nd floor',
  'Data processing addendum',
  '業務委託契約書',
  'Quarterly report "final"',
];
const people = ['anna.berg', 'j.okafor', 'li.wei', 'maria.silva', 'support', 'tom.hughes', 'zoe.petit'];
const currencies = ['EUR', 'USD', 'GBP', 'NOK'];

/**
 * An event as the sandbox's service shows it, about 540 bytes. The service description leaves an item's fields open:
 * these hold what clients tend to damage, such as integers beyond 2^53, decimals with trailing zeros and characters beyond ASCII.
 */
export function eventJson(parts: EventParts, random: Random): string {
  const failed = parts.status === 'FAILED';
  const resource = parts.eventType.slice(0, parts.eventType.indexOf('.'));
  const id = () => guidText(random.uint32(), random.uint32(), random.uint32(), random.uint32());
  const cents = random.below(100);
  return (
    `{"eventId":"${parts.eventId}","eventType":${JSON.stringify(parts.eventType)},"createdOn":"${parts.createdOn}",` +
    `"publishStatus":"${parts.status}","subscriptionId":"${parts.subscriptionId}",` +
    `"sequence":9007199${254740993 + parts.ordinal},` +
    `"resource":{"type":${JSON.stringify(resource)},"id":"${id()}","name":${JSON.stringify(random.pick(names))},"version":${random.below(9)}.${cents < 50 ? '10' : '0'}},` +
    `"amount":{"value":${random.below(5000)}.${cents < 10 ? '0' : ''}${cents},"currency":"${random.pick(currencies)}"},` +
    `"actor":"${random.pick(people)}@example.com",` +
    `"delivery":{"endpoint":${JSON.stringify(parts.endpoint)},"attempts":${failed ? 5 : 1},"lastError":${parts.lastError}}}`
  );
}

/** The item's text after its publish status changed; the rest of the text stays as it is. */
export function withStatus(json: string, status: PublishStatus, lastError: string): string {
  return json
    .replace(/"publishStatus"\s*:\s*"[^"]*"/, () => `"publishStatus":"${status}"`)
    .replace(/"lastError":(null|\{[^{}]*\})/, () => `"lastError":${lastError}`);
}
