/**
 * The tokens of a text, read from left to right: numbers (runs of digits), words (runs of letters) and signs
 * (any other character; white space of any length is one space). Each reading takes the next tokens and
 * returns what they say; or it takes none, and returns undefined. A token is split nowhere and none is
 * searched for, so that the time of a reading grows with the tokens that it takes.
 */
export class TimeTokens {
  readonly #tokens: readonly string[];
  #at = 0;

  constructor(text: string) {
    // The T of ISO 8601 is a word of its own also in yesterdayT08:00.
    const tokens = text.trim().match(/\d+|[A-Za-z]+?(?=T\d)|[A-Za-z]+|\s+|./gs) ?? [];
    this.#tokens = tokens.map((token) => (/^\s/.test(token) ? ' ' : token));
  }

  /** Reads the text from its first token to its last; undefined if tokens are left. */
  wholly<T>(read: (tokens: TimeTokens) => T | undefined): T | undefined {
    this.#at = 0;
    const result = read(this);
    return this.next === undefined ? result : undefined;
  }

  /** Takes several readings for one: where they return undefined, none of them has taken anything. */
  attempt<T>(read: () => T | undefined): T | undefined {
    const start = this.#at;
    const result = read();
    if (result === undefined) this.#at = start;
    return result;
  }

  /** The token to be read next; undefined at the end. */
  get next(): string | undefined {
    return this.#tokens[this.#at];
  }

  /** Takes any token. */
  any(): string | undefined {
    const token = this.next;
    if (token !== undefined) this.#at++;
    return token;
  }

  /** Takes one of these characters. */
  sign(...signs: readonly string[]): string | undefined {
    return signs.includes(this.next ?? '') ? this.any() : undefined;
  }

  /** Takes a number of as many digits. */
  number(fewestDigits: number, mostDigits = fewestDigits): string | undefined {
    const token = this.next ?? '';
    const isNumber = /^\d/.test(token) && token.length >= fewestDigits && token.length <= mostDigits;
    return isNumber ? this.any() : undefined;
  }

  /** Takes a number of as many digits together with the sign before it, which is one of these characters. */
  numberAfter(signs: string, fewestDigits: number, mostDigits = fewestDigits): string | undefined {
    return this.attempt(() => this.sign(...signs) && this.number(fewestDigits, mostDigits));
  }

  /** Takes a word, in any case of letters, that means something; returns what it means. */
  word<T>(meanings: ReadonlyMap<string, T>): T | undefined {
    const meaning = meanings.get(this.next?.toLowerCase() ?? '');
    if (meaning !== undefined) this.#at++;
    return meaning;
  }
}

/** The words of a grammar, each with what it means: names, separated by spaces, that mean the same. */
export function wordsFor<T>(...groups: readonly (readonly [names: string, meaning: T])[]): Map<string, T> {
  const words = new Map<string, T>();
  for (const [names, meaning] of groups) for (const name of names.split(' ')) words.set(name, meaning);
  return words;
}
