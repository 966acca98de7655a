import { exactValue } from '../items/exact-numbers.ts';
import { FIRST_CODE, NO_VALUE } from '../outcomes/code-column.ts';
import type { ComparisonTable } from '../outcomes/comparison-table.ts';
import { type Field, isInside } from '../outcomes/field-column.ts';
import { allRows } from '../outcomes/rows.ts';
import { bareText } from '../outcomes/value-texts.ts';
import { isOfReason } from './outcome-words.ts';
import type { FieldTest } from './row-tests.ts';

/** A value of an effect, with the number of failures that have it. */
export interface EffectValue {
  readonly value: unknown;
  readonly failed: number;
}

/** Named values of an effect. */
const MOST_VALUES = 5;
/** Different texts of objects that are counted. */
const MOST_TEXTS = 100_000;
/** Fewer texts are not taken for one that differs in ids and times. */
const LEAST_ALIKE = 3;

/**
 * The values of the field, or of members: all of an object, of a list those that tell why the first failed.
 * The most frequent first.
 */
export function valuesOf(table: ComparisonTable, { feature, op, code }: FieldTest): readonly EffectValue[] {
  const { field } = feature;
  if (op !== '!=') return [];
  const own = ownValues(table, field, field.texts[code]);
  const counts = own.size > 0 ? own : memberTexts(table, field);
  return joinAlike(counts)
    .sort((a, b) => b.failed - a.failed)
    .slice(0, MOST_VALUES);
}

function ownValues(table: ComparisonTable, field: Field, other: string | undefined): Map<unknown, number> {
  const { texts } = field.prose ?? field;
  const counts = new Map<unknown, number>();
  for (const [code, count] of table.countCodes(field.prose ?? field).failed.entries())
    if (code >= FIRST_CODE && count > 0 && texts[code] !== other)
      counts.set(exactValue(texts[code] as string), count);
  return counts;
}

/** The texts that members have together in the failures; none if there are too many. */
function memberTexts(table: ComparisonTable, field: Field): Map<unknown, number> {
  const members = tellingMembers(table, field).map(textByRow);
  const rows = allRows(table.rows).filter((row) => table.failures[row] === 1);
  const codes = field.isInList ? undefined : field.codesByRow(table.rows);
  const failed = codes ? rows.filter((row) => codes[row] !== NO_VALUE) : rows;
  const counts = new Map<unknown, number>();
  for (const row of failed) {
    const text = members.flatMap((textOf) => textOf(row) ?? []).join(' ');
    if (text !== '') counts.set(text, (counts.get(text) ?? 0) + 1);
    if (counts.size > MOST_TEXTS) return new Map();
  }
  return counts;
}

/** The text of a field by row, of a list that of the first element; undefined where there is none. */
function textByRow(field: Field): (row: number) => string | undefined {
  const { codes, cellRows, cells } = field.prose ?? field;
  const texts = (field.prose ?? field).texts.map(bareText);
  const textOf = (code: number) => (code >= FIRST_CODE ? texts[code] : undefined);
  if (!cellRows) return (row) => textOf(codes[row] as number);
  const firstOf = new Map<number, string | undefined>();
  for (let cell = cells - 1; cell >= 0; cell--)
    firstOf.set(cellRows[cell] as number, textOf(codes[cell] as number));
  return (row) => firstOf.get(row);
}

function tellingMembers({ fields }: ComparisonTable, { element, members }: Field) {
  if (!element) return members;
  return fields.filter((field) => isInside(field, element) && isOfReason(field.steps) && !field.derivation);
}

/**
 * Values with their counts. Texts that differ in words with digits alone are one if most differ: these words
 * are ids or times.
 */
function joinAlike(counts: ReadonlyMap<unknown, number>): EffectValue[] {
  const groups = new Map<unknown, EffectValue[]>();
  for (const [value, failed] of counts) {
    const key =
      typeof value === 'string'
        ? value.replace(/[\w.:-]+/g, (word) => (/\d/.test(word) ? '…' : word))
        : value;
    const group = groups.get(key) ?? [];
    group.push({ value, failed });
    groups.set(key, group);
  }
  return [...groups.values()].flatMap((group) => {
    const failed = group.reduce((sum, one) => sum + one.failed, 0);
    if (group.length < LEAST_ALIKE || 2 * group.length <= failed) return group;
    return [{ value: commonText(group.map(({ value }) => value as string)), failed }];
  });
}

/** What texts of as many words have in common, with `…` for the words in which they differ. */
function commonText(texts: readonly string[]): string {
  const [first = [], ...others] = texts.map((text) => text.split(/([\w.:-]+)/));
  return first.map((word, at) => (others.every((other) => other[at] === word) ? word : '…')).join('');
}
