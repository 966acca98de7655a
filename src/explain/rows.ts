import type { Count } from '../statistics/chance.ts';

/** A condition that keeps some of the rows. */
export interface RowFilter {
  /** Undefined for a span of time. */
  readonly feature: unknown;
  filter(rows: Int32Array): Int32Array;
}

/** Rows for which all conditions hold. A span takes the most time: it gets the rows that fields leave. */
export function filterByAll(tests: readonly RowFilter[], rows: Int32Array): Int32Array {
  const spanLast = [...tests.filter(({ feature }) => feature), ...tests.filter(({ feature }) => !feature)];
  return spanLast.reduce((left, test) => test.filter(left), rows);
}

export function allRows(count: number): Int32Array {
  return Int32Array.from({ length: count }, (_, row) => row);
}

/** The rows for which it holds, several times as fast as their own method. */
export function filterRows(rows: Int32Array, holds: (row: number) => boolean): Int32Array {
  const kept = new Int32Array(rows.length);
  let count = 0;
  for (let index = 0; index < rows.length; index++) {
    const row = rows[index] as number;
    if (holds(row)) kept[count++] = row;
  }
  return kept.slice(0, count);
}

/** The rows that have a 1 in the marks. */
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

/** The rows that are not among some of them, which are in the same order. */
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
