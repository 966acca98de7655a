import { parseTime } from '../time/time-text.ts';
import { isNumberOrLiteral } from './exact-numbers.ts';
import { type FieldPath, pathText } from './field-path.ts';
import { type Condition, isDerived, type Operator } from './item-conditions.ts';

/**
 * Returns a text that `parseCondition` reads as the same condition. `value` is the characters of a string or,
 * if not `isText`, the JSON text of a number or literal.
 */
export function conditionText(field: FieldPath, operator: Operator, value = '', isText = true): string {
  const name = pathText(field);
  if (operator === 'exists') return name;
  if (operator === 'missing') return `!${name}`;
  const needsQuotes = isText && !isPlainText(value, field);
  return `${name} ${operator} ${needsQuotes ? JSON.stringify(value) : value}`;
}

function isPlainText(value: string, field: FieldPath): boolean {
  if (!/^[\p{L}\p{N}][\p{L}\p{N}\p{M} ./_:@-]*$/u.test(value) || value.trim() !== value) return false;
  if (/\s(and|or)\s/i.test(value)) return false;
  if (isNumberOrLiteral(value)) return false;
  return isDerived(field) || !parseTime(value);
}

/** `json` is the JSON text of the value; omitted for `exists` and `missing`. */
export function conditionOn(field: FieldPath, operator: Operator, json?: string): Condition {
  const quoted = json?.startsWith('"') ?? false;
  const value = quoted ? (JSON.parse(json as string) as string) : (json ?? '');
  const text = conditionText(field, operator, value, quoted);
  return { text, field, operator, value, quoted, instant: undefined };
}
