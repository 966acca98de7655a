import { FIRST_CODE, NO_VALUE, UNCODED } from '../outcomes/code-column.ts';
import type { ComparisonTable } from '../outcomes/comparison-table.ts';
import { type Field, isInside } from '../outcomes/field-column.ts';
import { allRows } from '../outcomes/rows.ts';
import { type CauseCondition, fieldCondition } from './cause-conditions.ts';
import type { CauseSearch } from './cause-search.ts';
import { type Count, countRows, lnChance, SIGNIFICANCE } from './chance.ts';
import { EFFECT_RULES } from './effect-rules.ts';
import { type EffectValue, valuesOf } from './effect-values.ts';
import type { Feature } from './feature.ts';
import { type Certainty, isKnownBefore, isOutcomeByPlace, outcomeOf } from './outcome-words.ts';
import { FieldTest } from './row-tests.ts';

/** A condition that tells failures from delivered events too well to be their cause: an effect of failing. */
export interface Effect extends CauseCondition {
  readonly failed: number;
  readonly delivered: number;
  /** The most frequent values that the failures have. */
  readonly values: readonly EffectValue[];
}

/** Fields that are no causes since they came of failing, or seem to. */
export interface Effects {
  readonly list: readonly Effect[];
  /** Fields that are not compared for it. */
  readonly fields: ReadonlySet<Field>;
  /** Those of them that are no cause even if there is no other. */
  readonly certain: ReadonlySet<Field>;
}

/** Of all rows, those in which a condition is tried first. */
const FIRST_ROWS = 20_000;

/** Fields that tell failures from delivered events so well that they are no cause, if anything else is. */
export function findEffects(table: ComparisonTable, search: CauseSearch): Effects {
  const finder = new EffectFinder(table, search);
  const list = search.features.flatMap((feature) => finder.effectOf(feature) ?? []);
  // What failing left behind makes an item larger.
  const size = table.fields.find(({ derivation }) => derivation === 'size');
  if (size && (list.length > 0 || finder.certain.size > 0)) finder.certain.add(size);
  return { list, fields: finder.fields, certain: finder.certain };
}

/** What is known of a field while it is judged. */
interface Judged {
  readonly feature: Feature;
  readonly outcome: Certainty;
  readonly isByPlace: boolean;
  /** True inside an object that only failures have. */
  readonly isInner: boolean;
}

class EffectFinder {
  readonly fields = new Set<Field>();
  readonly certain = new Set<Field>();
  readonly #table: ComparisonTable;
  readonly #search: CauseSearch;
  readonly #all: Int32Array;
  /** Events that may contradict an effect. */
  readonly #few: number;
  /** Objects and lists that only failures have. */
  readonly #outer: Field[] = [];

  constructor(table: ComparisonTable, search: CauseSearch) {
    this.#table = table;
    this.#search = search;
    this.#all = allRows(table.rows);
    this.#few = Math.max(1, EFFECT_RULES.nearlyExact.share * table.failed);
  }

  /** The condition on the field that is an effect, and notes what that says of the field. */
  effectOf(feature: Feature): Effect | undefined {
    const { field } = feature;
    if (feature.isFilter) return undefined;
    const isByPlace = isOutcomeByPlace(field.steps);
    if (isByPlace) this.certain.add(field);
    const outcome = outcomeOf(field.steps);
    // Without a delivered event the names alone tell what came of the failure.
    if (!outcome && this.#table.failed === this.#table.rows) return undefined;
    const isInner = this.#outer.some((other) => isInside(field, other));
    const judged = { feature, outcome, isByPlace, isInner };
    const effect = isInner ? undefined : this.#findEffect(judged);
    if (!isInner && !effect) return undefined;
    this.#note(judged, effect);
    return effect;
  }

  /** Notes that the field is no cause, or none in any case. */
  #note({ feature, outcome, isInner }: Judged, effect: Effect | undefined): void {
    const { field } = feature;
    if (effect?.op === 'exists') this.#outer.push(field);
    // A field of some of the failures alone may be why they failed, unless its name says that it is an
    // outcome.
    const isOfMost = effect !== undefined && this.#isOfMost(effect.failed);
    const isOfDelivery = /deliver/i.test(String(field.steps[0]));
    if (outcome || isOfMost || isInner || isOfDelivery) this.fields.add(field);
    const isTold = (least: number) => isInner || isOfDelivery || this.#shareOfOne(field) >= least;
    const isSure = outcome === 'sure' && isTold(EFFECT_RULES.outcomeAlike.share);
    const isLikely = outcome === 'likely' && !effect?.delivered && isTold(EFFECT_RULES.deliveredAlike.share);
    if (isSure || isLikely) this.certain.add(field);
  }

