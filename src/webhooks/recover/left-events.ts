import { pageOf } from '../../items/item-texts.ts';
import type { ItemWriter } from '../../items/items.ts';
import type { FormatOptions } from '../../output/item-writer.ts';
import type { FoundEvent } from './found-events.ts';

const PAGE = 200;

/** Prints events that are added one by one, in pages, in the order they come. */
export class LeftEvents {
  readonly #writer: ItemWriter;
  /** Nothing left is good news, which a table would have no words for. */
  readonly #saysNothing: boolean;
  #waiting: FoundEvent[] = [];
  #written: Promise<void> = Promise.resolve();
  count = 0;

  constructor(writer: ItemWriter, { format }: Pick<FormatOptions, 'format'>) {
    this.#writer = writer;
    this.#saysNothing = format === 'table';
  }

  add(event: FoundEvent): void {
    this.count++;
    this.#waiting.push(event);
    if (this.#waiting.length >= PAGE) this.#print();
  }

  /** Resolves when standard output has taken everything added so far. */
  async printed(): Promise<void> {
    await this.#written;
  }

  async end(): Promise<void> {
    this.#print();
    await this.#written;
    if (this.count > 0 || !this.#saysNothing) await this.#writer.end();
  }

  #print(): void {
    const page = this.#waiting;
    this.#waiting = [];
    if (page.length === 0) return;
    this.#written = this.#written.then(() => this.#writer.write(pageOf(page.map(({ body }) => body))));
    // Seen by whoever waits for it.
    this.#written.catch(() => undefined);
  }
}
