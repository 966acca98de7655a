import { Items } from '../../src/items/items.ts';
import { withEventInside } from '../support/shape.ts';

/** A generator of numbers from 0 to 1 that a seed determines (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

type Json = { [name: string]: unknown };

export interface Draw {
  readonly random: () => number;
  readonly below: (limit: number) => number;
  readonly pick: <T>(values: readonly T[]) => T;
}

export function drawOf(random: () => number): Draw {
  const below = (limit: number) => Math.floor(random() * limit);
  return { random, below, pick: (values) => values[below(values.length)] as (typeof values)[number] };
}

/** A condition that makes events fail, with the fields that it is about. */
export interface Planted {
  readonly fields: readonly string[];
  readonly holds: (event: Json) => boolean;
}

export interface Scenario {
  readonly kind: Kind;
  readonly seed: number;
  readonly events: number;
  /** Part of a cause's events that fail, and part of the others. */
  readonly rate: number;
  readonly background: number;
  readonly decoys: boolean;
  readonly effects: boolean;
}

export interface History {
  readonly items: Items;
  readonly events: readonly Json[];
  readonly causes: readonly Planted[];
}

const START = Date.parse('2026-11-21T06:00:00Z');
const DAY = 86_400_000;
const TYPES = [
  'document.signed',
  'document.viewed',
  'invoice.paid',
  'order.created',
  'user.added',
  'user.left',
];
const DOMAINS = ['harbour.example', 'mail.example', 'post.example', 'north.example', 'works.example'];
const PEOPLE = ['anna', 'bo', 'chen', 'dora', 'eli', 'finn', 'gus', 'hal', 'ida', 'jo'];

/** Events of one day, of which those of the planted causes fail more often than the others. */
export function historyOf(scenario: Scenario): History {
  const { kind, seed, events: count, rate, background } = scenario;
  const draw = drawOf(randomOf(seed));
  const { random, below, pick } = draw;
  const guid = () =>
    Array.from({ length: 32 }, () => below(16).toString(16))
      .join('')
      .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  const subscriptions = Array.from({ length: 8 }, guid);
  const endpoints = subscriptions.map((_, index) => `https://host${index}.example.com/in`);
  const customers = Array.from({ length: Math.ceil(count / 12) }, () => `c-${below(1e6)}`);
  const events = Array.from({ length: count }, (_, index): Json => {
    const subscription = Math.floor(8 * random() ** 1.5);
    const type = TYPES[Math.floor(6 * random() ** 1.3)] as string;
    const time = START + Math.floor(((index + random()) / count) * DAY * daysOf(kind));
    return {
      eventId: guid(),
      eventType: type,
      createdOn: new Date(time).toISOString().replace('Z', `${String(below(10_000)).padStart(4, '0')}Z`),
      publishStatus: 'SUCCESS',
      subscriptionId: subscriptions[subscription],
      sequence: 1_000_000 + index,
      resource: {
        type: type.split('.')[0],
        id: guid(),
        name: `Agreement ${below(40)}`,
        version: pick(['1.0', '1.1', '2.0', '3.0']),
      },
      amount: {
        value: Math.round(10 ** (1 + 4 * random()) * 100) / 100,
        currency: pick(['EUR', 'USD', 'GBP', 'NOK']),
      },
      actor: pick(PEOPLE),
      customerId: pick(customers),
      region: pick(['eu', 'us', 'ap', 'sa']),
      priority: 1 + below(5),
      batch: String(below(4)),
      bytes: below(200_000),
      flags: { beta: random() < 0.3, retryable: random() < 0.5 },
      tags: Array.from({ length: below(4) }, () => pick(['red', 'blue', 'green', 'gold'])),
      lines: Array.from({ length: 1 + below(3) }, () => ({ sku: `s${below(8)}`, count: 1 + below(9) })),
      owner: random() < 0.25 ? null : pick(PEOPLE),
      ...(random() < 0.3 ? { discount: { code: pick(['A', 'B', 'C']), percent: 5 * (1 + below(6)) } } : {}),
      ...(random() < 0.75 ? { locale: pick(['de', 'en', 'fr']) } : {}),
      delivery: { endpoint: endpoints[subscription], attempts: 1, lastError: null },
    };
  });
  // What tells of the failure makes an item larger: only a limit far beyond that is a cause then.
  const hasEffects = scenario.effects && kind !== 'size of an event';
  const inner = drawOf(randomOf(seed + 0x5eed));
  addInnerValues(events, inner);
  const causes = kind === 'chance' ? [] : plantingOf(draw, events, inner)[kind]();
  for (const event of events) {
    const isCaused = causes.some(({ holds }) => holds(event));
    const hasFailed = random() < (isCaused ? rate : background);
    if (hasFailed) event['publishStatus'] = 'FAILED';
    if (hasEffects) Object.assign(event['delivery'] as Json, outcomeOf(draw, hasFailed));
    // A name that tells nothing may be the cause where nothing else explains the failures.
    if (hasEffects && causes.length > 0) event['parked'] = hasFailed && random() < 0.995;
  }
  if (scenario.decoys) {
    for (const [index, cause] of causes.entries()) {
      for (const event of events) {
        const follows = cause.holds(event) ? random() < 0.9 : random() < 0.08;
        event[`decoy${index}`] = follows ? 'yes' : pick(['no', 'maybe']);
        if (follows) event[`shadow${index}`] = below(3);
      }
    }
  }
  events.reverse();
  // The id and the type are inside the event in every other history.
  const items = seed % 2 === 0 ? events : events.map(withEventInside);
  return { items: Items.of(items.map((item) => Buffer.from(JSON.stringify(item)))), events, causes };
}

