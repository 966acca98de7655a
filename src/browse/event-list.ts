import type { FoundPage } from '../events/merge-pages.ts';
import type { Items } from '../items/items.ts';

/** Events as far as they were read; the rest is read when somebody comes near the end. */
export class EventList {
  readonly #pages: AsyncIterator<FoundPage>;
  readonly #items: Items[] = [];
  #loading: Promise<void> | undefined;
  /** How many there are in all, where the service tells. */
  total: number | undefined;
  ended = false;
  /** Why no more could be read. */
  problem: Error | undefined;

  constructor(pages: AsyncIterator<FoundPage>) {
    this.#pages = pages;
  }

  get length(): number {
    return this.#items.length;
  }

  /** An event as a page of one. */
  at(index: number): Items {
    return this.#items[index] as Items;
  }

  get loading(): boolean {
    return this.#loading !== undefined;
  }

  /** Reads one more page; while one is being read, that one. Never rejects: see `problem`. */
  more(): Promise<void> {
    this.#loading ??= this.#read().finally(() => {
      this.#loading = undefined;
    });
    return this.#loading;
  }

  async close(): Promise<void> {
    await this.#pages.return?.();
  }

  async #read(): Promise<void> {
    if (this.ended) return;
    try {
      const { done, value } = await this.#pages.next();
      if (done) {
        this.ended = true;
        return;
      }
      const { items, total } = value;
      this.total = total;
      for (let item = 0; item < items.count; item++) this.#items.push(items.only(item));
    } catch (error) {
      this.ended = true;
      this.problem = error as Error;
    }
  }
}

/** The event's own JSON text. */
export function textOf(item: Items): string {
  return item.text(0).toString();
}

/** The events of a list whose text has all words of a filter, in any case, by their places in the list. */
export class FilteredList {
  readonly list: EventList;
  readonly places: number[] = [];
  #words: readonly string[] = [];
  #looked = 0;

  constructor(list: EventList) {
    this.list = list;
  }

  filter(text: string): void {
    this.#words = text.toLowerCase().split(/\s+/).filter(Boolean);
    this.places.length = 0;
    this.#looked = 0;
    this.update();
  }

  /** Looks at what was read since. */
  update(): void {
    for (; this.#looked < this.list.length; this.#looked++) {
      if (this.#matches(this.#looked)) this.places.push(this.#looked);
    }
  }

  #matches(place: number): boolean {
    if (this.#words.length === 0) return true;
    const text = textOf(this.list.at(place)).toLowerCase();
    return this.#words.every((word) => text.includes(word));
  }
}
