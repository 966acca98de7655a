import { conditionOn } from '../items/condition-text.ts';
import { exactValue } from '../items/exact-numbers.ts';
import { fieldPath, memberPath, pathText } from '../items/field-path.ts';
import { filterKeys, ignoresCase } from '../items/filter-keys.ts';
import { isGuid } from '../items/guids.ts';
import type { Condition } from '../items/item-conditions.ts';
import { NO_VALUE } from '../sample/sample-field.ts';
import { type Instant, parseInstant } from '../time/instant.ts';
import { type FieldTest, type Limit, limitOf } from './conditions.ts';

export interface CauseCondition {
  readonly field: string;
  readonly op: '=' | '!=' | '<' | '<=' | '>' | '>=' | 'exists' | 'missing';
  /** Null with `exists` and `missing`; a string for numbers that JavaScript cannot represent. */
  readonly value: unknown;
  readonly condition: Condition;
  readonly text: string;
}

/** The bounds are inclusive; undefined leaves that side open. */
export function spanConditions(from: Instant | undefined, to: Instant | undefined): CauseCondition[] {
  const bound = (op: '>=' | '<=', instant: Instant | undefined): CauseCondition[] => {
    if (instant === undefined) return [];
    const value = instant.text;
    const text = `createdOn ${op} ${value}`;
    const field = memberPath('createdOn');
    const condition = { text, field, operator: op, value, quoted: false, instant };
    return [{ field: field.text, op, value, condition, text }];
  };
  return [...bound('>=', from), ...bound('<=', to)];
}

export function fieldCondition(test: FieldTest): CauseCondition {
  const { feature, op, code } = test;
  const path = fieldPath(feature.field.steps, feature.field.derivation);
  if (code === NO_VALUE) {
    const presence = op === '=' ? 'missing' : 'exists';
    // If every event has the field, `= null` is clearer than `missing`.
    const shown = op === '=' && feature.isAlwaysThere ? op : presence;
    const condition = conditionOn(path, presence);
    return { field: path.text, op: shown, value: null, condition, text: condition.text };
  }
  if (op === '=' || op === '!=') {
    const json = feature.field.texts[code] as string;
    const value = exactValue(json);
    const exact = conditionOn(path, op, json);
    const condition = isServiceFilter({ field: path.text, op, value })
      ? { ...exact, ignoresCase: ignoresCase(path.text) }
      : exact;
    return { field: path.text, op, value, condition, text: condition.text };
  }
  const limit = limitOf(test);
  const condition = limitCondition(test, limit);
  return { field: path.text, op: limit.op, value: exactValue(limit.json), condition, text: condition.text };
}

/** A text with `*` or a comma would be a pattern or a list on a command line. */
export function isServiceFilter({
  field,
  op,
  value,
}: Pick<CauseCondition, 'field' | 'op' | 'value'>): boolean {
  if (op !== '=' || typeof value !== 'string' || value === '') return false;
  const key = filterKeys.find((one) => one.field === field);
  return key?.kind === 'guid' ? isGuid(value) : key !== undefined && !/[*,\\]/.test(value);
}

/** Numbers and instants compare by value, dates without a zone as text. */
function limitCondition({ feature }: FieldTest, { op, json }: Limit): Condition {
  const condition = conditionOn(fieldPath(feature.field.steps, feature.field.derivation), op, json);
  if (!feature.dates) return condition;
  const { field, value } = condition;
  if (!feature.dates.isOfTexts)
    return {
      ...condition,
      quoted: false,
      instant: parseInstant(value),
      text: `${pathText(field)} ${op} ${value}`,
    };
  return { ...condition, text: `${pathText(field)} ${op} ${json}` };
}

/** Omits the span of time, which cannot hold at another time. */
export function fieldConditionsOf({
  conditions,
}: {
  readonly conditions: readonly CauseCondition[];
}): CauseCondition[] {
  return conditions.filter(({ field }) => field !== 'createdOn');
}
