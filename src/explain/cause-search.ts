import { sortRows } from '../items/time-column.ts';
import { FIRST_CODE, NO_VALUE } from '../sample/sample-field.ts';
import { estimateOf, rateIn, type SampleTable, sizeField } from '../sample/sample-table.ts';
import {
  type Count,
  isNamed,
  isWorthNaming,
  Likelihood,
  lnChance,
  lnChoose,
  MIN_DIFFERENCE,
  SIGNIFICANCE,
  without,
} from '../statistics/chance.ts';
import { COST, countIf, Feature, FieldTest, MIN_EVENTS, visitConditions } from './conditions.ts';
import { allRows, countRows, filterByAll, filterRows, RowMarks, rowsWithout } from './rows.ts';
import { bestSpan, isStartOfCurrentRun, type SpanTest } from './spans.ts';
import { TimeOrder } from './time-order.ts';

/**
 * Searches a sample for causes. Candidates are conditions on fields and spans of time. The best are combined,
 * then dropped if chance or a simpler cause explains them. The events of each cause found are set aside
 * before the next search.
 */

export const MAX_CAUSES = 5;
/** Maximum conditions in a cause: people do not check more. */
const MAX_CONDITIONS = 3;
/** Limits a search to about a second: of more fields, combine only those with the best scores alone. */
const MAX_COMBINED = 400;
/** Conjunctions kept at each size. With 8, causes of three conditions are missed. */
const BEAM = 14;
/** Conditions kept of each field. */
const MAX_OF_FIELD = 2;

/**
 * Forms of causes, which share the significance equally: one to three field conditions; a span alone, or with
 * one or two. A service filter alone gets a share of its own, which favours filters: they have few values, so
 * a few events suffice.
 */
const SHAPES = 6;
/** Neighbouring limits select nearly the same events, so they count as at most this many candidates. */
const MAX_LIMITS = 64;
/** The same for the moments at which a span may begin or end. */
const MAX_MOMENTS = 300;

/** A value works if it fails at no more than this share of the overall rate. */
const RATE_OF_WORKING = 0.4;
/** Maximum probability that chance alone raises the failure rate as much as a condition that is kept. */
const MAX_CHANCE_OF_NEEDED = 0.05;
/** A more general cause wins if the events it adds fail at this share of the narrower cause's rate. */
const REST_FAILS = 0.15;
/** The same for a sharp cause: one with a span of time, or one whose events nearly all fail. */
const REST_FAILS_BESIDE_SHARP = 0.4;
/** A cause is sharp from this failure rate on. */
const NEARLY_ALL_FAIL = 0.9;
/** Keep a condition only if the rate without it is at most this share of the rate with it. */
const MAX_RATE_WITHOUT = 0.95;
/** The same for `!=` in a cause that is not sharp: excluding one value of many reveals little … */
const MAX_RATE_WITHOUT_UNEQUAL = 0.3;
/** … unless it is an exception to another condition: its events hardly fail. Then this share is the limit. */
const MAX_RATE_WITHOUT_EXCEPTION = 0.7;
/** An exception fails at no more than this share of the cause's rate. */
const RATE_OF_EXCEPTION = 0.05;

export type RowTest = FieldTest | SpanTest;

export interface FoundCause {
  readonly tests: readonly RowTest[];
  readonly same: readonly SameTest[];
}

export interface SameTest {
  readonly test: FieldTest;
  readonly as: readonly RowTest[];
}

/** The rows that the causes found so far leave, in order of creation, and their counts. */
interface RowsLeft extends Count {
  readonly rows: Int32Array;
}

/** `tests` are what is left of the candidate without its needless conditions. */
interface SimplifiedCause {
  readonly tests: readonly RowTest[];
  readonly candidate: readonly RowTest[];
}

interface Candidate extends Count {
  readonly tests: readonly RowTest[];
  /** Log likelihood of the failures, less the cost of its form. */
  readonly score: number;
}

export class CauseSearch {
  readonly features: readonly Feature[];
  readonly table: SampleTable;
  readonly #time: TimeOrder;
  readonly #likelihood: Likelihood;
  readonly #conditions: number;
  readonly #conditionsOfFilters: number;
  readonly #spans: number;
  /** Rows of unknown time come last. */
  readonly #all: RowsLeft;
  readonly #marks: RowMarks;

