/**
 * The tokens of a text, read from left to right: numbers (runs of digits), words (runs of letters) and signs
 * (any other character; white space of any length is one space). Each reading takes the next tokens and
 * returns their meaning; or it takes none, and returns undefined. Tokens are never split or searched for, so
 * the time of a reading is linear in the tokens that it takes.
 */
export class TimeTokens {
  readonly #tokens: readonly string[];
  #at = 0;

  constructor(text: string) {
    // The T of ISO 8601 is a separate word even in yesterdayT08:00.
    const tokens = text.trim().match(/\d+|[A-Za-z]+?(?=T\d)|[A-Za-z]+|\s+|./gs) ?? [];
    this.#tokens = tokens.map((token) => (/\s/.test(token) ? ' ' : token));
  }

  /** Requires reading all tokens; undefined if any are left. */
  wholly<T>(read: (tokens: TimeTokens) => T | undefined): T | undefined {
    this.#at = 0;
    const result = read(this);
    return this.next === undefined ? result : undefined;
  }

  /** Combines several readings: if they return undefined, all tokens are put back. */
  attempt<T>(read: () => T | undefined): T | undefined {
    const start = this.#at;
    const result = read();
    if (result === undefined) this.#at = start;
    return result;
  }

  get next(): string | undefined {
    return this.#tokens[this.#at];
  }

  any(): string | undefined {
    return this.#tokens[this.#at++];
  }

  sign(...signs: readonly string[]): string | undefined {
    return signs.includes(this.next ?? '') ? this.any() : undefined;
  }

  /** Takes a number with this many digits. */
  number(fewestDigits: number, mostDigits = fewestDigits): string | undefined {
    const token = this.next ?? '';
    const isNumber = /\d/.test(token) && token.length >= fewestDigits && token.length <= mostDigits;
    return isNumber ? this.any() : undefined;
  }

  /** Takes one of these signs and a number with this many digits. */
  numberAfter(signs: string, fewestDigits: number, mostDigits = fewestDigits): string | undefined {
    return this.attempt(() => this.sign(...signs) && this.number(fewestDigits, mostDigits));
  }

  /** Takes a known word, ignoring case, and returns its meaning. */
  word<T>(meanings: ReadonlyMap<string, T>): T | undefined {
    const meaning = meanings.get(this.next?.toLowerCase() ?? '');
    if (meaning !== undefined) this.#at++;
    return meaning;
  }
}

/** Builds the words of a grammar from groups of synonyms, separated by spaces, with their meanings. */
export function wordsFor<T>(...groups: readonly (readonly [names: string, meaning: T])[]): Map<string, T> {
  const words = new Map<string, T>();
  for (const [names, meaning] of groups) for (const name of names.split(' ')) words.set(name, meaning);
  return words;
}