/** What comes again each day or each week takes more than a day. */
function daysOf(kind: Kind): number {
  if (kind === 'weekend') return 28;
  return kind === 'nightly job' ? 10 : 1;
}

/** Values that lie in a text, in a map whose names are ids, or in what is derived of a value. */
function addInnerValues(events: readonly Json[], { random, below, pick }: Draw): void {
  for (const event of events) {
    const order = { channel: pick(['web', 'shop', 'phone', 'app']), total: below(9000) / 100 };
    const parcel = () => [
      `pc_${below(1e9)}`,
      { carrier: pick(['dhl', 'ups', 'gls', 'dpd']), weight: below(50) },
    ];
    Object.assign(event, {
      body: JSON.stringify({ order }),
      parcels: Object.fromEntries(Array.from({ length: 1 + below(3) }, parcel)),
      email: `${pick(PEOPLE)}.${below(900)}@${pick(DOMAINS)}`,
      serial: `4${String(below(1e9)).padStart(9, '0')}${String(below(1e8)).padStart(8, '0')}`,
      note: Array.from({ length: Math.ceil(10 ** (2.6 * random())) }, () => pick(PEOPLE)).join(' '),
    });
  }
}

/** Fields that tell how a delivery ended, as services keep them: not exactly. */
function outcomeOf({ random, pick, below }: Draw, hasFailed: boolean): Json {
  const status = pick([503, 503, 503, 504, null]);
  const lastError = {
    httpStatus: status,
    message: status === null ? 'connection refused' : 'Service Unavailable',
  };
  const durationMs = 20 + below(900);
  const isNew = hasFailed && random() < 0.05;
  if (hasFailed)
    return {
      attempts: isNew ? 1 + below(4) : 5,
      lastError,
      durationMs: random() < 0.8 ? 30_000 + below(50) : durationMs,
      deadLettered: !isNew,
    };
  // A delivery that a later try made keeps the error of the first.
  const hasRecovered = random() < 0.03;
  const attempts = hasRecovered ? 2 + below(4) : 1;
  return { attempts, durationMs, deadLettered: false, ...(hasRecovered ? { lastError } : {}) };
}

const at = (event: Json, path: string): unknown =>
  path.split('.').reduce<unknown>((value, step) => (value as Json | null | undefined)?.[step], event);
/** A condition on any element of a list, or any value of a map. */
const any = (list: string, member: string, holds: (value: unknown) => boolean): Planted => ({
  fields: [`${list}[]${member}`],
  holds: (event) =>
    Object.values(at(event, list) as object).some((element) =>
      holds(member === '' ? element : at(element as Json, member.slice(1))),
    ),
});
const equal = (path: string, value: unknown): Planted => ({
  fields: [path],
  holds: (event) => at(event, path) === value,
});
const both = (...causes: readonly Planted[]): Planted => ({
  fields: causes.flatMap(({ fields }) => fields),
  holds: (event) => causes.every(({ holds }) => holds(event)),
});

