import type { ComparisonTable } from '../outcomes/comparison-table.ts';
import { sortRows } from '../outcomes/time-column.ts';
import { Candidates, countIf } from './candidates.ts';
import { type Count, Likelihood, leastForChance, lnChance } from './chance.ts';
import { Feature } from './feature.ts';
import { fieldConditions, visitConditions } from './field-conditions.ts';
import { FieldTest, filterByAll, type RowTest } from './row-tests.ts';
import { Sample } from './sample.ts';
import { MOST_CHANCE_OF_NEEDED, simplestCause } from './simplest-cause.ts';
import { heaviestSpans } from './spans.ts';
import { TimeOrder } from './time-order.ts';

/** Conditions of a conjunction. */
const MOST_CONDITIONS = 3;
/** Of more fields than this, only those that tell most by themselves are combined with others. */
const MOST_COMBINED = 400;
/** Conjunctions that are tried with another condition. */
const BEAM = 14;
/** Conditions of a field that are tried with others. */
const MOST_OF_FIELD = 2;
/** What a span costs, beside the number of candidates: a value says more. */
const COST_OF_SPAN = 2;
/** Values that fail at this part of the rate, or less, are delivered. */
const DELIVERED_RATE = 0.4;

interface Candidate extends Count {
  readonly tests: readonly RowTest[];
  /** The logarithm of how likely it makes the failures, less what its form costs. */
  readonly score: number;
}

/** Looks for causes among the events of a sample that no cause has been found for yet. */
export class CauseSearch {
  readonly features: readonly Feature[];
  readonly candidates: Candidates;
  readonly #sample: Sample;
  readonly #likelihood: Likelihood;

  constructor(table: ComparisonTable) {
    const sample = new Sample(table);
    this.#sample = sample;
    const time = new TimeOrder(table, sample.rows);
    this.features = table.fields.map((field, index) => new Feature(table, field, sample.rows, index, time));
    this.candidates = new Candidates(sample, this.features);
    this.#likelihood = new Likelihood(sample.rows.length);
  }

  /** Leaves these events out of what is explained from now on. */
  setAside(tests: readonly RowTest[]): void {
    this.#sample.setAside(filterByAll(tests, this.#sample.rows));
  }

