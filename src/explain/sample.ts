import type { ComparisonTable } from '../outcomes/comparison-table.ts';
import { filterRows, rowsWithout } from '../outcomes/rows.ts';
import { sortRows } from '../outcomes/time-column.ts';
import { type Count, countRows, differenceOf, LEAST_DIFFERENCE, rateOf } from './chance.ts';

/** Of more failed events than these, the search looks at so many; what it finds is counted exactly. */
const MOST_FAILED = 12_000;
/** The same of delivered events. */
const MOST_DELIVERED = 12_000;

/** Events to search in: all of a few, or evenly spread parts of the failed and of the delivered ones. */
export class Sample {
  readonly table: ComparisonTable;
  /** True if these are all events. */
  readonly isWhole: boolean;
  /** Rows that are not set aside, in order of creation, those whose time is not known last. */
  rows: Int32Array;
  /** Delivered events for which one of these stands. */
  readonly #weight: number;
  /** 1 for each of some rows: those that were marked last. */
  readonly #marks: Uint8Array;
  #marked: Int32Array = new Int32Array(0);

  constructor(table: ComparisonTable) {
    this.table = table;
    this.#marks = new Uint8Array(table.rows);
    const { failures, times } = table;
    const delivered = table.rows - table.failed;
    this.isWhole = table.rows <= MOST_FAILED + MOST_DELIVERED;
    const share = this.isWhole ? 1 : Math.min(1, MOST_DELIVERED / delivered);
    const shareOfFailed = this.isWhole ? 1 : Math.min(1, MOST_FAILED / table.failed);
    let seen = 0;
    let seenFailed = 0;
    const rows: number[] = [];
    for (let row = 0; row < table.rows; row++) {
      const hasFailed = failures[row] === 1;
      const place = hasFailed ? seenFailed++ : seen++;
      const part = hasFailed ? shareOfFailed : share;
      if (Math.floor(place * part) < Math.floor((place + 1) * part)) rows.push(row);
    }
    this.rows = Int32Array.from(sortRows(rows, times));
    this.#weight = shareOfFailed / share;
  }

  /** Leaves these rows out from now on. */
  setAside(rows: Int32Array): void {
    this.rows = rowsWithout(this.rows, rows);
  }

  /** 1 by each of these rows and 0 by others, until it is called for other rows. */
  marksOf(rows: Int32Array): Uint8Array {
    if (this.#marked === rows) return this.#marks;
    for (const row of this.#marked) this.#marks[row] = 0;
    for (const row of rows) this.#marks[row] = 1;
    this.#marked = rows;
    return this.#marks;
  }

  countOf(rows: Int32Array): Count {
    return countRows(rows, this.table.failures);
  }

  /** Those of some rows whose time is known. */
  timed(rows: Int32Array): Int32Array {
    const { times } = this.table;
    return filterRows(rows, (row) => times.isKnown(row));
  }

  rateOf(count: Count): number {
    return rateOf(count, this.#weight);
  }

  /** True if these events fail so much more often than the others that it matters. */
  makesDifference(count: Count, whole: Count): boolean {
    return differenceOf(count, whole, this.#weight) >= LEAST_DIFFERENCE;
  }
}
