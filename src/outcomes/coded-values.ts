import { FIRST_CODE } from './code-column.ts';
import { ValueCodes } from './value-codes.ts';
import { filteredText } from './value-texts.ts';

/** A field with more different values keeps its numbers, or only its presence. */
const MOST_VALUES = 0xffff - FIRST_CODE;
/** After this many values, a field that had hardly any value twice is given up early. */
const EARLY = 8192;
/** The same once the fields of a table keep more values than `MANY_IN_ALL`. */
const EARLY_OF_MANY = 512;
/** So many values take about 20 MB. */
const MANY_IN_ALL = 200_000;
/** The share of different values among these from which on hardly any came twice. */
const NEARLY_ALL = 0.9;

/** The number of values that the fields of a table keep: those of thousands of fields need much memory. */
export interface KeptValues {
  count: number;
}

/** The values of a field, each of which has a code: all of them, or once there are too many some. */
export class CodedValues {
  /** The JSON texts of values by their codes. */
  readonly texts: string[] = ['null', 'null'];
  /** True until values are given up: a new one gets a code. */
  keepsAll = true;
  /** By the values as the events write them, each in one or more ways. */
  codes = new ValueCodes();
  /** The codes of derived values, while these have codes. */
  readonly #derivedCodes = new Map<string | number, number>();
  readonly keptInAll: KeptValues;

  constructor(keptInAll: KeptValues) {
    this.keptInAll = keptInAll;
  }

  get count(): number {
    return this.texts.length - FIRST_CODE;
  }

  /** Gives a new value a code. */
  add(value: string, bytes: Buffer, start: number, end: number): number {
    const code = this.#keep(value);
    this.codes.add(bytes, start, end, code);
    return code;
  }

  /** The code of a derived value. There are few of them: their texts are made once. */
  codeOfDerived(value: string | number): number | undefined {
    return this.#derivedCodes.get(value);
  }

  addDerived(value: string | number, code: number): void {
    if (this.keepsAll) this.#derivedCodes.set(value, code);
  }

  /** True if one more value is too many, or if hardly any value came twice among so many. */
  areTooMany(all: number): boolean {
    const { count } = this;
    if (count === MOST_VALUES) return true;
    const early = this.keptInAll.count > MANY_IN_ALL ? EARLY_OF_MANY : EARLY;
    return count >= early && count % EARLY_OF_MANY === 0 && this.hardlyRepeat(all);
  }

  hardlyRepeat(all: number): boolean {
    return this.count > NEARLY_ALL * all;
  }

  /**
   * Gives values up but for those with at least so many events, by their codes. New values get no code from
   * now on. Returns the new codes of the old ones; those of values that are given up are `otherwise`.
   */
  giveUp(events: Uint32Array, least: number, otherwise: number): number[] {
    const texts = this.texts.splice(FIRST_CODE);
    const oldCodes = this.codes;
    this.keptInAll.count -= texts.length;
    this.codes = new ValueCodes();
    this.#derivedCodes.clear();
    this.keepsAll = false;
    const newCodes = Array.from(events, (count, code) => {
      if (code < FIRST_CODE) return code;
      return count >= least ? this.#keep(texts[code - FIRST_CODE] as string) : otherwise;
    });
    for (const [bytes, oldCode] of oldCodes.entries()) {
      const code = newCodes[oldCode] as number;
      if (code >= FIRST_CODE) this.codes.add(bytes, 0, bytes.length, code);
    }
    return newCodes;
  }

  /**
   * The codes that join values which a filter takes for one, by the codes so far: a text that is a number in
   * quotes gets the number's. Undefined if there are none to join.
   */
  joinedCodes(ignoresCase: boolean): number[] | undefined {
    const codes = new Map<string, number>();
    for (const [code, json] of this.texts.entries()) {
      const isJoinedTo = code >= FIRST_CODE && (ignoresCase || !json.startsWith('"'));
      if (isJoinedTo) codes.set(filteredText(json, ignoresCase), code);
    }
    if (codes.size === 0 || codes.size === this.count) return undefined;
    return this.texts.map((json, code) =>
      code < FIRST_CODE ? code : (codes.get(filteredText(json, ignoresCase)) ?? code),
    );
  }

  /** Called for a field that makes room for others. */
  release(): void {
    this.keptInAll.count -= this.count;
  }

  #keep(value: string): number {
    this.keptInAll.count++;
    return this.texts.push(value) - 1;
  }
}
