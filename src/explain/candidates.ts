import { FIRST_CODE, NO_VALUE } from '../outcomes/code-column.ts';
import { lnChoose } from './chance.ts';
import type { Feature } from './feature.ts';
import type { RowTest } from './row-tests.ts';
import type { Sample } from './sample.ts';

/** Values in fewer events are no candidates: they would tell little even if all of these failed. */
export const LEAST_EVENTS = 3;
/**
 * Sizes of conjunctions, with and without a span of time, and a filter of the service alone: each gets an
 * equal part of the significance. There are few values of a filter, so few events are enough to name one.
 */
const SHAPES = 6;
/**
 * Neighbouring limits of a number part nearly the same events: they are as many candidates as so many limits.
 */
const MOST_LIMITS = 64;
/** So it is with moments at which a span may begin or end. */
const MOST_MOMENTS = 300;

/** How many candidates are compared, for Bonferroni's correction. */
export class Candidates {
  /** Those of one condition. */
  readonly ofFields: number;
  readonly #ofFilters: number;
  readonly ofSpans: number;

  /** Counts the features' values among the rows of the sample. */
  constructor(sample: Sample, features: readonly Feature[]) {
    this.ofFields = countConditions(sample, features);
    const filters = features.filter(({ isFilter }) => isFilter);
    this.#ofFilters = countConditions(sample, filters);
    const moments = Math.min(countMoments(sample), MOST_MOMENTS);
    this.ofSpans = Math.max(1, (moments * (moments + 1)) / 2);
  }

  /** The logarithm of the number of candidates of this form, over all forms. */
  lnOf(tests: readonly Pick<RowTest, 'feature'>[]): number {
    if (tests.length === 1 && tests[0]?.feature?.isFilter) return Math.log(SHAPES * this.#ofFilters);
    const fields = tests.filter(({ feature }) => feature).length;
    const spans = fields < tests.length ? Math.log(this.ofSpans) : 0;
    return Math.log(SHAPES) + lnChoose(Math.max(this.ofFields, fields), fields) + spans;
  }
}

/** The moments at which events of the sample were created. */
function countMoments(sample: Sample): number {
  const { times } = sample.table;
  let moments = 0;
  let last: number | undefined;
  for (const row of sample.timed(sample.rows)) {
    if (last === undefined || times.compare(last, row) !== 0) moments++;
    last = row;
  }
  return moments;
}

function countConditions(sample: Sample, features: readonly Feature[]): number {
  let candidates = 0;
  for (const feature of features) {
    feature.count(sample.rows, sample);
    candidates += conditionsOn(feature);
  }
  return Math.max(1, candidates);
}

/** The conditions on a feature, by its last count. */
function conditionsOn({ events, order, field }: Feature): number {
  const states = countIf(events, (count) => count > 0);
  const isPresence = events[NO_VALUE] !== 0 && states > 1 && !field.derivation;
  const presence = isPresence ? 2 : 0;
  const values = countIf(events.subarray(FIRST_CODE), (count) => count >= LEAST_EVENTS);
  const formsOfValue = states > 2 ? 2 : 1;
  const isOneOf = !field.numbers && states > 1 ? formsOfValue * values : 0;
  const numbers = countIf(order, (code) => (events[code] as number) > 0);
  const limits = 2 * Math.max(0, Math.min(numbers - 1, MOST_LIMITS));
  return presence + isOneOf + limits;
}

export function countIf(numbers: ArrayLike<number>, holds: (number: number) => boolean): number {
  let count = 0;
  for (let index = 0; index < numbers.length; index++) if (holds(numbers[index] as number)) count++;
  return count;
}
