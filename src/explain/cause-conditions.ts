import { exactValue } from '../items/exact-numbers.ts';
import { fieldPath, memberPath, pathText } from '../items/field-path.ts';
import { type Condition, conditionOn } from '../items/item-conditions.ts';
import { isGuid } from '../items/items.ts';
import { NO_VALUE } from '../sample/sample-field.ts';
import { type Instant, parseInstant } from '../time/instant.ts';
import { type FieldTest, type Limit, limitOf } from './conditions.ts';

/** A condition on a field. */
export interface CauseCondition {
  /** A path as `--fields` takes it. */
  readonly field: string;
  readonly op: '=' | '!=' | '<' | '<=' | '>' | '>=' | 'exists' | 'missing';
  /** Null with `exists` and `missing`. A number that JavaScript cannot hold is a text. */
  readonly value: unknown;
  /** What keeps the events for which it holds. */
  readonly condition: Condition;
  /** The condition as `--where` takes it. */
  readonly text: string;
}

/** The conditions of a span of time; undefined where the events go on like this. */
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

/** The condition that a test of a field tries. */
export function fieldCondition(test: FieldTest): CauseCondition {
  const { feature, op, code } = test;
  const path = fieldPath(feature.field.steps, feature.field.derivation);
  if (code === NO_VALUE) {
    const presence = op === '=' ? 'missing' : 'exists';
    // A field that every event has is null in the events that miss it.
    const shown = op === '=' && feature.isAlwaysThere ? op : presence;
    const condition = conditionOn(path, presence);
    return { field: path.text, op: shown, value: null, condition, text: condition.text };
  }
  if (op === '=' || op === '!=') {
    const json = feature.field.texts[code] as string;
    const value = exactValue(json);
    const exact = conditionOn(path, op, json);
    const condition = isServiceFilter({ field: path.text, op, value })
      ? { ...exact, ignoresCase: true }
      : exact;
    return { field: path.text, op, value, condition, text: condition.text };
  }
  const limit = limitOf(test);
  const condition = limitCondition(test, limit);
  return { field: path.text, op: limit.op, value: exactValue(limit.json), condition, text: condition.text };
}

/**
 * True for a condition that the service has a filter for, which ignores case (service description, part 4). A
 * type with `*` or a comma would be a pattern or a list there.
 */
export function isServiceFilter({
  field,
  op,
  value,
}: Pick<CauseCondition, 'field' | 'op' | 'value'>): boolean {
  if (op !== '=' || typeof value !== 'string' || value === '') return false;
  return field === 'eventType' ? !/[*,\\]/.test(value) : field === 'subscriptionId' && isGuid(value);
}

/** Numbers and points in time are compared as such, dates without a zone as texts. */
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

/** A cause's conditions but for its span of time, which is not there at another time. */
export function fieldConditionsOf({
  conditions,
}: {
  readonly conditions: readonly CauseCondition[];
}): CauseCondition[] {
  return conditions.filter(({ field }) => field !== 'createdOn');
}
