import { Items } from '../../src/items/items.ts';
import { EventSample } from '../../src/sample/event-sample.ts';
import { NO_VALUE, OTHER_VALUE, type SampleField } from '../../src/sample/sample-field.ts';
import { type SampleTable, tableOfSample } from '../../src/sample/sample-table.ts';
import { type TimeZone, UTC } from '../../src/time/time-zone.ts';

/** An event's members beside its outcome: an object, or JSON text if their spelling matters. */
export type Members = object | string;

/** A value that is there, but not compared. */
export const OTHER = '(other)';

export const itemsOf = (texts: readonly string[]): Items => Items.of(texts.map((text) => Buffer.from(text)));

/** The JSON text of an event. */
export const eventText = (members: Members, hasFailed: boolean): string => {
  const inner = typeof members === 'string' ? members : JSON.stringify(members).slice(1, -1);
  const outcome = `"publishStatus":"${hasFailed ? 'FAILED' : 'SUCCESS'}"`;
  return `{${inner === '' ? outcome : `${outcome},${inner}`}}`;
};

/** Items as the columns that causes are looked for in. */
export const tableOfItems = (items: Items, zone: TimeZone = UTC, haveFailed?: boolean): SampleTable => {
  const sample = new EventSample();
  sample.add(items, haveFailed);
  return tableOfSample(sample, zone);
};

export const tableOfTexts = (texts: readonly string[], zone?: TimeZone, haveFailed?: boolean): SampleTable =>
  tableOfItems(itemsOf(texts), zone, haveFailed);

export const tableOf = (
  events: readonly Members[],
  hasFailed: (row: number) => boolean = () => true,
): SampleTable => tableOfTexts(events.map((members, row) => eventText(members, hasFailed(row))));

/** The table of one field's values, as JSON texts. */
export const fieldOf = (values: readonly string[]): SampleField =>
  fieldAt(tableOf(values.map((value) => (value === '' ? '' : `"a":${value}`))), 'a');

/** Without the size of the items, which every member changes. */
export const pathsOf = ({ fields }: Pick<SampleTable, 'fields'>): string[] =>
  fields.map(({ path }) => path).filter((path) => path !== 'item:size');

export const fieldAt = (table: SampleTable, path: string): SampleField => {
  const found = table.fields.filter((field) => field.path === path);
  if (found.length !== 1) throw new Error(`${found.length} fields are ${path}, of ${pathsOf(table)}`);
  return found[0] as SampleField;
};

export const textOf = ({ texts }: SampleField, code: number | undefined): string | undefined => {
  if (code === NO_VALUE) return undefined;
  return code === OTHER_VALUE ? OTHER : texts[code as number];
};

/** Values by row, as JSON texts. */
export const valuesOf = (field: SampleField, rows: number): (string | undefined)[] =>
  [...field.codesByRow(rows)].map((code) => textOf(field, code));

export const column = (table: SampleTable, path: string): (string | undefined)[] =>
  valuesOf(fieldAt(table, path), table.rows);

/** All values of each row, in a list. */
export const cellsOf = (table: SampleTable, path: string): (string | undefined)[][] => {
  const field = fieldAt(table, path);
  const byRow = Array.from({ length: table.rows }, (): (string | undefined)[] => []);
  for (let cell = 0; cell < field.cells; cell++)
    byRow[field.rows[cell] as number]?.push(textOf(field, field.codes[cell]));
  return byRow;
};

/** As many numbers, from 0. */
export const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index);
