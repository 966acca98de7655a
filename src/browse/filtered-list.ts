import { type EventList, textOf } from './event-list.ts';

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
