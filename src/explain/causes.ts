import { fieldPath } from '../items/field-path.ts';
import { FIRST_CODE, NO_VALUE } from '../outcomes/code-column.ts';
import type { ComparisonTable } from '../outcomes/comparison-table.ts';
import { type Field, isInside } from '../outcomes/field-column.ts';
import { allRows, rowsWithout, selectRows } from '../outcomes/rows.ts';
import type { Instant } from '../time/instant.ts';
import { type TimeZone, UTC } from '../time/time-zone.ts';
import { type CauseCondition, conditionsOf } from './cause-conditions.ts';
import { CauseSearch } from './cause-search.ts';
import { boundsAround, type CauseTimes, FAILED, timesOf, withoutNeedlessSpan } from './cause-times.ts';
import {
  type Count,
  countRows,
  differenceOf,
  LEAST_DIFFERENCE,
  lnChance,
  SIGNIFICANCE,
  without,
} from './chance.ts';
import { type Effect, findEffects } from './effects.ts';
import type { Feature } from './feature.ts';
import { type FieldTest, filterByAll, type RowTest } from './row-tests.ts';

/**
 * A cause: conditions that failed events have in common. The counts are of the events that the causes before
 * it leave.
 */
export interface Cause extends CauseTimes {
  /** All of them hold for the events of this cause. */
  readonly conditions: readonly CauseCondition[];
  readonly failed: number;
  readonly events: number;
  readonly failedWithout: number;
  readonly eventsWithout: number;
  /** How many subscriptions have failures of this cause. */
  readonly subscriptions: number;
  /**
   * The probability that chance makes any candidate look like this: Fisher's exact test with Bonferroni's
   * correction.
   */
  readonly p: number;
  /** Conditions that are true of the same events. */
  readonly same: readonly CauseCondition[];
  /** Times between which, both excluded, the events of its span of time were created. */
  readonly after: Instant | undefined;
  readonly before: Instant | undefined;
}

export interface Explanation {
  readonly events: number;
  readonly failed: number;
  /** How many subscriptions the events are of, as far as they tell. */
  readonly subscriptions: number;
  readonly causes: readonly Cause[];
  /** Failures that no cause explains. */
  readonly unexplained: number;
  readonly onlyInFailures: readonly Effect[];
  /** Paths of fields that differ in nearly every event, or have too many or too long values. */
  readonly notCompared: readonly string[];
  /** Those of them that are compared where their values are short. */
  readonly comparedWhereShort: readonly string[];
  /**
   * Paths of lists whose later elements were not looked at, and of objects of which that is so of members.
   */
  readonly notLookedAt: readonly string[];
}

export const MOST_CAUSES = 5;
/** A cause after the first is named if it explains at least this part of all failures. */
const LEAST_SHARE = 0.07;
/** It is also named if at least this part of its own events failed, and `LEAST_FAILED` of them. */
const HIGH_RATE = 0.3;
const LEAST_FAILED = 5;
const MOST_SAME = 20;

/**
 * Compares the failed events of a table with the others. Hours and weekdays are those of the zone's clock.
 */
export function explainTable(table: ComparisonTable, zone: TimeZone = UTC): Explanation {
  table.finish(zone);
  const { failed, rows: events } = table;
  const pathsOf = (fields: readonly Field[]) =>
    fields.map(({ steps, derivation }) => fieldPath(steps, derivation).text).sort();
  const fields = table.fields.filter(({ derivation }) => !derivation);
  const none = {
    events,
    failed,
    subscriptions: countSubscriptions(table, allRows(events)),
    causes: [],
    unexplained: failed,
    onlyInFailures: [],
    notCompared: pathsOf(fields.filter(({ isUncompared, hasLongValue }) => isUncompared || hasLongValue)),
    comparedWhereShort: pathsOf(
      fields.filter(({ isUncompared, hasLongValue }) => hasLongValue && !isUncompared),
    ),
    notLookedAt: pathsOf(table.fields.filter(({ isOverfull }) => isOverfull)),
  };
  if (failed === 0) return none;
  const search = new CauseSearch(table);
  const effects = findEffects(table, search);
  if (failed === events) return { ...none, onlyInFailures: effects.list };
  const possible = search.features.filter(({ field }) => !effects.certain.has(field));
  const likely = possible.filter(({ field }) => !effects.fields.has(field));
  let causes = new CauseFinder(table, search, possible).find(likely);
  // If nothing else explains the failures, what only they have may be the cause after all.
  if (causes.length === 0) causes = new CauseFinder(table, search, possible).find(possible);
  const explained = causes.reduce((sum, cause) => sum + cause.failed, 0);
  return { ...none, causes, unexplained: failed - explained, onlyInFailures: effects.list };
}

/** Names cause after cause, each among the events that those before it leave. */
class CauseFinder {
  readonly #table: ComparisonTable;
  readonly #search: CauseSearch;
  /** Fields in which other names for a cause are looked for. */
  readonly #alike: readonly Feature[];
  /** The rows that no cause explains yet. */
  #left: Int32Array;
  #whole: Count;

