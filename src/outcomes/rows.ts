/** The code of a value for each row, or for each cell of a field of lists. */
export type Codes = Uint8Array | Uint16Array;

/** A copy with room for more rows. */
export function enlarged<Rows extends Uint8Array | Uint16Array | Int32Array | Float64Array>(
  from: Rows,
  capacity: number,
): Rows {
  const to = new (from.constructor as new (length: number) => Rows)(capacity);
  to.set(from);
  return to;
}

export function allRows(count: number): Int32Array {
  const rows = new Int32Array(count);
  for (let row = 0; row < count; row++) rows[row] = row;
  return rows;
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

/** The rows whose code is accepted, which is 1 by such a code and 0 by others. */
export function selectRows(rows: Int32Array, codes: Codes | Uint32Array, accepted: Uint8Array): Int32Array {
  const kept = new Int32Array(rows.length);
  let count = 0;
  for (let index = 0; index < rows.length; index++) {
    const row = rows[index] as number;
    kept[count] = row;
    count += accepted[codes[row] as number] as number;
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
