import { EACH, fieldPath } from '../items/field-path.ts';
import { FIRST_CODE, isInside, NO_VALUE, OTHER_VALUE, type SampleField } from '../sample/sample-field.ts';
import { estimateOf, fieldAtTop, rateIn, type SampleTable } from '../sample/sample-table.ts';
import { type Count, lnChance, SIGNIFICANCE } from '../statistics/chance.ts';
import type { CauseSearch, FoundCause, RowTest } from './cause-search.ts';
import { type Feature, FieldTest } from './conditions.ts';
import { EFFECT_RULES } from './effect-rules.ts';
import type { CountedField, EffectValueSource } from './effect-values.ts';
import {
  type Certainty,
  isKnownBefore,
  isOfReason,
  isOutcomeByPlace,
  outcomeOf,
  wordsOfName,
} from './outcome-words.ts';
import { allRows, countRows, filterByAll } from './rows.ts';

export interface Effects {
  readonly tests: readonly FieldTest[];
  readonly fields: ReadonlySet<SampleField>;
  readonly certain: ReadonlySet<SampleField>;
}

export function findEffects(search: CauseSearch): Effects {
  const finder = new EffectFinder(search);
  const tests = search.features.flatMap((feature) => finder.effectOf(feature) ?? []);
  // Effects make an item larger, so its size is an effect too.
  const size = search.table.fields.find(({ derivation }) => derivation === 'size');
  if (size && (tests.length > 0 || finder.certain.size > 0)) finder.certain.add(size);
  return { tests, fields: finder.fields, certain: finder.certain };
}

/** Quotes, colon and comma around a member's name and value. */
const BYTES_AROUND = 4;

/** Undefined without effects. An effect inside a list counts as the whole list. */
export function bytesOfEffects({ tests, certain }: Effects, { fields }: SampleTable): number | undefined {
  const effects = [...tests.map(({ feature }) => feature.field), ...certain];
  const members = effects.map(({ steps }) => {
    const list = steps.indexOf(EACH);
    return fieldPath(list === -1 ? steps : steps.slice(0, list)).text;
  });
  const own = fields.filter(({ path, derivation }) => !derivation && members.includes(path));
  const outer = own.filter((field) => !own.some((other) => isInside(field, other)));
  const bytesOf = ({ steps, mostBytes }: SampleField) =>
    String(steps.at(-1)).length + BYTES_AROUND + mostBytes;
  return outer.length === 0 ? undefined : outer.reduce((sum, field) => sum + bytesOf(field), 0);
}

interface Judged {
  readonly feature: Feature;
  readonly outcome: Certainty;
  readonly isByPlace: boolean;
  readonly isInner: boolean;
}

class EffectFinder {
  readonly fields = new Set<SampleField>();
  readonly certain = new Set<SampleField>();
  readonly #table: SampleTable;
  readonly #search: CauseSearch;
  readonly #rows: Int32Array;
  readonly #all: Count;
  readonly #few: number;
  readonly #outer: SampleField[] = [];

  constructor(search: CauseSearch) {
    const { table } = search;
    this.#table = table;
    this.#search = search;
    this.#rows = allRows(table.rows);
    this.#all = estimateOf(table, countRows(this.#rows, table.failures));
    this.#few = Math.max(1, EFFECT_RULES.nearlyExact.share * this.#all.failed);
  }

  effectOf(feature: Feature): FieldTest | undefined {
    const { field } = feature;
    if (feature.isFilter) return undefined;
    const isByPlace = isOutcomeByPlace(field.steps) && !this.#isOfPayload(feature);
    if (isByPlace) this.certain.add(field);
    const outcome = outcomeOf(field.steps, isByPlace);
    // If no event was delivered, only names reveal effects.
    if (!outcome && this.#all.failed === this.#all.events) return undefined;
    const isInner = this.#outer.some((other) => isInside(field, other));
    const judged = { feature, outcome, isByPlace, isInner };
    const effect = isInner ? undefined : this.#findEffect(judged);
    if (!isInner && !effect) return undefined;
    this.#note(judged, effect);
    return effect;
  }

  #note({ feature, outcome, isByPlace, isInner }: Judged, effect: FieldTest | undefined): void {
    const { field } = feature;
    if (effect && effect.code === NO_VALUE) this.#outer.push(field);
    const count = effect && this.#countOf(effect);
    // If only some failures have a value it may be their cause, unless the name is that of an outcome.
    const coversNearlyAll = count !== undefined && this.#coversNearlyAll(count.failed);
    const isOfDelivery = /deliver/i.test(String(field.steps[0])) && !this.#isOfPayload(feature);
    if (outcome || coversNearlyAll || isInner || isOfDelivery) this.fields.add(field);
    const isAlike = (least: number) => isInner || isOfDelivery || this.#shareOfOne(feature) >= least;
    const hasDelivered = count !== undefined && count.events > count.failed;
    const isSure = outcome === 'sure' && isAlike(EFFECT_RULES.outcomeAlike.share);
    const isLikely = outcome === 'likely' && !hasDelivered && isAlike(EFFECT_RULES.deliveredAlike.share);
    if (isSure || isLikely || isByPlace) this.certain.add(field);
  }

