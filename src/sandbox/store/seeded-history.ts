import { Random } from '../random.ts';
import {
  anyMarketplaces,
  createdOnText,
  drawDetails,
  type EventDetails,
  type EventType,
  eventTypes,
  liveMarketplaces,
  randomGuid,
  type StoredEvent,
  TEST_MARKETPLACE,
} from './event-item.ts';

export interface History {
  /** Sorted by creation, then by id; oldest first. */
  readonly events: readonly StoredEvent[];
  readonly subscriptions: readonly SeededSubscription[];
}

export interface SeededSubscription {
  readonly id: string;
  readonly endpoint: string;
  readonly share: number;
}

const ARCHIVE_ENDPOINT = 'https://archive.example.org/ingest';
const TEST_ENDPOINT = 'https://staging.example.com/hooks/test';

const endpoints: readonly (readonly [string, number])[] = [
  ['https://hooks.example.com/contracts/events', 30],
  ['https://crm.example.com/inbound/signatures', 22],
  ['https://erp.example.net/api/webhooks/v2', 16],
  [ARCHIVE_ENDPOINT, 12],
  ['https://hr.example.com/onboarding/hook', 8],
  ['https://billing.example.net/events?source=documents', 6],
  ['https://notify.example.org/chat/legal', 4],
  [TEST_ENDPOINT, 2],
];

const cause = (httpStatus: number | null, message: string) => JSON.stringify({ httpStatus, message });

export const causes: readonly string[] = [
  cause(503, 'Service Unavailable'),
  cause(502, 'Bad Gateway: upstream connect error or disconnect/reset before headers'),
  cause(500, 'Internal Server Error'),
  cause(504, 'Gateway Timeout'),
  cause(401, 'Unauthorized: invalid Api-Token'),
  cause(429, 'Too Many Requests'),
  cause(null, 'connect ECONNREFUSED 203.0.113.7:443'),
  cause(null, 'The certificate of the endpoint expired – “CN=hooks.example.com”'),
  cause(null, 'Timeout: no answer within 10 s'),
];

const DAYS = 30;
const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
const SHARE_IN_OUTAGES = 0.04;
const STRAY_FAILURES = 0.003;
const SAME_MOMENT = 0.01;
/** Events wanted during the current outage; about a third belong to the busiest endpoint. */
const SHOWN_EVENTS = 60;
/** Number of distinct details, shared by later events to fit a million events into memory. */
const DISTINCT_DETAILS = 10_000;

/** Returns `count` events of the 30 days up to `now`. The same arguments give the same events. */
export function writeHistory(count: number, seed: number, now: number): History {
  const random = new Random(seed);
  const subscriptions = endpoints.map(([endpoint, share]) => ({ id: randomGuid(random), endpoint, share }));
  const traffic = createTraffic(now);
  const outages = drawOutages(new Random(seed + 4), traffic, subscriptions, count);
  const outagesOf = new Map(
    subscriptions.map((subscription) => [
      subscription,
      outages.filter((outage) => outage.subscription === subscription),
    ]),
  );
  const details: EventDetails[] = [];
  const events: StoredEvent[] = [];

  let last = { ms: 0, ticks: 0, word: 0xffffffff };
  for (let ordinal = 0; ordinal < count; ordinal++) {
    // The newest event is a failure within the last minute, so that even the smallest history has one to
    // find.
    const newest = ordinal === count - 1;
    const time = traffic.timeOf((ordinal + random.float()) / count);
    let ms = newest ? Math.max(now - 1 - random.below(MINUTE_MS), last.ms + 1) : Math.floor(time);
    let ticks = random.below(10_000);
    let eventId = randomGuid(random);
    if (ordinal > 0 && !newest && random.float() < SAME_MOMENT && last.word < 0xffff0000) {
      ({ ms, ticks } = last);
      // Events of one moment are sorted by id, so this one must be greater.
      const word = last.word + 1 + random.below(0xffff);
      eventId = word.toString(16).padStart(8, '0') + eventId.slice(8);
    }
    const subscription = subscriptions[random.pick(endpointsByShare)] as SeededSubscription;
    const { id: subscriptionId, endpoint } = subscription;
    const eventType = (eventTypes[random.pick(typesByShare)] as EventType).name;
    const inOutage = causeOfOutage(outagesOf.get(subscription) ?? [], ms, random);
    const stray = inOutage === undefined ? strayCause(newest, random) : undefined;
    const lastError = inOutage ?? stray;
    if (ordinal < DISTINCT_DETAILS) details.push(drawDetails(random));
    events.push({
      eventId,
      eventType,
      createdOn: createdOnText(ms, ticks),
      publishStatus: lastError === undefined ? 'SUCCESS' : 'FAILED',
      subscriptionId,
      endpoint,
      marketplaces: marketplacesAt(endpoint, eventId),
      ordinal,
      details: details[ordinal % DISTINCT_DETAILS] as EventDetails,
      isStray: stray !== undefined,
      lastError: lastError ?? 'null',
    });
    last = { ms, ticks, word: Number.parseInt(eventId.slice(0, 8), 16) };
  }
  return { events, subscriptions };
}