/** The causes that each kind plants, drawn when it is called. */
function plantingOf({ random, pick, below }: Draw, events: readonly Json[], inner: Draw) {
  const valueLike = (path: string) => equal(path, at(pick(events), path));
  const number = (path: string, holds: (value: number) => boolean): Planted => ({
    fields: [path],
    holds: (event) => holds(at(event, path) as number),
  });
  const spanOf = (from: number, to: number): Planted => {
    const [start, end] = [START + from * DAY, START + to * DAY].map((time) => new Date(time).toISOString());
    const time = (event: Json) => event['createdOn'] as string;
    return {
      fields: ['createdOn'],
      holds: (event) => time(event) >= (start as string) && time(event) < (end as string),
    };
  };
  const past = () => {
    const from = 0.1 + 0.5 * random();
    return spanOf(from, from + 0.08 + 0.15 * random());
  };
  const planted = {
    sku: `s${inner.below(8)}`,
    tag: inner.pick(['red', 'blue', 'green', 'gold']),
    channel: inner.pick(['web', 'shop', 'phone', 'app']),
    carrier: inner.pick(['dhl', 'ups', 'gls', 'dpd']),
    domain: inner.pick(DOMAINS),
    hour: inner.below(24),
    bytes: inner.below(400),
  };
  const hourOf = (event: Json) => Number((event['createdOn'] as string).slice(11, 13));
  const weekdayOf = (event: Json) =>
    new Date(event['createdOn'] as string).toLocaleDateString('en', { weekday: 'long', timeZone: 'UTC' });
  const moreThan = (limit: number) => (value: number) => value > limit;
  const lessThan = (limit: number) => (value: number) => value < limit;
  return {
    value: () => [valueLike(pick(['eventType', 'subscriptionId', 'actor', 'region']))],
    'nested value': () => [valueLike(pick(['amount.currency', 'resource.version', 'delivery.endpoint']))],
    boolean: () => [valueLike(pick(['flags.beta', 'flags.retryable']))],
    number: () => [valueLike('priority')],
    'text of digits': () => [valueLike('batch')],
    element: () => [any('lines', '.sku', (sku) => sku === planted.sku)],
    'element of values': () => [any('tags', '', (tag) => tag === planted.tag)],
    'number in a list': () => [any('lines', '.count', (count) => (count as number) > 7)],
    'length of a list': () => [
      { fields: ['lines:length'], holds: (event: Json) => (event['lines'] as unknown[]).length > 2 },
    ],
    'second cause beside one in a list': () => [
      any('lines', '.sku', (sku) => sku === planted.sku),
      valueLike('region'),
    ],
    'text that is JSON': () => [
      {
        fields: ['body.order.channel'],
        holds: (event: Json) => (event['body'] as string).includes(planted.channel),
      },
    ],
    'map keyed by id': () => [any('parcels', '.carrier', (carrier) => carrier === planted.carrier)],
    domain: () => [
      { fields: ['email:domain'], holds: (event: Json) => String(event['email']).endsWith(planted.domain) },
    ],
    'size of an event': () => [
      {
        fields: ['item:size'],
        holds: (event: Json) => JSON.stringify(event).length > 1250 + planted.bytes / 2,
      },
    ],
    'length of a text': () => [
      { fields: ['note:length'], holds: (event: Json) => (event['note'] as string).length > 300 },
    ],
    'long number': () => [
      {
        fields: ['serial'],
        holds: (event: Json) => BigInt(event['serial'] as string) > 480_000_000_000_000_000n,
      },
    ],
    'nightly job': () => [
      { fields: ['createdOn:hour'], holds: (event: Json) => hourOf(event) === planted.hour },
    ],
    weekend: () =>
      ['Saturday', 'Sunday'].map((day) => ({
        fields: ['createdOn:weekday'],
        holds: (event: Json) => weekdayOf(event) === day,
      })),
    presence: () => [{ fields: ['discount'], holds: (event: Json) => event['discount'] !== undefined }],
    absence: () => [{ fields: ['locale'], holds: (event: Json) => event['locale'] === undefined }],
    null: () => [equal('owner', null)],
    'two together': () => [
      both(valueLike('region'), valueLike(pick(['eventType', 'amount.currency', 'flags.beta']))),
    ],
    'three together': () => [
      both(equal('flags.retryable', true), valueLike('amount.currency'), equal('eventType', TYPES[below(2)])),
    ],
    span: () => [spanOf(0.75 + 0.2 * random(), 1.1)],
    recovered: () => [past()],
    'value in a span': () => [both(equal('region', pick(['eu', 'us'])), past())],
    'threshold above': () => [number('amount.value', moreThan(10 ** (3.5 + random())))],
    'threshold below': () => [number('bytes', lessThan(10_000 + below(50_000)))],
    // Whole numbers: at least 3, or at least 4.
    'whole threshold': () => [number('priority', moreThan(pick([3, 4]) - 0.5))],
    'two causes': () => [valueLike('region'), valueLike(pick(['eventType', 'subscriptionId']))],
    'rare value': () => [valueLike('resource.name')],
  } satisfies Record<string, () => Planted[]>;
}

export type Kind = keyof ReturnType<typeof plantingOf> | 'chance';
export const KINDS = Object.keys(plantingOf(drawOf(Math.random), [], drawOf(Math.random))) as Exclude<
  Kind,
  'chance'
>[];