  constructor(table: ComparisonTable, search: CauseSearch, alike: readonly Feature[]) {
    this.#table = table;
    this.#search = search;
    this.#alike = alike;
    this.#left = allRows(table.rows);
    this.#whole = countRows(this.#left, table.failures);
  }

  /** The causes among conditions on some fields. */
  find(features: readonly Feature[]): Cause[] {
    const causes: Cause[] = [];
    while (causes.length < MOST_CAUSES) {
      const cause = this.#next(features, causes.length === 0);
      if (!cause) break;
      causes.push(cause);
    }
    return causes;
  }

  #next(features: readonly Feature[], isFirst: boolean): Cause | undefined {
    const best = this.#search.best(features);
    if (!best) return undefined;
    const isNamed = (tests: readonly RowTest[], count: Count) => this.#isNamed(tests, count);
    const exact = this.#search.withExactSpan(best, this.#left);
    const tests = withoutNeedlessSpan(this.#table, exact, this.#left, isNamed);
    const inside = filterByAll(tests, this.#left);
    const count = countRows(inside, this.#table.failures);
    if (!this.#isNamed(tests, count)) return undefined;
    if (!isFirst && !isWorthNaming(count, this.#table.failed)) return undefined;
    const cause = this.#causeOf(tests, inside, count);
    this.#left = rowsWithout(this.#left, inside);
    this.#whole = without(this.#whole, count);
    this.#search.setAside(tests);
    return cause;
  }

  /** True if chance explains it with less than 1 in 100 after counting every candidate, and it matters. */
  #isNamed(tests: readonly RowTest[], count: Count): boolean {
    const isNoChance = this.#lnChanceOf(tests, count) < Math.log(SIGNIFICANCE);
    return isNoChance && differenceOf(count, this.#whole) >= LEAST_DIFFERENCE;
  }

  #lnChanceOf(tests: readonly RowTest[], count: Count): number {
    return lnChance(count, this.#whole) + this.#search.candidates.lnOf(tests);
  }

  #causeOf(tests: readonly RowTest[], inside: Int32Array, count: Count): Cause {
    const table = this.#table;
    const rest = without(this.#whole, count);
    return {
      conditions: conditionsOf(table.times, tests),
      failed: count.failed,
      events: count.events,
      failedWithout: rest.failed,
      eventsWithout: rest.events,
      subscriptions: countSubscriptions(table, selectRows(inside, table.failures, FAILED)),
      p: Math.max(Math.exp(this.#lnChanceOf(tests, count)), Number.MIN_VALUE),
      same: this.#sameConditions(tests),
      ...timesOf(table, inside, tests),
      ...boundsAround(table, tests),
    };
  }

  /**
   * Conditions on other fields that are true of exactly these rows, or of those for which one of the tests
   * holds.
   */
  #sameConditions(tests: readonly RowTest[]): CauseCondition[] {
    const left = this.#left;
    let others = this.#alike.filter((feature) => tests.every((test) => test.feature !== feature));
    const found: FieldTest[] = [];
    for (const whole of tests.length === 1 ? [tests] : [tests, ...tests.map((test) => [test])]) {
      const equivalent = this.#search.equivalents(whole, others);
      if (equivalent.length === 0) continue;
      others = others.filter((feature) => equivalent.every((test) => test.feature !== feature));
      // Of the sample so far; of all rows it need not hold.
      const inside = filterByAll(whole, left);
      const isSame = (rows: Int32Array) =>
        rows.length === inside.length && rows.every((row, index) => row === inside[index]);
      found.push(...equivalent.filter((test) => isSame(test.filter(left))));
    }
    const handicap = ({ code, feature }: FieldTest) =>
      code === NO_VALUE ? feature.handicapOfPresence : feature.handicap;
    const outer = withoutInner(found.sort((a, b) => handicap(a) - handicap(b))).slice(0, MOST_SAME);
    return outer.flatMap((test) => conditionsOf(this.#table.times, [test]));
  }
}

/** Leaves out that members of an object are there where the object is. */
function withoutInner(tests: readonly FieldTest[]): FieldTest[] {
  const isInner = (one: FieldTest, other: FieldTest) =>
    one.code === NO_VALUE && one.op === other.op && isInside(one.feature.field, other.feature.field);
  return tests.filter((test) => !tests.some((other) => other.code === NO_VALUE && isInner(test, other)));
}

/** How many subscriptions these events are of. */
function countSubscriptions(table: ComparisonTable, rows: Int32Array): number {
  const field = table.fieldAtTop('subscriptionId');
  if (!field) return 0;
  const seen = new Uint8Array(field.texts.length);
  for (const row of rows) seen[field.codes[row] as number] = 1;
  return seen.subarray(FIRST_CODE).reduce((sum, isSeen) => sum + isSeen, 0);
}

/**
 * True if a further cause explains a part of all failures that matters, or fails so often that it does by
 * itself.
 */
function isWorthNaming({ failed, events }: Count, allFailed: number): boolean {
  const failsOften = failed >= LEAST_FAILED && failed >= HIGH_RATE * events;
  return failsOften || failed >= LEAST_SHARE * allFailed;
}
