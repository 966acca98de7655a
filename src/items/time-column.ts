import { trimZeros } from '../time/date-time.ts';
import { type Instant, knownInstant, parseInstant } from '../time/instant.ts';
import { copyEnlarged } from './array-capacity.ts';
import { QUOTE, stringText } from './json-scanner.ts';

const INITIAL_ROWS = 1024;

/** Creation times by row, exact to the nanosecond. */
export class TimeColumn {
  #rows = 0;
  unknown = 0;
  /** Since the epoch; `NaN` if unknown. */
  #seconds = new Float64Array(INITIAL_ROWS);
  #nanoseconds = new Uint32Array(INITIAL_ROWS);
  /** Digits of the fraction as written, up to nine. */
  #digits = new Uint8Array(INITIAL_ROWS);

  push(text: string): number {
    const instant = parseInstant(text);
    if (!instant) return this.#pushUnknown();
    const point = instant.text.indexOf('.');
    const digits = point === -1 ? 0 : Math.min(9, instant.text.length - point - 2);
    return this.#push(instant.seconds, Number(instant.fraction.slice(0, 9).padEnd(9, '0')), digits);
  }

  /** Without a value, `start` is `MISSING` or `end`. */
  pushValue(bytes: Buffer, start: number, end: number): number {
    return bytes[start] === QUOTE ? this.push(stringText(bytes, start, end)) : this.#pushUnknown();
  }

  #pushUnknown(): number {
    this.unknown++;
    return this.#push(Number.NaN, 0, 0);
  }

  #push(seconds: number, nanoseconds: number, digits: number): number {
    const row = this.#rows++;
    if (row === this.#seconds.length) {
      this.#seconds = copyEnlarged(this.#seconds, 2 * row);
      this.#nanoseconds = copyEnlarged(this.#nanoseconds, 2 * row);
      this.#digits = copyEnlarged(this.#digits, 2 * row);
    }
    this.#seconds[row] = seconds;
    this.#nanoseconds[row] = nanoseconds;
    this.#digits[row] = digits;
    return row;
  }

  isKnown(row: number): boolean {
    return !Number.isNaN(this.#seconds[row]);
  }

  /** Truncated to the second; `NaN` if unknown. */
  millisecondsAt(row: number): number {
    return 1000 * (this.#seconds[row] as number);
  }

  /** Negative if `a` was created earlier; 0 if either time is unknown. */
  compare(a: number, b: number): number {
    const difference = (this.#seconds[a] as number) - (this.#seconds[b] as number);
    if (difference !== 0) return difference || 0;
    return (this.#nanoseconds[a] as number) - (this.#nanoseconds[b] as number);
  }

  /** The row's time must be known. */
  at<Row extends number | undefined>(row: Row): Row extends number ? Instant : Instant | undefined;
  at(row: number | undefined): Instant | undefined {
    if (row === undefined) return undefined;
    const { text, seconds } = knownInstant((this.#seconds[row] as number) * 1000);
    const fraction = String(this.#nanoseconds[row]).padStart(9, '0').slice(0, this.#digits[row]);
    return {
      text: fraction === '' ? text : text.replace('Z', `.${fraction}Z`),
      seconds,
      fraction: trimZeros(fraction),
    };
  }

  /** The oldest row, or the oldest one later than `after`; undefined if no time is known. */
  oldest(rows: Int32Array, after?: number): number | undefined {
    return this.#extreme(rows, -1, after);
  }

  newest(rows: Int32Array, before?: number): number | undefined {
    return this.#extreme(rows, 1, before);
  }

  get bounds(): { readonly first: Instant | undefined; readonly last: Instant | undefined } {
    const rows = Int32Array.from({ length: this.#rows }, (_, row) => row);
    return { first: this.at(this.oldest(rows)), last: this.at(this.newest(rows)) };
  }

  #extreme(rows: Int32Array, direction: 1 | -1, limit?: number): number | undefined {
    let found: number | undefined;
    for (const row of rows) {
      if (!this.isKnown(row) || (limit !== undefined && this.compare(row, limit) * direction >= 0)) continue;
      if (found === undefined || this.compare(row, found) * direction > 0) found = row;
    }
    return found;
  }
}

/** In order of creation, unknown times last. Rows that were created at the same time keep their order. */
export function sortRows(rows: number[], times: TimeColumn): number[] {
  return rows.sort((a, b) => Number(times.isKnown(b)) - Number(times.isKnown(a)) || times.compare(a, b));
}
