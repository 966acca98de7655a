import { FIRST_CODE, NO_VALUE, UNCODED } from '../outcomes/field-column.ts';
import { countIf, LEAST_EVENTS } from './candidates.ts';
import type { Count } from './chance.ts';
import type { Feature } from './feature.ts';
import type { FieldOp } from './row-tests.ts';

/** What its form costs a condition, beside the number of candidates: `= value` says most. */
const COST_OF_PRESENCE = 0.3;
const COST_OF_FORM = 2;
/** A condition that fewer failures fulfil tells nothing. */
const LEAST_FAILED = 2;

/** A condition on a field, with the events for which it holds. */
export interface FieldCondition extends Count {
  readonly op: FieldOp;
  readonly code: number;
  readonly cost: number;
}

/** Every condition on the field that parts the events that it counted last; `all` are these events. */
export function fieldConditions(feature: Feature, all: Count): FieldCondition[] {
  const conditions = [...equalities(feature, all), ...limits(feature)];
  return conditions.filter(({ events, failed }) => events >= LEAST_EVENTS && failed >= LEAST_FAILED);
}

function equalities({ field, events, failed }: Feature, all: Count): FieldCondition[] {
  const found: FieldCondition[] = [];
  const states = field.numbers ? 0 : countIf(events, (count) => count > 0);
  const end = field.numbers ? FIRST_CODE : events.length;
  for (let code = NO_VALUE; code < end; code++) {
    const count = { events: events[code] as number, failed: failed[code] as number };
    if (count.events === 0 || code === UNCODED) continue;
    const isPresence = code === NO_VALUE;
    found.push({ op: '=', code, ...count, cost: isPresence ? COST_OF_PRESENCE : 0 });
    const others = { events: all.events - count.events, failed: all.failed - count.failed };
    const cost = isPresence ? COST_OF_PRESENCE : COST_OF_FORM;
    if (states > 2 || isPresence) found.push({ op: '!=', code, ...others, cost });
  }
  return found;
}

function limits({ order, places, events, failed }: Feature): FieldCondition[] {
  const found: FieldCondition[] = [];
  const numbers = { events: 0, failed: 0 };
  for (const code of order) {
    numbers.events += events[code] as number;
    numbers.failed += failed[code] as number;
  }
  const rest = { ...numbers };
  let last: number | undefined;
  for (const code of order) {
    if (events[code] === 0) continue;
    if (last !== undefined && places[last] !== places[code]) {
      const below = { events: numbers.events - rest.events, failed: numbers.failed - rest.failed };
      found.push({ op: '<=', code: last, ...below, cost: COST_OF_FORM });
      found.push({ op: '>=', code, ...rest, cost: COST_OF_FORM });
    }
    rest.events -= events[code] as number;
    rest.failed -= failed[code] as number;
    last = code;
  }
  return found;
}
