import { trimZeros } from '../time/date-time.ts';
import { type Instant, knownInstant, parseInstant } from '../time/instant.ts';
import { stringText } from './json-scanner.ts';

const QUOTE = 0x22;

/** When rows were created, with every digit up to nanoseconds. */
export class TimeColumn {
  #rows = 0;
  /** Rows whose time is not known. */
  unknown = 0;
  /** Whole seconds since the epoch, `NaN` for a time that is not known. */
  #seconds: Float64Array = new Float64Array(1024);
  /** Nanoseconds, and behind the point a sixteenth for each digit of the text's fraction. */
  #fractions: Float64Array = new Float64Array(1024);

  /** Adds a row, and returns it. The text may be anything. */
  push(text: string): number {
    const instant = parseInstant(text);
    if (!instant) return this.#pushUnknown();
    const point = instant.text.indexOf('.');
    const digits = point === -1 ? 0 : Math.min(9, instant.text.length - point - 2);
    return this.#push(instant.seconds, Number(instant.fraction.slice(0, 9).padEnd(9, '0')), digits);
  }

  /** The same for the JSON value between two offsets, or none. */
  pushValue(bytes: Buffer, start: number, end: number): number {
    return bytes[start] === QUOTE && end > start
      ? this.push(stringText(bytes, start, end))
      : this.#pushUnknown();
  }

  #pushUnknown(): number {
    this.unknown++;
    return this.#push(Number.NaN, 0, 0);
  }

  #push(seconds: number, nanoseconds: number, digits: number): number {
    const row = this.#rows++;
    if (row === this.#seconds.length) {
      this.#seconds = enlarged(this.#seconds, 2 * row);
      this.#fractions = enlarged(this.#fractions, 2 * row);
    }
    this.#seconds[row] = seconds;
    this.#fractions[row] = digits / 16 + nanoseconds;
    return row;
  }

  isKnown(row: number): boolean {
    return !Number.isNaN(this.#seconds[row]);
  }

  /** Whole seconds since the epoch in milliseconds; `NaN` for a row whose time is not known. */
  millisecondsAt(row: number): number {
    return 1000 * (this.#seconds[row] as number);
  }

  /** Negative if the first row was created earlier; 0 if one of them does not say when. */
  compare(a: number, b: number): number {
    const difference = (this.#seconds[a] as number) - (this.#seconds[b] as number);
    if (difference !== 0) return difference || 0;
    return Math.trunc(this.#fractions[a] as number) - Math.trunc(this.#fractions[b] as number);
  }

  /** The time of a row that has one; undefined for no row. */
  at<Row extends number | undefined>(row: Row): Row extends number ? Instant : Instant | undefined;
  at(row: number | undefined): Instant | undefined {
    if (row === undefined) return undefined;
    const { text, seconds } = knownInstant((this.#seconds[row] as number) * 1000);
    const nanoseconds = Math.trunc(this.#fractions[row] as number);
    const digits = 16 * ((this.#fractions[row] as number) - nanoseconds);
    const fraction = String(nanoseconds).padStart(9, '0').slice(0, digits);
    return {
      text: digits === 0 ? text : text.replace('Z', `.${fraction}Z`),
      seconds,
      fraction: trimZeros(fraction),
    };
  }

  /**
   * The first of some rows in order of creation, or of those after a row; undefined if none of them says
   * when.
   */
  oldest(rows: Int32Array, after?: number): number | undefined {
    return this.#extreme(rows, -1, after);
  }

  newest(rows: Int32Array, before?: number): number | undefined {
    return this.#extreme(rows, 1, before);
  }

  /** The times of the first and the last row. */
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

function enlarged(from: Float64Array, capacity: number): Float64Array {
  const to = new Float64Array(capacity);
  to.set(from);
  return to;
}

/** Rows in order of creation, those whose time is not known last. */
export function sortRows(rows: number[], times: TimeColumn): number[] {
  const compare = (a: number, b: number) =>
    Number(times.isKnown(b)) - Number(times.isKnown(a)) || times.compare(a, b) || a - b;
  // Services list the newest events first as a rule.
  const isDescending = rows.every((row, at) => at === 0 || compare(row, rows[at - 1] as number) <= 0);
  return isDescending ? rows.reverse() : rows.sort(compare);
}
