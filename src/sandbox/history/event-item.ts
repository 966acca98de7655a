import type { Random } from '../random.ts';
import type { PublishStatus } from '../store/event-store.ts';
import type { GuidWords } from '../store/guid.ts';
import type { Moment } from '../store/timestamp.ts';
import type { ItemWriter } from './item-writer.ts';

export interface EventParts {
  readonly id: GuidWords;
  readonly type: string;
  readonly created: Moment;
  readonly status: PublishStatus;
  readonly subscription: string;
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
  'Quarterly report "final" 📎',
].map((name) => Buffer.from(JSON.stringify(name)));
const people = ['anna.berg', 'j.okafor', 'li.wei', 'maria.silva', 'support', 'tom.hughes', 'zoe.petit'].map(
  (name) => Buffer.from(`"${name}@example.com"`),
);
const currencies = ['"EUR"', '"USD"', '"GBP"', '"NOK"'].map((code) => Buffer.from(code));
const versions = ['1.0', '1.10', '2.0', '2.50', '3.00'].map((version) => Buffer.from(version));

const text = {
  id: Buffer.from('{"eventId":"'),
  type: Buffer.from('","eventType":'),
  created: Buffer.from(',"createdOn":"'),
  status: Buffer.from('","publishStatus":'),
  subscription: Buffer.from(',"subscriptionId":'),
  sequence: Buffer.from(',"sequence":9007199'),
  resource: Buffer.from(',"resource":{"type":'),
  resourceId: Buffer.from(',"id":"'),
  name: Buffer.from('","name":'),
  version: Buffer.from(',"version":'),
  amount: Buffer.from('},"amount":{"value":'),
  point: Buffer.from('.'),
  currency: Buffer.from(',"currency":'),
  actor: Buffer.from('},"actor":'),
  endpoint: Buffer.from(',"delivery":{"endpoint":'),
  attempts: Buffer.from(',"attempts":'),
  lastError: Buffer.from(',"lastError":'),
  end: Buffer.from('}}'),
};

/**
 * An event as the sandbox's service shows it, about 540 bytes. The service description leaves an item's fields open: these
 * hold what clients tend to damage, such as integers beyond 2^53, decimals with trailing zeros and characters beyond ASCII.
 */
export function writeItem(out: ItemWriter, parts: EventParts, random: Random): Uint8Array {
  out.bytes(text.id).guid(parts.id);
  out.bytes(text.type).bytes(quoted(parts.type));
  out.bytes(text.created).moment(parts.created);
  out.bytes(text.status).bytes(quoted(parts.status));
  out.bytes(text.subscription).bytes(quoted(parts.subscription));
  // 9007199254740993 is the first integer that a double cannot hold.
  out.bytes(text.sequence).digits(254_740_993 + parts.ordinal);
  out.bytes(text.resource).bytes(resource(parts.type));
  out.bytes(text.resourceId).guid([random.uint32(), random.uint32(), random.uint32(), random.uint32()]);
  out.bytes(text.name).bytes(random.pick(names));
  out.bytes(text.version).bytes(random.pick(versions));
  out.bytes(text.amount).digits(random.below(5000)).bytes(text.point).digits(random.below(100), 2);
  out.bytes(text.currency).bytes(random.pick(currencies));
  out.bytes(text.actor).bytes(random.pick(people));
  out.bytes(text.endpoint).bytes(quoted(parts.endpoint));
  out.bytes(text.attempts).digits(parts.status === 'FAILED' ? 5 : 1);
  out.bytes(text.lastError).bytes(plain(parts.lastError)).bytes(text.end);
  return out.take();
}

/** The item's text after its publish status changed; the rest of the text stays as it is. */
export function withStatus(json: string, status: PublishStatus, lastError: string): string {
  return json
    .replace(/"publishStatus"\s*:\s*"[^"]*"/, () => `"publishStatus":"${status}"`)
    .replace(/"lastError":(null|\{[^{}]*\})/, () => `"lastError":${lastError}`);
}

const quoted = remembered((value) => JSON.stringify(value));
const resource = remembered((type) => JSON.stringify(type.split('.', 1)[0]));
const plain = remembered((value) => value);

/** The bytes of what `convert` makes of a text, made once for each text. */
function remembered(convert: (value: string) => string): (value: string) => Buffer {
  const known = new Map<string, Buffer>();
  return (value) => {
    let bytes = known.get(value);
    if (!bytes) {
      bytes = Buffer.from(convert(value));
      known.set(value, bytes);
    }
    return bytes;
  };
}
