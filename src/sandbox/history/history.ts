import { Random } from '../random.ts';
import type { EventStore, PublishStatus } from '../store/event-store.ts';
import { type GuidWords, randomGuid } from '../store/guid.ts';
import { writeItem } from './event-item.ts';
import { type EventType, eventTypes } from './event-types.ts';
import { ItemWriter } from './item-writer.ts';
import { causes, drawOutages, type Outage } from './outages.ts';
import { Rhythm } from './rhythm.ts';
import { createSubscriptions, type Subscription } from './subscriptions.ts';

const DAYS = 30;
const STRAY_FAILURES = 0.003;
const SAME_MOMENT = 0.01;

export interface History {
  readonly subscriptions: readonly Subscription[];
  readonly outages: readonly Outage[];
}

/** Fills the store with `count` events of the 30 days up to `now`. The same arguments give the same events. */
export function writeHistory(store: EventStore, count: number, seed: number, now: number): History {
  const random = new Random(seed);
  const subscriptions = createSubscriptions(random);
  const rhythm = new Rhythm(now, DAYS);
  const outages = drawOutages(random, rhythm, subscriptions);
  const pickType = weighted(eventTypes, random);
  const pickSubscription = weighted(subscriptions, random);
  const writer = new ItemWriter();
  store.reserve(count);

  let last = { ms: 0, ticks: 0, word: 0xffffffff };
  let ordinal = 0;
  for (const time of rhythm.times(count, () => random.float())) {
    // The newest event is a failure of the last minute: even the smallest history has one to find.
    const newest = ordinal === count - 1;
    let ms = newest ? Math.max(now - 1 - random.below(60_000), last.ms + 1) : Math.floor(time);
    let ticks = random.below(10_000);
    let words: GuidWords = randomGuid(random);
    if (ordinal > 0 && !newest && random.float() < SAME_MOMENT && last.word < 0xffff0000) {
      ({ ms, ticks } = last);
      words = [last.word + 1 + random.below(0xffff), words[1], words[2], words[3]];
    }
    const subscription = pickSubscription();
    const type = (eventTypes[pickType()] as EventType).name;
    const lastError =
      failureCause(outages, subscription, ms, random) ?? (newest ? causes[0] : undefined) ?? 'null';
    const status: PublishStatus = lastError === 'null' ? 'SUCCESS' : 'FAILED';
    const { id: subscriptionId, endpoint } = subscriptions[subscription] as Subscription;
    const parts = { id: words, type, created: { ms, ticks }, status, subscription: subscriptionId, endpoint };
    const json = writeItem(writer, { ...parts, lastError, ordinal }, random);
    store.add({ ms, ticks, id: words, type, subscription: subscriptionId, status, json });
    last = { ms, ticks, word: words[0] };
    ordinal++;
  }
  return { subscriptions, outages };
}

function failureCause(
  outages: readonly Outage[],
  subscription: number,
  ms: number,
  random: Random,
): string | undefined {
  for (const outage of outages) {
    if (outage.from > ms) break;
    if (outage.subscription === subscription && outage.to > ms && random.float() < 0.97) return outage.cause;
  }
  return random.float() < STRAY_FAILURES ? random.pick(causes) : undefined;
}

/** A function that draws an index, each as often as its share says. */
function weighted(values: readonly { readonly share: number }[], random: Random): () => number {
  const total = values.reduce((sum, { share }) => sum + share, 0);
  const table = values.flatMap(({ share }, index) =>
    new Array<number>(Math.ceil((share / total) * 1000)).fill(index),
  );
  return () => table[random.below(table.length)] as number;
}