  constructor(table: SampleTable) {
    this.table = table;
    const rows = Int32Array.from(sortRows([...allRows(table.rows)], table.times));
    this.#all = { rows, ...this.#count(rows) };
    this.#marks = new RowMarks(table.rows);
    this.#time = new TimeOrder(table, rows);
    this.features = table.fields.map((field, place) => new Feature(table, field, place, this.#time));
    this.#conditions = this.#countConditions(this.features);
    this.#conditionsOfFilters = this.#countConditions(this.features.filter(({ isFilter }) => isFilter));
    const moments = Math.min(this.#countMoments(), MAX_MOMENTS);
    this.#spans = Math.max(1, (moments * (moments + 1)) / 2);
    this.#likelihood = new Likelihood(table.rows);
  }

  /** Finds each cause in the events that earlier ones leave, and equivalents among `alike`. */
  findCauses(fields: readonly Feature[], alike: readonly Feature[]): FoundCause[] {
    const found: SimplifiedCause[] = [];
    while (found.length < MAX_CAUSES) {
      const left = this.#leftBy(found);
      const cause = this.bestCause(fields, left);
      if (!cause || !this.#isWorthListing(cause.tests, left)) break;
      found.push(cause);
      // A condition dropped because the events it excludes fail too returns if other causes explain these.
      for (const [place, one] of found.entries()) {
        const leftByOthers = this.#leftBy(found.toSpliced(place, 1));
        const tests = this.#simplified(one.candidate, leftByOthers);
        if (tests && this.#isWorthListing(tests, leftByOthers)) found[place] = { ...one, tests };
      }
    }
    return found.map(({ tests }, place) => ({
      tests,
      same: this.#sameTests(tests, alike, this.#leftBy(found.slice(0, place)).rows),
    }));
  }

  #leftBy(causes: readonly SimplifiedCause[]): RowsLeft {
    if (causes.length === 0) return this.#all;
    const rows = causes.reduce(
      (left, { tests }) => rowsWithout(left, filterByAll(tests, left)),
      this.#all.rows,
    );
    return { rows, ...this.#count(rows) };
  }

  /**
   * The size field as if delivered events also had the bytes that failing adds to an item, so an effect's own
   * bytes cannot make size look like a cause. Allows only `>=` limits.
   */
  sizesBeside(addedBytes: number): Feature | undefined {
    const { table } = this;
    const place = table.fields.findIndex(({ derivation }) => derivation === 'size');
    const larger = { ...table, bytesAddedBySuccess: table.bytesAddedBySuccess - addedBytes };
    const field = place === -1 ? undefined : sizeField(larger);
    return field && new Feature(larger, field, place, this.#time, { hasUpperLimits: false });
  }

  bestOn(feature: Feature): FieldTest | undefined {
    const [best] = this.#extensionsOn(feature, this.#all.rows, [], this.#all);
    return best?.tests[0] as FieldTest | undefined;
  }

  countAll(feature: Feature): Count {
    return this.#countBy(feature, this.#all.rows);
  }

  /** Bonferroni's correction: the logarithm of the number of candidates over all forms. */
  lnCandidates(tests: readonly Pick<RowTest, 'feature'>[]): number {
    if (tests.length === 1 && tests[0]?.feature?.isFilter)
      return Math.log(SHAPES * this.#conditionsOfFilters);
    const fields = tests.filter(({ feature }) => feature).length;
    return this.#lnCandidatesOfForm(fields, fields < tests.length);
  }

  #lnCandidatesOfForm(fields: number, hasSpan: boolean): number {
    const spans = hasSpan ? Math.log(this.#spans) : 0;
    return Math.log(SHAPES) + lnChoose(Math.max(this.#conditions, fields), fields) + spans;
  }

  // 1. Candidates

  #countConditions(features: readonly Feature[]): number {
    let conditions = 0;
    for (const feature of features) {
      this.countAll(feature);
      conditions += conditionsOn(feature);
    }
    return Math.max(1, conditions);
  }

  #countMoments(): number {
    const { times } = this.table;
    let moments = 0;
    let last: number | undefined;
    for (const row of this.#timed(this.#all.rows)) {
      if (last === undefined || times.compare(last, row) !== 0) moments++;
      last = row;
    }
    return moments;
  }

  /** Best first, from `minScore` on; `inside` are the rows that fulfil `tests`. */
  #extensionsOn(
    feature: Feature,
    inside: Int32Array,
    tests: readonly RowTest[],
    whole: Count,
    minScore = Number.NEGATIVE_INFINITY,
  ): Candidate[] {
    const lnCandidates = this.lnCandidates([...tests, { feature }]);
    const all = this.#countBy(feature, inside);
    const best: Candidate[] = [];
    let working: readonly number[] | undefined;
    visitConditions(feature, all, (op, code, events, failed, cost) => {
      const score = this.#likelihood.gain(events, failed, whole) - lnCandidates - cost;
      if (score < minScore || score <= (best[MAX_OF_FIELD - 1]?.score ?? Number.NEGATIVE_INFINITY)) return;
      const test = new FieldTest(feature, op, code);
      // `!=` and limits must not take in values that work: if two of five carriers fail, "not the third"
      // still takes in two that work.
      if (op !== '=') {
        working ??= this.#workingCodes(feature, all);
        if (working.some((other) => test.accepts(other))) return;
      }
      if (best.length === MAX_OF_FIELD) best.pop();
      best.push({ tests: [...tests, test], events, failed, score });
      best.sort(byScore);
    });
    return best;
  }

  /** Values delivered more often than chance explains, among the rows counted last. */
  #workingCodes({ events, failed }: Feature, all: Count): number[] {
    const mostRate = RATE_OF_WORKING * rateIn(this.table, all);
    const delivered = { events: all.events, failed: all.events - all.failed };
    const lnMost = Math.log(MAX_CHANCE_OF_NEEDED / countIf(events, (count) => count > 0));
    const codes: number[] = [];
    for (let code = 0; code < events.length; code++) {
      const inside = events[code] as number;
      if (inside === 0) continue;
      const count = { events: inside, failed: failed[code] as number };
      if (rateIn(this.table, count) > mostRate) continue;
      if (lnChance({ events: inside, failed: inside - count.failed }, delivered) < lnMost) codes.push(code);
    }
    return codes;
  }

  #bestSpan(inside: Int32Array, tests: readonly RowTest[], whole: Count): Candidate | undefined {
    const span = bestSpan(this.table, this.#timed(inside), whole, this.#likelihood);
    if (!span) return undefined;
    const more = [...tests, span.test];
    return { ...span, tests: more, score: span.gain - this.lnCandidates(more) - COST.form };
  }

  // 2. Conjunctions

  #conjunctions(left: RowsLeft, features: readonly Feature[]): Candidate[] {
    const alone = this.#extensions([], left.rows, left, features);
    const combined = features.length > MAX_COMBINED ? mostPromising(alone, features) : features;
    let level = bestOfEachCount(alone);
    const found = [...level];
    for (let size = 2; size <= MAX_CONDITIONS; size++) {
      let longer: Candidate[] = [];
      for (const { tests } of level) {
        const inside = filterByAll(tests, left.rows);
        const minScore = longer[BEAM - 1]?.score;
        longer = bestOfEachCount([...longer, ...this.#extensions(tests, inside, left, combined, minScore)]);
      }
      level = longer;
      found.push(...level);
    }
    return found;
  }

  #extensions(
    tests: readonly RowTest[],
    inside: Int32Array,
    whole: Count,
    features: readonly Feature[],
    minScore = Number.NEGATIVE_INFINITY,
  ): Candidate[] {
    const fields = tests.filter(({ feature }) => feature).length;
    const hasSpan = fields < tests.length;
    // No condition can do better than to leave all of the failures and nothing else.
    const { failed } = this.#count(inside);
    const maxGain = this.#likelihood.gain(failed, failed, whole);
    const mayReach = (lnCandidates: number) => maxGain - lnCandidates >= minScore;
    const found: Candidate[] = [];
    if (mayReach(this.#lnCandidatesOfForm(fields + 1, hasSpan)))
      for (const feature of features)
        found.push(...this.#extensionsOn(feature, inside, tests, whole, minScore));
    if (!hasSpan && mayReach(this.#lnCandidatesOfForm(fields, true))) {
      const span = this.#bestSpan(inside, tests, whole);
      if (span) found.push(span);
    }
    return found.sort(byScore);
  }

  // 3. The best that chance does not explain, made as simple as it can be

  /** Returns the best cause even if it explains few failures; undefined if there is none. */
  bestCause(features: readonly Feature[], left = this.#all): SimplifiedCause | undefined {
    const candidates = this.#conjunctions(left, features);
    for (const { tests } of candidates.filter((one) => this.#makesDifference(one, left)).sort(byScore)) {
      const cause = this.#simplified(tests, left);
      if (cause) return { tests: cause, candidate: tests };
    }
    return undefined;
  }

  #simplified(candidate: readonly RowTest[], left: RowsLeft): readonly RowTest[] | undefined {
    const simplest = this.#simplest(candidate, left);
    const tests = simplest && this.#withOwnSpan(simplest, left);
    if (!tests || this.#takesInWorking(tests, left.rows)) return undefined;
    return this.#withoutNeedlessSpan(tests, left);
  }

  #makesDifference(count: Count, whole: Count): boolean {
    const rest = without(whole, count);
    return rateIn(this.table, count) - rateIn(this.table, rest) >= MIN_DIFFERENCE;
  }

  /**
   * Drops needless conditions and replaces a limit by the field's presence where that is as good. A more
   * general cause also wins if the events it adds fail too: otherwise one cause would be split in two.
   * Undefined if only a needless condition separated failures from the rest.
   */
  #simplest(tests: readonly RowTest[], left: RowsLeft): readonly RowTest[] | undefined {
    const own = this.#count(filterByAll(tests, left.rows));
    const isSharp = rateIn(this.table, own) >= NEARLY_ALL_FAIL || tests.some(({ feature }) => !feature);
    const mayHaveExceptions = !tests.every(isUnequal);
    const asGood = simplerOnes(tests).flatMap((simpler) => {
      const general = this.#count(filterByAll(simpler.tests, left.rows));
      const isDifferent = this.#makesDifference(general, left);
      const counts = { own, general, whole: left, isDifferent, isSharp, mayHaveExceptions };
      if (this.#isNeeded(simpler.dropped, counts)) return [];
      const gain = this.#likelihood.gain(general.events, general.failed, left);
      return [{ tests: simpler.tests, isDifferent, gain }];
    });
    const [best] = asGood.sort((a, b) => Number(b.isDifferent) - Number(a.isDifferent) || b.gain - a.gain);
    if (!best) return tests;
    return best.isDifferent ? this.#simplest(best.tests, left) : undefined;
  }

  /** A condition is needed if it raises the rate by more than chance, and what it excludes fails less. */
  #isNeeded(
    condition: RowTest,
    counts: {
      readonly own: Count;
      readonly general: Count;
      readonly whole: Count;
      readonly isDifferent: boolean;
      readonly isSharp: boolean;
      readonly mayHaveExceptions: boolean;
    },
  ): boolean {
    const { table } = this;
    const { own, general, whole, isDifferent, isSharp, mayHaveExceptions } = counts;
    const isOfField = condition.feature !== undefined;
    const lnMost = Math.log(MAX_CHANCE_OF_NEEDED / (isOfField ? this.#conditions : this.#spans));
    if (lnChance(own, general) >= lnMost) return false;
    const rest = without(general, own);
    const isException = mayHaveExceptions && rateIn(table, rest) <= RATE_OF_EXCEPTION * rateIn(table, own);
    const mostUnequal = isException ? MAX_RATE_WITHOUT_EXCEPTION : MAX_RATE_WITHOUT_UNEQUAL;
    const most = isUnequal(condition) && !isSharp ? mostUnequal : MAX_RATE_WITHOUT;
    // For fields only: events outside a span may fail just as often.
    if (isOfField && rateIn(table, general) > most * rateIn(table, own)) return false;
    if (!isDifferent) return true;
    const leastOfRest = isSharp && isOfField ? REST_FAILS_BESIDE_SHARP : REST_FAILS;
    const restFails =
      rateIn(table, rest) >= leastOfRest * rateIn(table, own) &&
      lnChance(rest, without(whole, own)) < Math.log(SIGNIFICANCE);
    return !restFails;
  }

  /** The span was found among more rows than the other conditions leave, so its ends are searched again. */
  #withOwnSpan(tests: readonly RowTest[], left: RowsLeft): readonly RowTest[] {
    const fields = tests.filter(({ feature }) => feature);
    if (fields.length === tests.length) return tests;
    return this.#bestSpan(filterByAll(fields, left.rows), fields, left)?.tests ?? tests;
  }

  #withoutNeedlessSpan(tests: readonly RowTest[], left: RowsLeft): readonly RowTest[] {
    const fields = tests.filter(({ feature }) => feature);
    // Of a span alone, these are all that are left, which are never named.
    const general = filterByAll(fields, left.rows);
    const isNeedless = isStartOfCurrentRun(this.table, general, filterByAll(tests, general));
    return isNeedless && this.#isNamed(fields, left) ? fields : tests;
  }

  /** True if a condition accepts values that work where the other conditions hold. */
  #takesInWorking(tests: readonly RowTest[], rows: Int32Array): boolean {
    return tests.some((test) => {
      if (!(test instanceof FieldTest)) return false;
      const others = tests.filter((other) => other !== test);
      const all = this.#countBy(test.feature, filterByAll(others, rows));
      return this.#workingCodes(test.feature, all).some((code) => test.accepts(code));
    });
  }

  // 4. Other names for it

  /** Conditions that select exactly these rows, or exactly those of one of the tests. */
  #sameTests(tests: readonly RowTest[], alike: readonly Feature[], rows: Int32Array): SameTest[] {
    let others = alike.filter((feature) => tests.every((test) => test.feature !== feature));
    const found: SameTest[] = [];
    for (const as of [tests, ...tests.map((test) => [test])]) {
      const equivalent = this.#equivalents(as, others, rows);
      others = others.filter((feature) => equivalent.every((test) => test.feature !== feature));
      found.push(...equivalent.map((test) => ({ test, as })));
    }
    return found.sort((a, b) => nameCost(a.test) - nameCost(b.test));
  }

  #equivalents(tests: readonly RowTest[], features: readonly Feature[], rows: Int32Array): FieldTest[] {
    const inside = filterByAll(tests, rows);
    return features.flatMap((feature) => {
      const all = this.#countBy(feature, rows);
      const asMany: { readonly test: FieldTest; readonly cost: number }[] = [];
      visitConditions(feature, all, (op, code, events, _failed, cost) => {
        if (events === inside.length) asMany.push({ test: new FieldTest(feature, op, code), cost });
      });
      const tests = asMany.sort((a, b) => a.cost - b.cost).map(({ test }) => test);
      return tests.find((test) => test.filter(inside).length === inside.length) ?? [];
    });
  }

  // Counting

  #count(rows: Int32Array): Count {
    return countRows(rows, this.table.failures);
  }

  #estimateInside(tests: readonly RowTest[], { rows }: RowsLeft): Count {
    return estimateOf(this.table, this.#count(filterByAll(tests, rows)));
  }

  #isNamed(tests: readonly RowTest[], left: RowsLeft): boolean {
    const inside = this.#estimateInside(tests, left);
    return isNamed(inside, estimateOf(this.table, left), this.lnCandidates(tests));
  }

  #isWorthListing(tests: readonly RowTest[], left: RowsLeft): boolean {
    if (!this.#isNamed(tests, left)) return false;
    if (left === this.#all) return true;
    const allFailed = estimateOf(this.table, this.#all).failed;
    return isWorthNaming(this.#estimateInside(tests, left), allFailed);
  }

  #countBy(feature: Feature, rows: Int32Array): Count {
    return feature.count(rows, this.#marks);
  }

  #timed(rows: Int32Array): Int32Array {
    const { times } = this.table;
    return filterRows(rows, (row) => times.isKnown(row));
  }
}

function conditionsOn({ events, order, field }: Feature): number {
  const states = countIf(events, (count) => count > 0);
  const isPresence = events[NO_VALUE] !== 0 && states > 1 && !field.derivation;
  const values = countIf(events.subarray(FIRST_CODE), (count) => count >= MIN_EVENTS);
  const formsOfValue = states > 2 ? 2 : 1;
  const equalities = !field.hasOnlyLimits && states > 1 ? formsOfValue * values : 0;
  const numbers = countIf(order, (code) => (events[code] as number) > 0);
  const limits = 2 * Math.max(0, Math.min(numbers - 1, MAX_LIMITS));
  return (isPresence ? 2 : 0) + equalities + limits;
}

function mostPromising(candidates: readonly Candidate[], features: readonly Feature[]): Feature[] {
  const leading = new Set(candidates.slice(0, MAX_COMBINED).map(({ tests }) => tests[0]?.feature));
  return features.filter((feature) => feature.isFilter || leading.has(feature));
}

function simplerOnes(tests: readonly RowTest[]) {
  return tests.flatMap((dropped) => {
    const others = tests.filter((other) => other !== dropped);
    const without = others.length > 0 ? [{ dropped, tests: others }] : [];
    if (!(dropped instanceof FieldTest && /[<>]/.test(dropped.op))) return without;
    const presence = new FieldTest(dropped.feature, '!=', NO_VALUE);
    return [...without, { dropped, tests: [...others, presence] }];
  });
}

function isUnequal(condition: RowTest): boolean {
  return condition instanceof FieldTest && condition.op === '!=' && condition.code !== NO_VALUE;
}

/** Of several with the same counts, keeps the best. */
function bestOfEachCount(candidates: readonly Candidate[]): Candidate[] {
  const best = new Map<string, Candidate>();
  for (const candidate of candidates) {
    const key = `${candidate.events} ${candidate.failed}`;
    if (candidate.score > (best.get(key)?.score ?? Number.NEGATIVE_INFINITY)) best.set(key, candidate);
  }
  return [...best.values()].sort(byScore).slice(0, BEAM);
}

function nameCost({ code, feature }: FieldTest): number {
  return code === NO_VALUE ? feature.costOfPresence : feature.cost;
}

function byScore(a: Candidate, b: Candidate): number {
  return b.score - a.score;
}
