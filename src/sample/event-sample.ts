import { MISSING } from '../items/field-cursor.ts';
import type { Items } from '../items/items.ts';
import { NULL, QUOTE, stringText } from '../items/json-scanner.ts';
import { parseOutcome } from '../items/outcome-names.ts';
import { EventBlock } from './event-block.ts';
import { RECORD_FIELDS, RecordFields } from './record-fields.ts';
import type { SampledEvent } from './sample-reader.ts';
import { TimeBounds } from './time-bounds.ts';

const MAX_EVENTS = 24_000;
/** Maximum bytes of these events, 2.7 KB each. Larger events make the sample smaller. */
const MAX_SAMPLE_BYTES = 64 * 1024 * 1024;
/** Fixed, so that the same events give the same sample in each run. */
const SEED = 0x9e3779b9;

const { outcome: OUTCOME, createdOn: CREATED_ON, subscription: SUBSCRIPTION } = RECORD_FIELDS;

type KeptEvent = Omit<SampledEvent, 'text'>;

interface Reservoir {
  seen: number;
  readonly places: number[];
}

/**
 * Counts events and keeps a sample of them: all while they are few, then a uniform sample of the failed and
 * one of the delivered events (reservoir sampling).
 */
export class EventSample {
  unknownOutcomes = 0;
  /** Bytes that `SUCCESS` adds to an item compared with `FAILED`: 1, or 0 if items lack their outcome. */
  bytesAddedBySuccess = 0;
  isWhole = true;
  /** By place, as their bytes in the block. */
  readonly #kept: KeptEvent[] = [];
  readonly #block = new EventBlock();
  readonly #failed: Reservoir = { seen: 0, places: [] };
  readonly #delivered: Reservoir = { seen: 0, places: [] };
  #most: number;
  readonly #below = randomNumbers(SEED);
  readonly #subscriptions = new Map<string, string>();
  readonly #times = new TimeBounds();
  readonly #fields = new RecordFields();

  /**
   * The sample is complete up to `maxEvents`, an even number; beyond, it holds at most half as many of each
   * outcome.
   */
  constructor(maxEvents = MAX_EVENTS) {
    this.#most = maxEvents;
  }

  get events(): number {
    return this.#failed.seen + this.#delivered.seen;
  }

  get failed(): number {
    return this.#failed.seen;
  }

  get subscriptions(): number {
    return new Set(this.#subscriptions.values()).size;
  }

  get unknownTimes(): number {
    return this.#times.unknown;
  }

  get bounds(): ReturnType<TimeBounds['result']> {
    return this.#times.result();
  }

  /** True if the sample will still be complete with these. */
  hasRoomFor({ count, bytes }: Items): boolean {
    const hasBytes = this.#block.length + bytes.length <= MAX_SAMPLE_BYTES;
    return this.isWhole && this.events + count <= this.#most && hasBytes;
  }

  get shares(): { readonly failed: number; readonly delivered: number } {
    const shareOf = ({ seen, places }: Reservoir) => (seen === 0 ? 1 : places.length / seen);
    return { failed: shareOf(this.#failed), delivered: shareOf(this.#delivered) };
  }

  get sampledEvents(): number {
    return this.#failed.places.length + this.#delivered.places.length;
  }

  /** In their order if the sample is complete; otherwise in none. The texts change with the next `add`. */
  *readSampled(): Generator<SampledEvent> {
    const places = [...this.#failed.places, ...this.#delivered.places].sort((a, b) => a - b);
    for (const place of places) {
      const { hasFailed, eventAt, createdOnStart, createdOnEnd } = this.#kept[place] as KeptEvent;
      yield { text: this.#block.view(place), hasFailed, eventAt, createdOnStart, createdOnEnd };
    }
  }

  releaseEvents(): void {
    this.#kept.length = 0;
    this.#block.clear();
  }

  add(items: Items, haveFailed: boolean | undefined): void {
    const { bytes, count } = items;
    const fields = this.#fields;
    for (let item = 0; item < count; item++) {
      fields.read(items, item);
      const hasFailed = haveFailed ?? parseOutcome(fields.text(OUTCOME));
      if (hasFailed === undefined) {
        this.unknownOutcomes++;
        continue;
      }
      if (haveFailed === undefined && !hasFailed) this.bytesAddedBySuccess = 1;
      this.#times.see(fields.text(CREATED_ON) ?? '');
      this.#noteSubscription(bytes);
      this.#sample(bytes, items.start(item), items.end(item), hasFailed);
    }
  }

  #noteSubscription(bytes: Buffer): void {
    const start = this.#fields.starts[SUBSCRIPTION] as number;
    const end = this.#fields.ends[SUBSCRIPTION] as number;
    if (start === MISSING || bytes[start] === NULL) return;
    const written = bytes.toString('latin1', start, end);
    if (this.#subscriptions.has(written)) return;
    const isText = bytes[start] === QUOTE;
    const value = isText ? stringText(bytes, start, end) : bytes.toString('utf8', start, end);
    this.#subscriptions.set(written, value.toLowerCase());
  }

  #sample(bytes: Buffer, start: number, end: number, hasFailed: boolean): void {
    const own = hasFailed ? this.#failed : this.#delivered;
    own.seen++;
    if (this.isWhole && this.sampledEvents === this.#most) this.#halve();
    const isComplete = own.places.length === own.seen - 1;
    const hasRoom = this.isWhole || own.places.length < this.#most / 2;
    if (isComplete && hasRoom) this.#keep(own, this.#kept.length, bytes, start, end, hasFailed);
    else this.#keepByChance(own, bytes, start, end, hasFailed);
    while (this.#block.length > MAX_SAMPLE_BYTES && this.#most > 2) this.#halve();
  }

  #keep(to: Reservoir, place: number, bytes: Buffer, start: number, end: number, hasFailed: boolean): void {
    const { starts, ends, eventAt } = this.#fields;
    const hasTime = starts[CREATED_ON] !== MISSING;
    this.#block.set(place, bytes, start, end);
    this.#kept[place] = {
      hasFailed,
      eventAt: eventAt === 0 ? 0 : eventAt - start,
      createdOnStart: hasTime ? (starts[CREATED_ON] as number) - start : 0,
      createdOnEnd: hasTime ? (ends[CREATED_ON] as number) - start : 0,
    };
    to.places.push(place);
  }

  /** Replaces a random event with the probability that every earlier event has of being kept. */
  #keepByChance(own: Reservoir, bytes: Buffer, start: number, end: number, hasFailed: boolean): void {
    const drawn = this.#below(own.seen);
    if (drawn < own.places.length) this.#keep(own, giveUp(own, drawn), bytes, start, end, hasFailed);
  }

  #halve(): void {
    if (!this.isWhole) this.#most /= 2;
    this.isWhole = false;
    for (const part of [this.#failed, this.#delivered])
      while (part.places.length > Math.max(1, this.#most / 2)) {
        const place = giveUp(part, this.#below(part.places.length));
        this.#block.delete(place);
        delete this.#kept[place];
      }
  }
}

/** Returns the place that is free now. */
function giveUp({ places }: Reservoir, index: number): number {
  const place = places[index] as number;
  places[index] = places.at(-1) as number;
  places.pop();
  return place;
}

/** Integers in `[0, limit)`, reproducible by seed (mulberry32). */
function randomNumbers(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit);
  };
}
