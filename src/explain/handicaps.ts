import { isGuid } from '../items/items.ts';
import { FIRST_CODE } from '../outcomes/code-column.ts';
import type { Field } from '../outcomes/field-column.ts';
import { bareText } from '../outcomes/value-texts.ts';
import { parseInstant } from '../time/instant.ts';
import { wordsOfName } from './outcome-words.ts';

/** Filters of the service itself (service description, part 4) are the better names for the same events. */
const FILTER_FIELDS = ['subscriptionId', 'eventType'];

/**
 * Of several conditions that hold for the same events, the one with the least handicap names the cause.
 * Handicaps are smaller than any difference between events, so they decide only between equal conditions.
 */
const OF_FEW_VALUES = 0.1;
/** That a field is there, or missing, whatever its values are. */
export const OF_PRESENCE = 0.3;
const OF_NUMBERS = 0.4;
const OF_TEXTS = 0.5;
const OF_DERIVED = 0.55;
const OF_TIMES = 0.6;
const OF_IDS = 0.7;
/** Up to this number of values, a field has few. */
const FEW = 20;
/** Of two fields of one kind, the one with fewer steps in its path has less handicap. */
const OF_STEP = 0.01;
/** Of two paths of the same length, the one that comes first has less. */
const OF_PLACE = 1e-6;

export function isFilterField({ steps, derivation }: Field): boolean {
  return steps.length === 1 && !derivation && FILTER_FIELDS.includes(steps[0] as string);
}

/** The handicap of conditions on a field's values; `place` is that among other fields. */
export function handicapOf(field: Field, place: number): number {
  return isFilterField(field) ? 0 : kindHandicap(field) + pathHandicap(field, place);
}

/** The handicap of the path alone. */
export function pathHandicap(field: Field, place: number): number {
  return OF_STEP * field.steps.length + OF_PLACE * place;
}

/** True for a field whose first value is a time. */
export function isOfTimes({ texts, derivation }: Field): boolean {
  return !derivation && parseInstant(bareText(texts[FIRST_CODE] ?? '')) !== undefined;
}

function kindHandicap(field: Field): number {
  const { steps, derivation, texts, numbers } = field;
  if (derivation) return OF_DERIVED;
  const first = bareText(texts[FIRST_CODE] ?? '');
  const name = steps.findLast((step) => typeof step === 'string') ?? '';
  if (isGuid(first) || /\bids?$/.test(wordsOfName(name))) return OF_IDS;
  if (isOfTimes(field)) return OF_TIMES;
  if (numbers) return OF_NUMBERS;
  if (texts.length - FIRST_CODE <= FEW) return OF_FEW_VALUES;
  return /^"?-?\d/.test(texts[FIRST_CODE] as string) ? OF_NUMBERS : OF_TEXTS;
}
