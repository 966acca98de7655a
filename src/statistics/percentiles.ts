import { compareNumbers, exactValue, isNumber, normalNumber } from '../items/exact-numbers.ts';

/**
 * Of some numbers, as texts with all their digits: half are at most `p50`, and so on; `most` is the largest.
 * Each is one of the numbers.
 */
export interface Percentiles {
  /** How many numbers there are. */
  readonly count: number;
  readonly p50: string;
  readonly p95: string;
  readonly p99: string;
  readonly most: string;
}

/** The percentiles for JSON. A number that JavaScript cannot hold is a text. */
export function percentilesJson({ p50, p95, p99, most }: Percentiles) {
  return { p50: exactValue(p50), p95: exactValue(p95), p99: exactValue(p99), most: exactValue(most) };
}

/**
 * Numbers whose percentiles are exact. Each takes 8 bytes, and one with more digits than a double holds, such
 * as `123456789012345678`, its text besides.
 */
export class NumberSample {
  readonly #doubles: number[] = [];
  /** The texts of numbers that no double is equal to, by the double next to them, each with its count. */
  readonly #texts = new Map<number, Map<string, number>>();
  /** Those of the numbers so far, since to sort millions takes a second. */
  #percentiles: Percentiles | undefined;

  get count(): number {
    return this.#doubles.length;
  }

  /** Adds a number as JSON writes it. Returns false for any other text. */
  add(text: string): boolean {
    if (!isNumber(text)) return false;
    const double = Number(text);
    this.#percentiles = undefined;
    this.#doubles.push(double);
    if (!isEqual(double, text)) this.#addText(double, text);
    return true;
  }

  /** By the nearest rank; undefined without numbers. */
  percentiles(): Percentiles | undefined {
    if (this.count > 0) this.#percentiles ??= this.#find();
    return this.#percentiles;
  }

  #find(): Percentiles {
    const { count } = this;
    const sorted = Float64Array.from(this.#doubles).sort();
    const at = (percent: number) => this.#textAt(sorted, Math.ceil((percent * count) / 100) - 1);
    return { count, p50: at(50), p95: at(95), p99: at(99), most: at(100) };
  }

  #addText(double: number, text: string): void {
    const counts = this.#texts.get(double) ?? new Map<string, number>();
    const normal = normalNumber(text);
    counts.set(normal, (counts.get(normal) ?? 0) + 1);
    this.#texts.set(double, counts);
  }

  /** The number at an index, of those that share a double by all their digits. */
  #textAt(sorted: Float64Array, index: number): string {
    const double = sorted[index] as number;
    const texts = this.#texts.get(double);
    if (!texts) return String(double);
    const first = firstIndexOf(sorted, double);
    const ofDouble = firstIndexOf(sorted, double, true) - first;
    const ofTexts = [...texts.values()].reduce((sum, count) => sum + count, 0);
    const counts = new Map(texts);
    if (ofDouble > ofTexts) counts.set(String(double), ofDouble - ofTexts);
    const ordered = [...counts].sort(([a], [b]) => compareNumbers(a, b));
    let behind = first;
    const found = ordered.find(([, count]) => {
      behind += count;
      return index < behind;
    });
    return (found as [string, number])[0];
  }
}

function isEqual(double: number, text: string): boolean {
  const shortest = String(double);
  if (shortest === text) return true;
  return Number.isFinite(double) && compareNumbers(shortest, text) === 0;
}

/** The index of the first number that is at least `value`, or, with `isBehind`, greater. */
function firstIndexOf(sorted: Float64Array, value: number, isBehind = false): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    const number = sorted[middle] as number;
    if (number < value || (isBehind && number === value)) low = middle + 1;
    else high = middle;
  }
  return low;
}
