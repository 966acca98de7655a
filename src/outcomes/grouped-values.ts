import { MISSING } from '../items/field-cursor.ts';
import type { FieldReader } from '../items/field-reader.ts';

/**
 * The groups that the event which was read is in by its first `fields` fields: for each group the JSON text
 * of a value of each field, `null` for a field that is missing. An event with several values is in the group
 * of each; of two fields with several, in that of each combination. Undefined for more groups than `most`.
 */
export function groupsOfEvent(reader: FieldReader, fields: number, most: number): string[][] | undefined {
  const values: string[][] = [];
  for (let field = 0; field < fields; field++) values.push(differentValues(reader, field));
  const count = values.reduce((product, { length }) => product * length, 1);
  return count > most ? undefined : combinationsOf(values);
}

function differentValues(reader: FieldReader, field: number): string[] {
  const texts: string[] = [];
  reader.each(field, (bytes, start, end) => {
    texts.push(start === MISSING ? 'null' : bytes.toString('utf8', start, end));
  });
  return texts.length === 1 ? texts : [...new Set(texts)];
}

/** Each choice of one value of every field. */
function combinationsOf(values: readonly string[][]): string[][] {
  const isOnlyOne = values.every(({ length }) => length === 1);
  if (isOnlyOne) return [values.flat()];
  return values.reduce<string[][]>(
    (chosen, more) => chosen.flatMap((some) => more.map((value) => [...some, value])),
    [[]],
  );
}
