import { createCursor, MISSING, memberPath } from '../json/item-fields.ts';
import type { Items } from '../json/items.ts';
import { stringText } from '../json/json-scanner.ts';
import { compareInstants, parseInstant } from '../time/instant.ts';
import { type Bucket, byFailure, type Stats, type Tally, type TypeTally } from './statistics.ts';
import { bucketEnds, type StatsWindow } from './statistics-window.ts';

const FIELDS = ['createdOn', 'publishStatus', 'eventType'].map(memberPath);

interface Count {
  total: number;
  failed: number;
}

/** The statistics of events that are read and counted here one by one, for filters that the service cannot count by. */
export class EventTally {
  readonly #window: StatsWindow;
  readonly #ends: Bucket['to'][];
  readonly #buckets: Count[];
  readonly #types = new Map<string | null, Count>();
  readonly #whole: Count = { total: 0, failed: 0 };
  readonly #cursor = createCursor(FIELDS);

  constructor(window: StatsWindow, buckets: number | undefined) {
    this.#window = window;
    this.#ends = bucketEnds(window, buckets);
    this.#buckets = this.#ends.map(() => ({ total: 0, failed: 0 }));
  }

  add(items: Items): void {
    for (let item = 0; item < items.count; item++) {
      this.#cursor.read(items.bytes, items.start(item));
      const [createdOn, status, type = null] = [0, 1, 2].map((field) => this.#text(items.bytes, field));
      const counts = [this.#whole, this.#countOf(type), this.#bucketAt(createdOn)];
      for (const count of counts) {
        if (!count) continue;
        count.total++;
        if (status === 'FAILED') count.failed++;
      }
    }
  }

  get stats(): Stats {
    const window = this.#window;
    const tallyOf = ({ total, failed }: Count): Tally => {
      if (window.status === 'FAILED') return { total, success: null, failed: total };
      if (window.status === 'SUCCESS') return { total, success: total, failed: null };
      return { total, success: total - failed, failed };
    };
    const types = [...this.#types].map(([eventType, count]): TypeTally => ({ eventType, ...tallyOf(count) }));
    const buckets = this.#ends.map(
      (to, index): Bucket => ({
        from: this.#ends[index - 1] ?? window.after,
        to,
        ...tallyOf(this.#buckets[index] as Count),
      }),
    );
    return { window, ...tallyOf(this.#whole), types: types.sort(byFailure), buckets, moved: false };
  }

  #text(bytes: Buffer, field: number): string | undefined {
    const start = this.#cursor.starts[field] as number;
    return start === MISSING || bytes[start] !== 0x22
      ? undefined
      : stringText(bytes, start, this.#cursor.ends[field] as number);
  }

  #countOf(type: string | null): Count {
    const count = this.#types.get(type) ?? { total: 0, failed: 0 };
    this.#types.set(type, count);
    return count;
  }

  /** The first bucket whose end is later than the creation. */
  #bucketAt(createdOn: string | undefined): Count | undefined {
    const instant = createdOn === undefined ? undefined : parseInstant(createdOn);
    if (!instant) return undefined;
    let [low, high] = [0, this.#ends.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (compareInstants(instant, this.#ends[middle] as Bucket['to']) < 0) high = middle;
      else low = middle + 1;
    }
    return this.#buckets[low];
  }
}
