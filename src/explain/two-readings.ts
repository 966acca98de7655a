import type { EventFilters } from '../filters/event-filters.ts';
import { Items } from '../items/items.ts';
import { EventSample } from '../sample/event-sample.ts';
import type { EventSource, PageOfOutcomes } from '../sources/event-source.ts';
import type { TimeZone } from '../time/time-zone.ts';
import { type Explanation, searchSample } from './explanation.ts';
import { KeptPages } from './kept-pages.ts';

type Pages = AsyncIterable<PageOfOutcomes>;

export interface SecondReading {
  /** Absent for events of a pipe or of the service, which are read once. */
  readonly again?: (() => Pages) | undefined;
  readonly showKept: (kept: Pages) => Pages;
}

export function againFrom(source: EventSource, filters: EventFilters): SecondReading {
  const isRepeatable = source.service === undefined && !source.isReadOnce;
  return {
    again: isRepeatable ? () => source.readOutcomes(filters, source.window) : undefined,
    showKept: (kept) => source.showKept(kept),
  };
}

/**
 * A second reading takes the events of a file from their places, and those of an export from the source.
 * Other events stay in the sample, or move to a temporary file.
 */
export class TwoReadings {
  readonly sample: EventSample;
  readonly #second: SecondReading;
  readonly #kept = new KeptPages();
  #isKept = true;

  constructor(second: SecondReading, sample = new EventSample()) {
    this.#second = second;
    this.sample = sample;
  }

  async see(page: PageOfOutcomes): Promise<void> {
    const { sample } = this;
    const { again } = this.#second;
    const isLastRoom = !again && sample.isWhole && !sample.hasRoomFor(page.items);
    const before = isLastRoom ? [copyOfSampled(sample, true), copyOfSampled(sample, false)] : [];
    sample.add(page.items, page.haveFailed);
    if (again) {
      this.#isKept &&= this.#kept.addPlace(page);
      return;
    }
    if (sample.isWhole) return;
    for (const copy of [...before, page]) await this.#kept.addCopy(copy);
  }

  /** Call after the first reading. Hours and weekdays follow the zone. */
  async explain(zone: TimeZone): Promise<Explanation> {
    try {
      const { counts, needsSecondReading, explanation } = searchSample(this.sample, zone);
      if (needsSecondReading)
        for await (const { items, haveFailed } of this.#pages()) counts.add(items, haveFailed);
      return explanation();
    } finally {
      await this.close();
    }
  }

  #pages(): Pages {
    const { again, showKept } = this.#second;
    return again && !this.#isKept ? again() : showKept(this.#kept.pages());
  }

  async close(): Promise<void> {
    await this.#kept.close();
  }
}

function copyOfSampled(sample: EventSample, haveFailed: boolean): PageOfOutcomes {
  const texts = [...sample.readSampled()].flatMap(({ text, hasFailed }) =>
    hasFailed === haveFailed ? text : [],
  );
  return { items: Items.of(texts), haveFailed };
}
