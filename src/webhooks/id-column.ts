import { UsageError } from '../errors.ts';
import { isGuid, pastedGuid } from '../items/items.ts';
import { didYouMean } from '../settings/nearest-word.ts';

/** A column of a table, or a path of JSON, that may hold event ids. */
export interface ColumnFacts {
  readonly name: string;
  /** The rows looked at in which it holds a GUID and nothing else. */
  readonly guids: number;
}

/** The column that ids are taken from, and the names of the others that hold GUIDs. */
export interface IdColumn {
  readonly index: number;
  readonly name: string;
  readonly others: readonly string[];
  /** True if nobody named it and its name does not tell. */
  readonly isGuessed: boolean;
}

/** A name that only event ids have, and one that they probably have. */
const SURE = 2;
const LIKELY = 1;

/** Rates the name of a column: `eventId` and `event_id` are sure, `event key` is likely. */
function likelihoodOf(name: string): number {
  const last = name.split(/[./]/).at(-1) ?? '';
  const letters = last.toLowerCase().replace(/[^a-z]/g, '');
  if (letters === 'eventid') return SURE;
  return letters.startsWith('event') && /(?:id|guid|uuid|key)$/.test(letters) ? LIKELY : 0;
}

/**
 * Chooses the column of event ids: `field` if it is given, by its name in any case or its number, or else the
 * one that is named like it, or else the one with the most GUIDs. Undefined if no column holds a GUID. Throws
 * `UsageError` if `field` is no column.
 */
export function chooseColumn(
  columns: readonly ColumnFacts[],
  field: string | undefined,
): IdColumn | undefined {
  const holders = columns
    .map(({ name, guids }, index) => ({ name, guids, index }))
    .filter(({ guids }) => guids > 0)
    .sort((one, other) => likelihoodOf(other.name) - likelihoodOf(one.name) || other.guids - one.guids);
  const index = field === undefined ? holders[0]?.index : indexOfColumn(columns, field);
  const chosen = index === undefined ? undefined : columns[index];
  if (index === undefined || chosen === undefined) return undefined;
  const others = holders.filter((other) => other.index !== index).map(({ name }) => name);
  const isGuessed = field === undefined && others.length > 0 && likelihoodOf(chosen.name) < SURE;
  return { index, name: chosen.name, others, isGuessed };
}

function indexOfColumn(columns: readonly ColumnFacts[], field: string): number {
  const names = columns.map(({ name }) => name);
  const named = names.findIndex((name) => name.toLowerCase() === field.toLowerCase());
  const index = named < 0 && /^\d+$/.test(field) ? Number(field) - 1 : named;
  if (index >= 0 && index < columns.length) return index;
  throw new UsageError(`--received-field: there is no column '${field}'`, {
    details: [`columns: ${names.join(', ')}`],
    ...didYouMean(field, names, 'name one of the columns'),
  });
}

/** True for a text that is one GUID, in any form that people write it in. */
export function holdsGuid(text: string): boolean {
  return isGuid(text) || pastedGuid(text) !== undefined;
}
