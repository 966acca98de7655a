import type { EventFilters } from '../filters/event-filters.ts';
import { Items } from '../items/items.ts';
import type { EventSource, PageOfOutcomes } from '../sources/event-source.ts';
import type { TimeZone } from '../time/time-zone.ts';
import { type Explanation, FailureReading } from './failure-reading.ts';
import { KeptPages } from './kept-pages.ts';

type ReadAgain = () => AsyncIterable<PageOfOutcomes>;

/** Only stored events can be read again, not those of a pipe or of the service. */
export function againFrom(source: EventSource, filters: EventFilters): ReadAgain | undefined {
  const { readOutcomesAgain, window } = source;
  return readOutcomesAgain && (() => readOutcomesAgain(filters, window));
}

/** Events that cannot be read again stay in the sample, or move to a temporary file. */
export class TwoReadings {
  readonly #reading = new FailureReading();
  readonly #again: ReadAgain | undefined;
  #kept: KeptPages | undefined;

  constructor(again: ReadAgain | undefined) {
    this.#again = again;
  }

  get sample(): FailureReading['sample'] {
    return this.#reading.sample;
  }

  async see(page: PageOfOutcomes): Promise<void> {
    const { sample } = this;
    const isLastRoom = !this.#again && sample.isWhole && !sample.hasRoomFor(page.items);
    const before = isLastRoom ? sample.sampled : [];
    this.#reading.see(page.items, page.haveFailed);
    if (this.#again || sample.isWhole) return;
    if (!this.#kept) {
      this.#kept = new KeptPages();
      for (const hasFailed of [true, false])
        await this.#kept.add({
          items: Items.of(before.filter((event) => event.hasFailed === hasFailed).map(({ text }) => text)),
          haveFailed: hasFailed,
        });
    }
    await this.#kept.add(page);
  }

  /** Call after the first reading. Hours and weekdays follow the zone. */
  async explain(zone: TimeZone): Promise<Explanation> {
    try {
      const pages = this.#again?.() ?? this.#kept?.pages();
      if (this.#reading.search(zone) && pages)
        for await (const { items, haveFailed } of pages) this.#reading.count(items, haveFailed);
      return this.#reading.explanation;
    } finally {
      await this.close();
    }
  }

  async close(): Promise<void> {
    await this.#kept?.close();
  }
}
