import { earlierOf, type Instant, laterOf, parseInstant } from '../time/instant.ts';

/** The usual form of a time, which sorts as text without its `Z`. Days after the 28th need parsing. */
const PLAIN_TIME =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?Z$/;

/** Earliest and latest of many times. Times of the usual form are compared as text, which is faster. */
export class TimeBounds {
  unknown = 0;
  #first: Instant | undefined;
  #last: Instant | undefined;
  /** Without `Z`. */
  #firstPlain: string | undefined;
  #lastPlain: string | undefined;

  see(text: string): void {
    if (!PLAIN_TIME.test(text)) {
      this.#seeOther(text);
      return;
    }
    const plain = text.slice(0, -1);
    if (this.#firstPlain === undefined || plain < this.#firstPlain) this.#firstPlain = plain;
    if (this.#lastPlain === undefined || plain > this.#lastPlain) this.#lastPlain = plain;
  }

  result(): { readonly first: Instant | undefined; readonly last: Instant | undefined } {
    for (const plain of [this.#firstPlain, this.#lastPlain])
      if (plain !== undefined) this.#seeOther(`${plain}Z`);
    return { first: this.#first, last: this.#last };
  }

  #seeOther(text: string): void {
    const instant = parseInstant(text);
    if (!instant) {
      this.unknown++;
      return;
    }
    this.#first = earlierOf(this.#first, instant);
    this.#last = laterOf(this.#last, instant);
  }
}