  #findEffect(judged: Judged): FieldTest | undefined {
    const { feature, outcome, isByPlace } = judged;
    const tests = [new FieldTest(feature, '!=', NO_VALUE), this.#search.bestOn(feature)];
    for (const test of tests) {
      const count = test && this.#countIfEffect(test, judged);
      if (!test || !count) continue;
      if (!outcome && this.#isOfEvents(feature.field)) return undefined;
      if (!isByPlace && this.#isPayloadValue(test, count.failed)) return undefined;
      return test;
    }
    return undefined;
  }

  /** True for members of a `delivery` that belongs to the payload, such as the delivery of an order. */
  #isOfPayload(feature: Feature): boolean {
    const values = feature.field.texts.slice(FIRST_CODE);
    const areFew = values.length > 1 && values.length <= EFFECT_RULES.ofPayload.values;
    if (!areFew || !feature.isAlwaysThere) return false;
    const areTexts = values.every((json) => json.startsWith('"'));
    // Successes have several HTTP statuses; any other number varies only in a payload.
    const isStatus = /\b(status|state|code|result)$/.test(wordsOfName(String(feature.field.steps.at(-1))));
    const areOfSuccess = () => this.#deliveredValues(feature).every((json) => /^2\d\d$/.test(json));
    if (!areTexts && (!isStatus || areOfSuccess())) return false;
    return this.#shareOfOne(feature) < EFFECT_RULES.ofPayload.share;
  }

  #deliveredValues(feature: Feature): string[] {
    this.#search.countAll(feature);
    const isDelivered = (code: number) => (feature.events[code] as number) > (feature.failed[code] as number);
    return feature.field.texts.filter((_, code) => code >= FIRST_CODE && isDelivered(code));
  }

  /** True for values such as the reason for an order, but not for a number that nearly all failures share. */
  #isPayloadValue({ op, code, feature }: FieldTest, failed: number): boolean {
    if (op !== '=' || code === NO_VALUE || !feature.isAlwaysThere) return false;
    const isText = feature.field.texts[code]?.startsWith('"');
    if (!isText && this.#coversNearlyAll(failed)) return false;
    return this.#shareOfOne(feature) < EFFECT_RULES.payloadValue.share;
  }

  #coversNearlyAll(failed: number): boolean {
    return this.#all.failed - failed <= this.#few;
  }

  /** Undefined if too many events contradict the effect. More may if the name is that of an outcome. */
  #countIfEffect(test: FieldTest, { outcome }: Judged): Count | undefined {
    const { events, failed } = this.#all;
    const most = outcome
      ? Math.max(this.#few, EFFECT_RULES.keptByDelivered.share * (events - failed))
      : this.#few;
    const count = this.#countOf(test);
    const delivered = count.events - count.failed;
    const coversNearlyAll = this.#coversNearlyAll(count.failed);
    if (delivered > (outcome === 'sure' || coversNearlyAll ? most : this.#few)) return undefined;
    if (!outcome && !this.#isReported(test, delivered, coversNearlyAll)) return undefined;
    return this.#isNoChance(test, count) ? count : undefined;
  }

  #countOf(test: FieldTest): Count {
    return estimateOf(this.#table, countRows(test.filter(this.#rows), this.#table.failures));
  }

  #isReported(test: FieldTest, delivered: number, coversNearlyAll: boolean): boolean {
    const isPresence = test.code === NO_VALUE;
    const isOnlyInFailures = isPresence && test.op === '!=' && delivered === 0;
    if (!coversNearlyAll && !isOnlyInFailures) return false;
    return isPresence || this.#shareOfOne(test.feature) >= EFFECT_RULES.deliveredAlike.share;
  }

  #isNoChance(test: FieldTest, count: Count): boolean {
    const all = this.#all;
    const isOfAll = count.failed === all.failed || all.failed === all.events;
    if (isOfAll && count.events === count.failed) return count.failed > 0;
    return lnChance(count, all) + this.#search.lnCandidates([test]) < Math.log(SIGNIFICANCE);
  }

  /**
   * True for fields known before the delivery, by their name or because each subscription has a single value
   * and one subscription has both failed and delivered events.
   */
  #isOfEvents(field: SampleField): boolean {
    if (isKnownBefore(field.steps)) return true;
    const subscription = fieldAtTop(this.#table, 'subscriptionId');
    if (field.isInList || !subscription) return false;
    const { rows, failures } = this.#table;
    const codes = field.codesByRow(rows);
    const subscriptions = subscription.codesByRow(rows);
    const first = new Map<number, number>();
    let isMixed = false;
    for (let row = 0; row < rows; row++) {
      const earlier = first.get(subscriptions[row] as number) ?? row;
      if (earlier === row) first.set(subscriptions[row] as number, row);
      if (codes[earlier] !== codes[row]) return false;
      isMixed ||= failures[earlier] !== failures[row];
    }
    return isMixed;
  }

  #shareOfOne(feature: Feature): number {
    const all = this.#search.countAll(feature);
    let most = 0;
    for (let code = 0; code < feature.events.length; code++)
      if (code !== OTHER_VALUE)
        most = Math.max(most, (feature.events[code] as number) - (feature.failed[code] as number));
    return most / (all.events - all.failed);
  }
}

