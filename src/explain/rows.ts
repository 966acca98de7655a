import type { Count } from '../statistics/chance.ts';

export interface RowFilter {
  readonly feature: unknown;
  filter(rows: Int32Array): Int32Array;
}

/** Applies spans last, since they are slowest and then get fewer rows. */
export function filterByAll(tests: readonly RowFilter[], rows: Int32Array): Int32Array {
  const spanLast = [...tests.filter(({ feature }) => feature), ...tests.filter(({ feature }) => !feature)];
  return spanLast.reduce((left, test) => test.filter(left), rows);
}

export function allRows(count: number): Int32Array {
  return Int32Array.from({ length: count }, (_, row) => row);
}

/** Several times as fast as `Int32Array.filter`. */
export function filterRows(rows: Int32Array, holds: (row: number) => boolean): Int32Array {
  const kept = new Int32Array(rows.length);
  let count = 0;
  for (let index = 0; index < rows.length; index++) {
    const row = rows[index] as number;
    if (holds(row)) kept[count++] = row;
  }
  return kept.slice(0, count);
}

export function markedRows(rows: Int32Array, marks: Uint8Array): Int32Array {
  const kept = new Int32Array(rows.length);
  let count = 0;
  for (let index = 0; index < rows.length; index++) {
    const row = rows[index] as number;
    kept[count] = row;
    count += marks[row] as number;
  }
  return kept.slice(0, count);
}

/** A 1 for each of the rows asked for last. */
export class RowMarks {
  readonly #marks: Uint8Array;
  #marked: Int32Array = new Int32Array(0);

  constructor(count: number) {
    this.#marks = new Uint8Array(count);
  }

  /** The marks change with the next call. */
  of(rows: Int32Array): Uint8Array {
    const marks = this.#marks;
    if (this.#marked === rows) return marks;
    for (let index = 0; index < this.#marked.length; index++) marks[this.#marked[index] as number] = 0;
    for (let index = 0; index < rows.length; index++) marks[rows[index] as number] = 1;
    this.#marked = rows;
    return marks;
  }
}

/** `some` is in the same order as `rows`. */
export function rowsWithout(rows: Int32Array, some: Int32Array): Int32Array {
  let next = 0;
  return filterRows(rows, (row) => {
    if (row !== some[next]) return true;
    next++;
    return false;
  });
}

export function countRows(rows: Int32Array, failures: Uint8Array): Count {
  let failed = 0;
  for (let index = 0; index < rows.length; index++) failed += failures[rows[index] as number] as number;
  return { events: rows.length, failed };
}
