import { type FilterField, filterKeys } from '../items/filter-keys.ts';

/** Without `--failed`, which is short for a status. */
export const FILTER_FLAGS: readonly string[] = [
  'after',
  'since',
  'before',
  'until',
  'day',
  'month',
  ...filterKeys.map(({ flag }) => flag),
  'where',
  'grep',
  'marketplace',
];

export function fieldFlag(field: FilterField): string {
  return `--${field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

export function escapeCommas(value: string): string {
  return value.replaceAll(',', '\\,');
}