function marketplacesAt(endpoint: string, eventId: string): readonly string[] {
  if (endpoint === TEST_ENDPOINT) return [TEST_MARKETPLACE];
  return endpoint === ARCHIVE_ENDPOINT ? anyMarketplaces(eventId) : liveMarketplaces(eventId);
}

/** A time when an endpoint did not accept deliveries. `cause`: JSON text for `lastError`. */
interface Outage {
  readonly subscription: SeededSubscription;
  readonly from: number;
  readonly to: number;
  readonly cause: string;
}

/**
 * Generates outages until about 4 % of all events fall into one. The first affects the busiest endpoint and
 * is not over, so that there is always something recent to look into.
 */
function drawOutages(
  random: Random,
  traffic: Traffic,
  subscriptions: readonly SeededSubscription[],
  count: number,
): Outage[] {
  const shares = subscriptions.reduce((sum, { share }) => sum + share, 0);
  const outages: Outage[] = [];
  let failedShare = 0;
  for (let draws = 0; failedShare < SHARE_IN_OUTAGES && draws < 500; draws++) {
    const isFirst = draws === 0;
    const subscription = isFirst ? (subscriptions[0] as SeededSubscription) : random.pick(subscriptions);
    const duration = isFirst ? lasting(traffic, count) : (20 + 300 * random.float() ** 2) * MINUTE_MS;
    const latest = traffic.end - duration;
    const from = isFirst ? latest : traffic.start + random.float() * (latest - traffic.start);
    const share = (traffic.share(from, from + duration) * subscription.share) / shares;
    // One long outage of a busy endpoint would use up the whole share.
    if (failedShare + share > SHARE_IN_OUTAGES * 1.2) continue;
    failedShare += share;
    outages.push({ subscription, from, to: from + duration, cause: random.pick(causes) });
  }
  return outages.sort((one, other) => one.from - other.from);
}

/** Returns the duration of the current outage: long enough for the events to show, 2 to 23 hours. */
function lasting(traffic: Traffic, count: number): number {
  let hours = 2;
  while (hours < 23 && traffic.share(traffic.end - hours * HOUR_MS, traffic.end) * count < SHOWN_EVENTS)
    hours++;
  return hours * HOUR_MS;
}

function causeOfOutage(outages: readonly Outage[], ms: number, random: Random): string | undefined {
  for (const outage of outages) {
    if (outage.from > ms) break;
    if (outage.to > ms && random.float() < 0.97) return outage.cause;
  }
  return undefined;
}

function strayCause(isNewest: boolean, random: Random): string | undefined {
  if (random.float() < STRAY_FAILURES) return random.pick(causes);
  return isNewest ? causes[0] : undefined;
}

/** Repeats each index in proportion to its share of a thousand, to be drawn by weight. */
function placesByShare(shares: readonly number[]): readonly number[] {
  const total = shares.reduce((sum, share) => sum + share, 0);
  return shares.flatMap((share, place) => new Array<number>(Math.ceil((share / total) * 1000)).fill(place));
}

const endpointsByShare = placesByShare(endpoints.map(([, share]) => share));
const typesByShare = placesByShare(eventTypes.map(({ share }) => share));

// Traffic by hour of the day (UTC): people sign documents at work, machines send reminders at night.
const byHour = [8, 6, 5, 5, 7, 14, 30, 58, 86, 98, 100, 92, 78, 88, 96, 90, 80, 62, 44, 34, 27, 20, 15, 11];
const byDay = [0.18, 1, 1.06, 1.04, 1, 0.86, 0.24];

/** Day of the week of 1 January 1970, a Thursday. */
const DAY_OF_EPOCH = 4;

function trafficAt(time: number): number {
  const hours = Math.floor(time / HOUR_MS);
  const weekday = (Math.floor(hours / 24) + DAY_OF_EPOCH) % 7;
  return (byHour[hours % 24] as number) * (byDay[weekday] as number);
}

type Traffic = ReturnType<typeof createTraffic>;

function createTraffic(end: number) {
  const start = end - DAYS * 24 * HOUR_MS;
  let total = 0;
  const upTo = [total];
  for (let time = start; time < end; time += HOUR_MS) {
    total += trafficAt(time);
    upTo.push(total);
  }
  const weightUpTo = (time: number) => {
    const hours = (time - start) / HOUR_MS;
    const hour = Math.min(Math.floor(hours), upTo.length - 2);
    const before = upTo[hour] as number;
    return before + (hours - hour) * ((upTo[hour + 1] as number) - before);
  };
  let hour = 0;
  return {
    start,
    end,
    share: (from: number, to: number): number => (weightUpTo(to) - weightUpTo(from)) / total,
    /**
     * Returns the time in milliseconds, with fractions, before which this share of the events falls. Call
     * with ascending shares.
     */
    timeOf(share: number): number {
      const weight = share * total;
      while (hour + 2 < upTo.length && (upTo[hour + 1] as number) <= weight) hour++;
      const before = upTo[hour] as number;
      return start + (hour + (weight - before) / ((upTo[hour + 1] as number) - before)) * HOUR_MS;
    },
  };
}
