import { exactValue } from '../items/exact-numbers.ts';
import { fieldPath, memberPath } from '../items/field-path.ts';
import { type Condition, conditionOn } from '../items/item-conditions.ts';
import { NO_VALUE } from '../outcomes/code-column.ts';
import type { TimeColumn } from '../outcomes/time-column.ts';
import { type FieldTest, limitOf, type RowTest, type SpanTest } from './row-tests.ts';

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

/** The conditions of some tests: the service's own filters first, then the other fields, then the time. */
export function conditionsOf(times: TimeColumn, tests: readonly RowTest[]): CauseCondition[] {
  const rank = ({ feature }: RowTest) => feature?.handicap ?? Number.POSITIVE_INFINITY;
  return tests
    .toSorted((a, b) => rank(a) - rank(b))
    .flatMap((test) => (test.feature ? [fieldCondition(test)] : spanConditions(times, test)));
}

function spanConditions(times: TimeColumn, { from, to }: SpanTest): CauseCondition[] {
  const bound = (op: '>=' | '<=', row: number | undefined): CauseCondition[] => {
    if (row === undefined) return [];
    const instant = times.at(row);
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
  const isEquality = op === '=' || op === '!=';
  const { op: shown, json } = isEquality ? { op, json: feature.textOf(code) } : limitOf(test);
  const condition = conditionOn(path, shown, json);
  return { field: path.text, op: shown, value: exactValue(json), condition, text: condition.text };
}

/** A cause's conditions but for its span of time, which is not there at another time. */
export function fieldConditionsOf({
  conditions,
}: {
  readonly conditions: readonly CauseCondition[];
}): CauseCondition[] {
  return conditions.filter(({ field }) => field !== 'createdOn');
}
