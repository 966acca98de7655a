import { hash } from 'node:crypto';
import type { EventFilters, TypedFilters } from '../filters/event-filters.ts';
import { type Condition, fileOfValues } from '../items/item-conditions.ts';

/** Adds checksums, so changed values in a condition's file are a different filter. */
export function identityOfFilters(filters: EventFilters): TypedFilters {
  const where = filters.conditions.map(conditionIdentity).sort();
  return { ...filters.typed(), ...(where.length > 0 ? { where } : {}) };
}

/** Conditions with equal texts and checksums select the same events. */
function conditionIdentity({ text, alternatives = [] }: Condition): string {
  if (fileOfValues(text) === undefined) return text;
  const values = [...new Set(alternatives.map((alternative) => alternative.text))].sort();
  const checksum = hash('sha256', JSON.stringify(values)).slice(0, 16);
  return `${text} (${values.length === 1 ? '1 value' : `${values.length} values`}, checksum ${checksum})`;
}
