import { hash } from 'node:crypto';
import type { EventFilters, TypedFilters } from '../filters/event-filters.ts';
import { type Condition, fileOfValues } from '../items/item-conditions.ts';

/** The filters as they were typed, but other values in the file of a condition are another filter. */
export function identityOfFilters(filters: EventFilters): TypedFilters {
  const where = filters.conditions.map(conditionIdentity).sort();
  return { ...filters.typed(), ...(where.length > 0 ? { where } : {}) };
}

/**
 * The text of a condition, with a checksum of the values that were read from its file: two conditions with
 * the same one choose the same events.
 */
function conditionIdentity({ text, alternatives = [] }: Condition): string {
  if (fileOfValues(text) === undefined) return text;
  const values = [...new Set(alternatives.map((alternative) => alternative.text))].sort();
  const checksum = hash('sha256', JSON.stringify(values)).slice(0, 16);
  return `${text} (${values.length === 1 ? '1 value' : `${values.length} values`}, checksum ${checksum})`;
}