  /** The best explanation of the failures that are left. */
  best(features: readonly Feature[]): readonly RowTest[] | undefined {
    const sample = this.#sample;
    const whole = sample.countOf(sample.rows);
    if (whole.failed < 2) return undefined;
    const setting = { sample, candidates: this.candidates, likelihood: this.#likelihood, whole };
    const found = this.#conjunctions(whole, features);
    for (const { tests } of found.filter((one) => sample.makesDifference(one, whole)).sort(byScore)) {
      const simplest = simplestCause(tests, setting);
      const cause = simplest && this.#withOwnSpan(simplest, whole);
      if (cause && !this.#takesInDelivered(cause)) return cause;
    }
    return undefined;
  }

  /** The simplest condition on each of the fields that is true of exactly these events of the sample. */
  equivalents(tests: readonly RowTest[], features: readonly Feature[]): FieldTest[] {
    const { rows } = this.#sample;
    const inside = filterByAll(tests, rows);
    return features.flatMap((feature) => {
      const all = feature.count(rows, this.#sample);
      const alike = fieldConditions(feature, all)
        .filter(({ events }) => events === inside.length)
        .sort((a, b) => a.cost - b.cost)
        .map(({ op, code }) => new FieldTest(feature, op, code));
      return alike.find((test) => test.filter(inside).length === inside.length) ?? [];
    });
  }

  /** The condition on the field that tells the failures best from the other events. */
  mostTelling(feature: Feature): FieldTest | undefined {
    const { rows } = this.#sample;
    const [best] = this.#bestOn(feature, rows, [], this.#sample.countOf(rows));
    return best?.tests[0] as FieldTest | undefined;
  }

  /** Conditions, and several of them together, that may explain the failures. */
  #conjunctions(whole: Count, features: readonly Feature[]): Candidate[] {
    const alone = this.#extensions([], whole, features);
    const combined = features.length > MOST_COMBINED ? mostTellingOf(alone, features) : features;
    let level = alone.slice(0, BEAM);
    const found = [...level];
    for (let size = 2; size <= MOST_CONDITIONS; size++) {
      const next = new Map<string, Candidate>();
      for (const { tests } of level) {
        for (const longer of this.#extensions(tests, whole, combined)) {
          const key = `${longer.events} ${longer.failed}`;
          if (longer.score > (next.get(key)?.score ?? Number.NEGATIVE_INFINITY)) next.set(key, longer);
        }
      }
      level = [...next.values()].sort(byScore).slice(0, BEAM);
      found.push(...level);
    }
    return found;
  }

  /** The candidates with one more condition, the best two of each field, best first. */
  #extensions(tests: readonly RowTest[], whole: Count, features: readonly Feature[]): Candidate[] {
    const inside = filterByAll(tests, this.#sample.rows);
    const found = features.flatMap((feature) => this.#bestOn(feature, inside, tests, whole));
    if (tests.every(({ feature }) => feature)) {
      const span = this.#bestSpan(inside, tests, whole);
      if (span) found.push(span);
    }
    return found.sort(byScore);
  }

  /** The best conditions on the field beside those that hold for the rows inside, best first. */
  #bestOn(feature: Feature, inside: Int32Array, tests: readonly RowTest[], whole: Count): Candidate[] {
    const sample = this.#sample;
    const lnCandidates = this.candidates.lnOf([...tests, { feature }]);
    const all = feature.count(inside, sample);
    const best: Candidate[] = [];
    let delivered: readonly number[] | undefined;
    visitConditions(feature, all, (op, code, events, failed, cost) => {
      const gain = this.#likelihood.gain(events, failed, whole);
      const score = gain - lnCandidates - cost;
      if (score <= (best[MOST_OF_FIELD - 1]?.score ?? Number.NEGATIVE_INFINITY)) return;
      const test = new FieldTest(feature, op, code);
      // A form that takes in values which are delivered would name one that works, in place of several
      // causes.
      if (op !== '=') {
        delivered ??= this.#deliveredCodes(feature, all);
        if (delivered.some((other) => test.accepts(other))) return;
      }
      if (best.length === MOST_OF_FIELD) best.pop();
      best.push({ tests: [...tests, test], events, failed, score });
      best.sort(byScore);
    });
    return best;
  }

  /**
   * The tests with the best span among all events, and not only those of the sample, for which the others
   * hold: its first and last event are exact. `left` are the rows that no cause explains yet.
   */
  withExactSpan(tests: readonly RowTest[], left: Int32Array): readonly RowTest[] {
    const { table, isWhole } = this.#sample;
    const others = tests.filter(({ feature }) => feature);
    if (isWhole || others.length === tests.length) return tests;
    const rows = sortRows([...this.#sample.timed(filterByAll(others, left))], table.times);
    const whole = this.#sample.countOf(left);
    return this.#spanAmong(Int32Array.from(rows), others, whole)?.tests ?? tests;
  }

  #bestSpan(inside: Int32Array, tests: readonly RowTest[], whole: Count): Candidate | undefined {
    return this.#spanAmong(this.#sample.timed(inside), tests, whole);
  }

  /** The best span of rows in order of creation, whose time is known. */
  #spanAmong(timed: Int32Array, tests: readonly RowTest[], whole: Count): Candidate | undefined {
    let best: Candidate | undefined;
    for (const { test, events, failed } of heaviestSpans(
      this.#sample.table,
      timed,
      whole.failed / whole.events,
    )) {
      const more = [...tests, test];
      const gain = this.#likelihood.gain(events, failed, whole);
      const score = gain - this.candidates.lnOf(more) - COST_OF_SPAN;
      if (!best || score > best.score) best = { tests: more, events, failed, score };
    }
    return best;
  }

  /**
   * A span that was found among more events need not begin and end with those for which the other conditions
   * hold.
   */
  #withOwnSpan(tests: readonly RowTest[], whole: Count): readonly RowTest[] {
    const others = tests.filter(({ feature }) => feature);
    if (others.length === tests.length) return tests;
    return this.#bestSpan(filterByAll(others, this.#sample.rows), others, whole)?.tests ?? tests;
  }

  /**
   * True if a condition takes in values that are delivered where the others hold, such as a span that was
   * added later.
   */
  #takesInDelivered(tests: readonly RowTest[]): boolean {
    const { rows } = this.#sample;
    return tests.some((test) => {
      if (!(test instanceof FieldTest) || test.op === '=') return false;
      const others = tests.filter((other) => other !== test);
      const all = test.feature.count(filterByAll(others, rows), this.#sample);
      return this.#deliveredCodes(test.feature, all).some((code) => test.accepts(code));
    });
  }

  /**
   * The codes whose events, as last counted, are delivered so much more often than all that it is no chance.
   */
  #deliveredCodes({ events, failed }: Feature, all: Count): number[] {
    const mostRate = DELIVERED_RATE * this.#sample.rateOf(all);
    const delivered = { events: all.events, failed: all.events - all.failed };
    const lnMost = Math.log(MOST_CHANCE_OF_NEEDED / countIf(events, (count) => count > 0));
    const least = leastForChance(delivered, lnMost);
    const codes: number[] = [];
    for (let code = 0; code < events.length; code++) {
      const inside = events[code] as number;
      if (inside < least) continue;
      const count = { events: inside, failed: failed[code] as number };
      if (this.#sample.rateOf(count) > mostRate) continue;
      const lnP = lnChance({ events: inside, failed: inside - count.failed }, delivered);
      if (lnP < lnMost) codes.push(code);
    }
    return codes;
  }
}

/** The fields whose conditions tell most by themselves, and the service's own filters. */
function mostTellingOf(candidates: readonly Candidate[], features: readonly Feature[]): Feature[] {
  const telling = new Set(candidates.slice(0, MOST_COMBINED).map(({ tests }) => tests[0]?.feature));
  return features.filter((feature) => feature.isFilter || telling.has(feature));
}

function byScore(a: Candidate, b: Candidate): number {
  return b.score - a.score;
}