/** Share of an effect's failures that may lie outside a cause that explains them. */
const FEW_OTHERS = 0.02;
/** A cause is worse than an effect if its rate is at most this share of the effect's. */
const WORSE_RATE = 0.9;
/** An effect is unexplained if the causes explain at most this share of its failures. */
const UNEXPLAINED = 0.1;

/**
 * Returns the fields of effects that are causes after all. Either the effect occurs in only some failures and
 * no cause explains those, or a cause merely stands in for it: the cause fails less often, and either only
 * excludes other events (events of one type lack the fields of other types) or has the name of an outcome.
 */
export function causesAmong(effects: Effects, causes: readonly FoundCause[], { table }: CauseSearch) {
  const all = allRows(table.rows);
  const failuresIn = (tests: readonly RowTest[], rows: Int32Array) =>
    countRows(filterByAll(tests, rows), table.failures).failed;
  const isProxy = ({ tests }: FoundCause, effect: FieldTest) => {
    const inside = filterByAll(tests, all);
    const own = countRows(effect.filter(all), table.failures);
    const isAllInside = failuresIn([effect], inside) >= (1 - FEW_OTHERS) * own.failed;
    const isWorse = rateIn(table, countRows(inside, table.failures)) <= WORSE_RATE * rateIn(table, own);
    return isAllInside && isWorse && tests.every(isNegation);
  };
  const isLeft = (effect: FieldTest) => {
    const own = countRows(effect.filter(all), table.failures).failed;
    const explained = causes.reduce((sum, { tests }) => sum + failuresIn([...tests, effect], all), 0);
    const isOfAll = own >= (1 - FEW_OTHERS) * countRows(all, table.failures).failed;
    return !isOfAll && explained <= UNEXPLAINED * own;
  };
  const mayBe = ({ feature }: FieldTest) =>
    effects.fields.has(feature.field) && !effects.certain.has(feature.field);
  const found = effects.tests
    .filter(mayBe)
    .filter((effect) => isLeft(effect) || causes.some((cause) => isProxy(cause, effect)));
  return new Set(found.map(({ feature }) => feature.field));
}

function isNegation(test: RowTest): boolean {
  if (!(test instanceof FieldTest)) return false;
  const isMissing = test.op === '=' && test.code === NO_VALUE;
  const isAnother = test.op === '!=' && test.code !== NO_VALUE;
  return isMissing || isAnother || outcomeOf(test.feature.field.steps, false) !== undefined;
}

/** An effect's own values, all members of an object, or a list's members that give a reason. */
export function valuesToCount({ fields }: SampleTable, { feature, op, code }: FieldTest): EffectValueSource {
  const { field } = feature;
  const except = field.texts[code];
  const none = { own: undefined, except: undefined, members: [] };
  if (op !== '!=') return none;
  if (hasValues(field)) return { own: toCount(field), except, members: [] };
  const { element } = field;
  const members = element
    ? fields.filter((other) => isInside(other, element) && isOfReason(other.steps) && !other.derivation)
    : [...field.members.values()];
  return { ...none, members: members.filter(hasValues).map(toCount) };
}

function hasValues(field: SampleField): boolean {
  if (field.prose) return true;
  return !field.hasOnlyLimits && field.codes.some((code) => code >= FIRST_CODE);
}

function toCount(field: SampleField): CountedField {
  const isPart = field.isUncompared && !field.prose;
  const only = isPart ? new Set(field.texts.slice(FIRST_CODE)) : undefined;
  return { path: fieldPath(field.steps, field.derivation), only };
}
