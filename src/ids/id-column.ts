import { UsageError } from '../errors.ts';
import { pastedGuid } from '../items/guids.ts';
import { didYouMean } from '../settings/nearest-word.ts';

export interface ColumnFacts {
  readonly name: string;
  /** Number of distinct GUIDs in the rows examined, in cells without other text. */
  readonly guids: number;
}

/** The column of the ids, and the names of the others with GUIDs. */
export interface IdColumn {
  readonly index: number;
  readonly name: string;
  readonly others: readonly string[];
  /** True if it was neither given nor obvious from its name. */
  readonly isGuessed: boolean;
}

/** Ranks of names: used only for event ids, probably for them, or for any ids. */
const SURE = 3;
const LIKELY = 2;
const POSSIBLE = 1;

/**
 * Rates the name of a column, or a path: `eventId`, `event_id` and `event.id` are sure, `event key` and
 * `webhook_event_id` are likely, `id` is possible, as is `example`, which `stats --by` gives each group.
 */
function likelihoodOf(name: string): number {
  const steps = name
    .toLowerCase()
    .split(/[./]/)
    .map((step) => step.replace(/[^a-z]/g, ''));
  const last = steps.at(-1) ?? '';
  if (last === 'eventid' || steps.slice(-2).join() === 'event,id') return SURE;
  if (/^(?:event|evt)(?:|id|guid|uuid|key)$|eventid$/.test(last)) return LIKELY;
  return /^(?:id|guid|uuid|example)$/.test(last) ? POSSIBLE : 0;
}

/**
 * Chooses the column of event ids: `field` if given, by its name in any case or its number, else by a likely
 * name, else by the number of distinct GUIDs. Undefined if no column holds a GUID. Throws `UsageError` if
 * there is no column `field`.
 */
export function chooseColumn(
  columns: readonly ColumnFacts[],
  field: string | undefined,
): IdColumn | undefined {
  const numbered = columns.map((column, index) => ({ ...column, index }));
  const holders = numbered
    .filter(({ guids }) => guids > 0)
    .sort((one, other) => likelihoodOf(other.name) - likelihoodOf(one.name) || other.guids - one.guids);
  const chosen = field === undefined ? holders[0] : numbered[indexOfColumn(columns, field)];
  if (chosen === undefined) return undefined;
  const { index, name } = chosen;
  const others = holders.filter((other) => other !== chosen).map((other) => other.name);
  const isGuessed = field === undefined && others.length > 0 && likelihoodOf(name) < SURE;
  return { index, name, others, isGuessed };
}

/** Returns the column named most like one of ids; undefined if there is none. */
export function columnNamedForIds(columns: readonly Pick<ColumnFacts, 'name'>[]): number | undefined {
  const [best] = columns
    .map(({ name }, index) => ({ index, likelihood: likelihoodOf(name), steps: name.split('.').length }))
    .filter(({ likelihood }) => likelihood > 0)
    .sort((one, other) => other.likelihood - one.likelihood || one.steps - other.steps);
  return best?.index;
}

export function isNameOfIds(name: string): boolean {
  return likelihoodOf(name) === SURE;
}

function indexOfColumn(columns: readonly ColumnFacts[], field: string): number {
  const names = columns.map(({ name }) => name);
  const named = names.findIndex((name) => isColumnName(name, field));
  const index = named < 0 && /^\d+$/.test(field) ? Number(field) - 1 : named;
  if (index >= 0 && index < columns.length) return index;
  throw new UsageError(`--received-field: there is no column '${field}'`, {
    details: [`columns: ${names.join(', ')}`],
    ...didYouMean(field, names, 'name one of the columns'),
  });
}

export function isColumnName(column: string, field: string): boolean {
  return column.toLowerCase() === field.toLowerCase();
}

/** True for a text that is a single GUID, in any common form. */
export function holdsGuid(text: string): boolean {
  return pastedGuid(text) !== undefined;
}

export function countGuids(texts: readonly (string | undefined)[]): number {
  return new Set(texts.filter((text) => text !== undefined && holdsGuid(text))).size;
}
