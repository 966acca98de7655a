import { FIRST_CODE, NO_VALUE, UNCODED } from '../outcomes/field-column.ts';
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
  const conditions = [...equalities(feature, all), ...limits(feature)];
  return conditions.filter(({ events, failed }) => events >= LEAST_EVENTS && failed >= LEAST_FAILED);
}

function equalities(feature: Feature, all: Count): FieldCondition[] {
  const { field, events, failed, handicap, handicapOfPresence } = feature;
  const found: FieldCondition[] = [];
  const states = field.numbers ? 0 : countIf(events, (count) => count > 0);
  const end = field.numbers ? FIRST_CODE : events.length;
  for (let code = NO_VALUE; code < end; code++) {
    const count = { events: events[code] as number, failed: failed[code] as number };
    const isPresence = code === NO_VALUE;
    if (count.events === 0 || code === UNCODED || (isPresence && field.derivation)) continue;
    found.push({ op: '=', code, ...count, cost: isPresence ? handicapOfPresence : handicap });
    const others = { events: all.events - count.events, failed: all.failed - count.failed };
    const cost = isPresence ? handicapOfPresence : COST_OF_FORM + handicap;
    if (states > 2 || isPresence) found.push({ op: '!=', code, ...others, cost });
  }
  return found;
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
      found.push({ op: '<=', code: last, ...below, cost });
      found.push({ op: '>=', code, ...above, cost });
    }
    above.events -= highest.events[code] as number;
    above.failed -= highest.failed[code] as number;
    below.events += lowest.events[code] as number;
    below.failed += lowest.failed[code] as number;
    last = code;
  }
  return found;
}
