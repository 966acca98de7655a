import { FIRST_CODE, NO_VALUE } from '../outcomes/code-column.ts';
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

/**
 * Is called with what a `FieldCondition` has: a field of many numbers has thousands of conditions, for each
 * of which an object would take longer than to judge it.
 */
export type VisitCondition = (
  op: FieldOp,
  code: number,
  events: number,
  failed: number,
  cost: number,
) => void;

/** Every condition on the field that parts the events that it counted last; `all` are these events. */
export function fieldConditions(feature: Feature, all: Count): FieldCondition[] {
  const found: FieldCondition[] = [];
  visitConditions(feature, all, (op, code, events, failed, cost) => {
    found.push({ op, code, events, failed, cost });
  });
  return found;
}

/** Visits what `fieldConditions` returns. */
export function visitConditions(feature: Feature, all: Count, visit: VisitCondition): void {
  visitEqualities(feature, all, visit);
  visitLimits(feature, visit);
}

/** True for counts of a condition that may tell something. Most values are of too few events. */
function mayTell(events: number, failed: number): boolean {
  return events >= LEAST_EVENTS && failed >= LEAST_FAILED;
}

function visitEqualities(feature: Feature, all: Count, visit: VisitCondition): void {
  const { field, events } = feature;
  const states = field.numbers ? 0 : countIf(events, (count) => count > 0);
  const end = field.numbers ? FIRST_CODE : events.length;
  const hasOpposites = states > 2 && !feature.isOfTimes;
  if (!field.derivation && events[NO_VALUE] !== 0) visitEquality(feature, NO_VALUE, all, true, visit);
  for (let code = FIRST_CODE; code < end; code++)
    if (events[code] !== 0) visitEquality(feature, code, all, hasOpposites, visit);
}

/**
 * Visits that the field has the value of a code, or is missing, and the opposite where that is another
 * condition.
 */
function visitEquality(
  feature: Feature,
  code: number,
  all: Count,
  hasOpposite: boolean,
  visit: VisitCondition,
): void {
  const isPresence = code === NO_VALUE;
  const events = feature.events[code] as number;
  const failed = feature.failed[code] as number;
  const cost = isPresence ? feature.handicapOfPresence : feature.handicap;
  if (mayTell(events, failed)) visit('=', code, events, failed, cost);
  const others = all.events - events;
  const failedOthers = all.failed - failed;
  const costOfOpposite = isPresence ? cost : COST_OF_FORM + cost;
  if (hasOpposite && mayTell(others, failedOthers)) visit('!=', code, others, failedOthers, costOfOpposite);
}

/** Visits limits between the numbers: of a list, what any of its elements is. */
function visitLimits(feature: Feature, visit: VisitCondition): void {
  const { order, places, events, highest, lowest, handicap } = feature;
  const cost = COST_OF_FORM + handicap;
  let above = 0;
  let failedAbove = 0;
  for (let place = 0; place < order.length; place++) {
    const code = order[place] as number;
    above += highest.events[code] as number;
    failedAbove += highest.failed[code] as number;
  }
  let below = 0;
  let failedBelow = 0;
  let last: number | undefined;
  for (let place = 0; place < order.length; place++) {
    const code = order[place] as number;
    if (events[code] === 0) continue;
    if (last !== undefined && places[last] !== places[code]) {
      if (mayTell(below, failedBelow)) visit('<=', last, below, failedBelow, cost);
      if (mayTell(above, failedAbove)) visit('>=', code, above, failedAbove, cost);
    }
    above -= highest.events[code] as number;
    failedAbove -= highest.failed[code] as number;
    below += lowest.events[code] as number;
    failedBelow += lowest.failed[code] as number;
    last = code;
  }
}
