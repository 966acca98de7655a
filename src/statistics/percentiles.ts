import { compareNumbers, exactValue, isNumber, normalNumber } from '../items/exact-numbers.ts';

/** Texts with all digits, each one of the numbers; `most` is the largest. */
export interface Percentiles {
  readonly count: number;
  readonly p50: string;
  readonly p95: string;
  readonly p99: string;
  readonly most: string;
}

export function percentilesJson({ p50, p95, p99, most }: Percentiles) {
  return { p50: exactValue(p50), p95: exactValue(p95), p99: exactValue(p99), most: exactValue(most) };
}

/** Keeps 8 bytes per number, and the text if it has more digits than a double holds. */
export class NumberSample {
  readonly #doubles: number[] = [];
  /** Texts of numbers that no double equals, with counts, by the nearest double. */
  readonly #texts = new Map<number, Map<string, number>>();
  /** Cached, since sorting millions takes a second. */
  #percentiles: Percentiles | undefined;

  get count(): number {
    return this.#doubles.length;
  }

  /** Takes a number as JSON writes it; returns false for other text. */
  add(text: string): boolean {
    if (!isNumber(text)) return false;
    const double = Number(text);
    this.#percentiles = undefined;
    this.#doubles.push(double);
    if (!isEqual(double, text)) this.#addText(double, text);
    return true;
  }

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

/** Binary search for the first number >= `value`, or > `value` with `isBehind`. */
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
