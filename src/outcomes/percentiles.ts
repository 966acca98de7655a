import { type FieldPath, MISSING } from '../items/item-fields.ts';
import type { Items } from '../items/items.ts';
import { valueText } from '../items/json-scanner.ts';
import { createCursor } from '../items/known-cursor.ts';

/** Of some numbers: half are at most `p50`, and so on; `most` is the largest. */
export interface Percentiles {
  readonly count: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly most: number;
}

/** The numbers of a field; a text that is a number counts as one. */
export class NumberColumn {
  readonly field: FieldPath;
  readonly #cursor;
  readonly #numbers: number[] = [];

  constructor(field: FieldPath) {
    this.field = field;
    this.#cursor = createCursor([field]);
  }

  get count(): number {
    return this.#numbers.length;
  }

  add(items: Items): void {
    for (let item = 0; item < items.count; item++) {
      this.#cursor.read(items.bytes, items.start(item));
      const start = this.#cursor.starts[0] as number;
      if (start === MISSING) continue;
      const number = numberOf(valueText(items.bytes, start, this.#cursor.ends[0] as number));
      if (number !== undefined) this.#numbers.push(number);
    }
  }

  get percentiles(): Percentiles | undefined {
    return percentilesOf(this.#numbers);
  }
}

/** A number that a text is the whole of; undefined for any other text. */
export function numberOf(text: string): number | undefined {
  if (!/^-?\d+(\.\d+)?([eE][+-]?\d+)?$/.test(text)) return undefined;
  const number = Number(text);
  return Number.isFinite(number) ? number : undefined;
}

/** By the nearest rank, so that each is one of the numbers. Undefined for none. */
export function percentilesOf(numbers: readonly number[]): Percentiles | undefined {
  if (numbers.length === 0) return undefined;
  const sorted = Float64Array.from(numbers).sort();
  const at = (part: number) => sorted[Math.max(0, Math.ceil(part * sorted.length) - 1)] as number;
  return { count: sorted.length, p50: at(0.5), p95: at(0.95), p99: at(0.99), most: at(1) };
}