  #findEffect(judged: Judged): Effect | undefined {
    const { feature, outcome, isByPlace } = judged;
    const tests = [new FieldTest(feature, '!=', NO_VALUE), this.#search.mostTelling(feature)];
    for (const test of tests) {
      const count = test && this.#countIfEffect(test, judged);
      if (!test || !count) continue;
      const { failed } = count;
      const effect = { ...fieldCondition(test), failed, delivered: count.events - failed };
      if (!outcome && this.#isOfEvents(feature.field)) return undefined;
      if (!isByPlace && this.#isOfOrders(effect, feature)) return undefined;
      return { ...effect, values: valuesOf(this.#table, test) };
    }
    return undefined;
  }

  /**
   * True for what every event has a value of, such as a reason for which somebody ordered, or a limit; a
   * number that nearly all failures have is one of failing nevertheless.
   */
  #isOfOrders({ op, value, failed }: Omit<Effect, 'values'>, { field, isAlwaysThere }: Feature): boolean {
    if (op !== '=' || !isAlwaysThere) return false;
    if (typeof value !== 'string' && this.#isOfMost(failed)) return false;
    return this.#shareOfOne(field) < EFFECT_RULES.ofOrders.share;
  }

  /** True if nearly all failures are among so many. */
  #isOfMost(failed: number): boolean {
    return this.#table.failed - failed <= this.#few;
  }

  /**
   * The events for which a condition holds, if it is an effect: few events contradict it, or more if its name
   * tells.
   */
  #countIfEffect(test: FieldTest, judged: Judged): Count | undefined {
    const { failed: allFailed, rows: events } = this.#table;
    const successes = events - allFailed;
    const { outcome } = judged;
    const most = outcome ? Math.max(this.#few, EFFECT_RULES.keptByDelivered.share * successes) : this.#few;
    // Most conditions are true of too many of the first events already.
    const first = this.#countIn(test, this.#all.subarray(0, FIRST_ROWS));
    if (first.events - first.failed > most) return undefined;
    const count = this.#countIn(test, this.#all);
    const delivered = count.events - count.failed;
    const isOfMost = this.#isOfMost(count.failed);
    if (delivered > (outcome === 'sure' || isOfMost ? most : this.#few)) return undefined;
    if (!outcome && !this.#isTold(test, delivered, isOfMost)) return undefined;
    return this.#isNoChance(test, count) ? count : undefined;
  }

  #countIn(test: FieldTest, rows: Int32Array): Count {
    return countRows(test.filter(rows), this.#table.failures);
  }

  /** True if a condition on a field without a name of outcomes is an effect by what events have it. */
  #isTold(test: FieldTest, delivered: number, isOfMost: boolean): boolean {
    const isPresence = test.code === NO_VALUE;
    const isOnlyInFailures = isPresence && test.op === '!=' && delivered === 0;
    if (!isOfMost && !isOnlyInFailures) return false;
    return isPresence || this.#shareOfOne(test.feature.field) >= EFFECT_RULES.deliveredAlike.share;
  }

  #isNoChance(test: FieldTest, count: Count): boolean {
    const { failed: allFailed, rows: events } = this.#table;
    const isOfAll = count.failed === allFailed || allFailed === events;
    const leastFailed = test.code === NO_VALUE ? 1 : 2;
    if (isOfAll && count.events === count.failed) return count.failed >= leastFailed;
    const lnP = lnChance(count, { events, failed: allFailed }) + this.#search.candidates.lnOf([test]);
    return lnP < Math.log(SIGNIFICANCE);
  }

  /**
   * True for what is known before the delivery: by its name, or since each subscription has one value of it,
   * also one with failed and delivered events.
   */
  #isOfEvents(field: Field): boolean {
    if (isKnownBefore(field.steps)) return true;
    const { rows, failures } = this.#table;
    if (field.isInList) return false;
    const codes = field.codesByRow(rows);
    const subscriptions = this.#table.fieldAtTop('subscriptionId')?.codes;
    const first = new Map<number, number>();
    let isMixed = false;
    for (let row = 0; subscriptions && row < rows; row++) {
      const earlier = first.get(subscriptions[row] as number) ?? row;
      if (earlier === row) first.set(subscriptions[row] as number, row);
      if (codes[earlier] !== codes[row]) return false;
      isMixed ||= failures[earlier] !== failures[row];
    }
    return isMixed;
  }

  /** The part of the delivered events that have one value in common, or lack the field. */
  #shareOfOne(field: Field): number {
    const counts = this.#table.countCodes(field).others.fill(0, UNCODED, FIRST_CODE);
    return Math.max(...counts) / (this.#table.rows - this.#table.failed);
  }
}
