import type { FieldPath } from './item-fields.ts';
import { createCursor, MISSING } from './item-fields.ts';
import type { Items } from './items.ts';

/** Makes a cell of the JSON value between two offsets. */
export type CellOf = (bytes: Buffer, start: number, end: number) => string;

/**
 * Reads rows of cells from pages; a missing value becomes `missing`. `onStranger` is called once, with the name of a
 * member that no column shows.
 */
export function createRowReader(
  columns: readonly FieldPath[],
  cellOf: CellOf,
  missing: string,
  onStranger?: (name: string) => void,
): (page: Items) => string[][] {
  let watching = onStranger !== undefined;
  const report = (name: string) => {
    if (watching) onStranger?.(name);
    watching = false;
  };
  const cursor = createCursor(
    columns,
    onStranger && ((bytes, start, end) => watching && report(bytes.toString('utf8', start, end))),
  );
  // If there are columns of members too, the item itself is shown only if it is not an object.
  const itself = columns.findIndex(({ steps }) => steps.length === 0);
  const mixed = itself >= 0 && columns.length > 1;
  return (items) => {
    const { bytes, count } = items;
    const rows: string[][] = [];
    for (let item = 0; item < count; item++) {
      const at = items.start(item);
      cursor.read(bytes, at);
      const isObject = bytes[at] === 0x7b;
      if (mixed && isObject) cursor.starts[itself] = MISSING;
      if (itself < 0 && !isObject) report('an item that is no object');
      rows.push(
        columns.map((_, column) => {
          const start = cursor.starts[column] as number;
          return start === MISSING ? missing : cellOf(bytes, start, cursor.ends[column] as number);
        }),
      );
    }
    return rows;
  };
}
