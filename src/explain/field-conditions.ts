import { FIRST_CODE, NO_VALUE } from '../outcomes/field-column.ts';
import { countIf, LEAST_EVENTS } from './candidates.ts';
import type { Count } from './chance.ts';
import type { Feature } from './feature.ts';
import type { FieldOp } from './row-tests.ts';

/** What its form costs a condition, beside the number of candidates: `= value` says more. */
const COST_OF_FORM = 2;
/** A condition that fewer failures fulfil tells nothing. */
const LEAST_FAILED = 2;

/** A condition on a field, with the events for which it holds. */
export interface FieldCondition extends Count {
  readonly op: FieldOp;
  readonly code: number;
  /** What its form costs, and the handicap of its field. */
  readonly cost: number;
}

/** Every condition on the field that parts the events that it counted last; `all` are these events. */
export function fieldConditions(feature: Feature, all: Count): FieldCondition[] {
  return [...equalities(feature, all), ...limits(feature)];
}

/** True for counts of a condition that may tell something. Most values are of too few events. */
function mayTell(events: number, failed: number): boolean {
  return events >= LEAST_EVENTS && failed >= LEAST_FAILED;
}

function equalities(feature: Feature, all: Count): FieldCondition[] {
  const { field, events } = feature;
  const found: FieldCondition[] = [];
  const states = field.numbers ? 0 : countIf(events, (count) => count > 0);
  const end = field.numbers ? FIRST_CODE : events.length;
  const hasOpposites = states > 2 && !feature.isOfTimes;
  if (!field.derivation && events[NO_VALUE] !== 0) addEqualities(found, feature, NO_VALUE, all, true);
  for (let code = FIRST_CODE; code < end; code++)
    if (events[code] !== 0) addEqualities(found, feature, code, all, hasOpposites);
  return found;
}

/**
 * Adds that the field has the value of a code, or is missing, and the opposite where that is another
 * condition.
 */
function addEqualities(
  found: FieldCondition[],
  feature: Feature,
  code: number,
  all: Count,
  hasOpposite: boolean,
): void {
  const isPresence = code === NO_VALUE;
  const events = feature.events[code] as number;
  const failed = feature.failed[code] as number;
  const cost = isPresence ? feature.handicapOfPresence : feature.handicap;
  if (mayTell(events, failed)) found.push({ op: '=', code, events, failed, cost });
  const others = all.events - events;
  const failedOthers = all.failed - failed;
  const costOfOpposite = isPresence ? cost : COST_OF_FORM + cost;
  if (hasOpposite && mayTell(others, failedOthers))
    found.push({ op: '!=', code, events: others, failed: failedOthers, cost: costOfOpposite });
}

/** Limits between the numbers: of a list, what any of its elements is. */
function limits({ order, places, events, highest, lowest, handicap }: Feature): FieldCondition[] {
  const found: FieldCondition[] = [];
  const cost = COST_OF_FORM + handicap;
  const above = { events: 0, failed: 0 };
  for (const code of order) {
    above.events += highest.events[code] as number;
    above.failed += highest.failed[code] as number;
  }
  const below = { events: 0, failed: 0 };
  let last: number | undefined;
  for (const code of order) {
    if (events[code] === 0) continue;
    if (last !== undefined && places[last] !== places[code]) {
      if (mayTell(below.events, below.failed)) found.push({ op: '<=', code: last, ...below, cost });
      if (mayTell(above.events, above.failed)) found.push({ op: '>=', code, ...above, cost });
    }
    above.events -= highest.events[code] as number;
    above.failed -= highest.failed[code] as number;
    below.events += lowest.events[code] as number;
    below.failed += lowest.failed[code] as number;
    last = code;
  }
  return found;
}
