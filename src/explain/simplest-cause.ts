import { NO_VALUE } from '../outcomes/code-column.ts';
import type { Candidates } from './candidates.ts';
import { type Count, type Likelihood, lnChance, SIGNIFICANCE, without } from './chance.ts';
import { FieldTest, filterByAll, type RowTest } from './row-tests.ts';
import type { Sample } from './sample.ts';

/**
 * One of several conditions stays if chance makes any candidate narrow the cause down so well with less than
 * this.
 */
export const MOST_CHANCE_OF_NEEDED = 0.05;
/** The rest of a more general cause belongs to it if it fails at this part of the rate. */
const REST_FAILS = 0.15;
/** The same beside a sharp cause: one in a span of time, or of which nearly all events fail. */
const REST_FAILS_BESIDE_SHARP = 0.4;
/** Nearly all events of a cause fail from this rate on. */
const NEARLY_ALL_FAIL = 0.9;
/** A condition stays if without it the cause fails at most at this part of its rate. */
const MOST_RATE_WITHOUT = 0.95;
/** The same of `!=`, which takes away one value of many and says little, but for a sharp cause. */
const MOST_RATE_WITHOUT_UNEQUAL = 0.3;

/** What a cause is held against while it is made simpler. */
export interface SearchSetting {
  readonly sample: Sample;
  readonly candidates: Candidates;
  readonly likelihood: Likelihood;
  /** The events of the sample that no cause explains yet. */
  readonly whole: Count;
}

/** A cause without one of its conditions, or with a weaker one in its place. */
interface Simpler {
  readonly tests: readonly RowTest[];
  /** The condition that was left out or made weaker. */
  readonly dropped: RowTest;
}

/**
 * Leaves out conditions that are not needed, also the number of a limit beside that its field is there, and
 * those without which the cause is more general: where the rest of the more general cause fails too, they
 * would split one cause in two. Undefined if only one that is not needed makes the difference.
 */
export function simplestCause(
  tests: readonly RowTest[],
  setting: SearchSetting,
): readonly RowTest[] | undefined {
  const { sample, likelihood, whole } = setting;
  const own = sample.countOf(filterByAll(tests, sample.rows));
  const isSharp = sample.rateOf(own) >= NEARLY_ALL_FAIL || tests.some(({ feature }) => !feature);
  const asGood = simplerOnes(tests).flatMap((simpler) => {
    const general = sample.countOf(filterByAll(simpler.tests, sample.rows));
    const isTelling = sample.makesDifference(general, whole);
    if (isNeeded(simpler.dropped, { own, general, isTelling, isSharp }, setting)) return [];
    return [
      { tests: simpler.tests, isTelling, gain: likelihood.gain(general.events, general.failed, whole) },
    ];
  });
  const [best] = asGood.sort((a, b) => Number(b.isTelling) - Number(a.isTelling) || b.gain - a.gain);
  if (!best) return tests;
  return best.isTelling ? simplestCause(best.tests, setting) : undefined;
}

function simplerOnes(tests: readonly RowTest[]): Simpler[] {
  return tests.flatMap((dropped) => {
    const others = tests.filter((other) => other !== dropped);
    const without = others.length > 0 ? [{ dropped, tests: others }] : [];
    if (!(dropped instanceof FieldTest && /[<>]/.test(dropped.op))) return without;
    const presence = new FieldTest(dropped.feature, '!=', NO_VALUE);
    return [...without, { dropped, tests: [...others, presence] }];
  });
}

/**
 * True if the condition raises the rate, by no chance, and what it takes away does not fail like the cause.
 */
function isNeeded(
  condition: RowTest,
  {
    own,
    general,
    isTelling,
    isSharp,
  }: {
    readonly own: Count;
    readonly general: Count;
    readonly isTelling: boolean;
    readonly isSharp: boolean;
  },
  { sample, candidates, whole }: SearchSetting,
): boolean {
  const isOfField = condition.feature !== undefined;
  const lnMost = Math.log(MOST_CHANCE_OF_NEEDED / (isOfField ? candidates.ofFields : candidates.ofSpans));
  if (lnChance(own, general) >= lnMost) return false;
  const most = isUnequal(condition) && !isSharp ? MOST_RATE_WITHOUT_UNEQUAL : MOST_RATE_WITHOUT;
  // A span of time always may take away.
  if (isOfField && sample.rateOf(general) > most * sample.rateOf(own)) return false;
  if (!isTelling) return true;
  const rest = without(general, own);
  const leastOfRest = isSharp && isOfField ? REST_FAILS_BESIDE_SHARP : REST_FAILS;
  const restFails =
    sample.rateOf(rest) >= leastOfRest * sample.rateOf(own) &&
    lnChance(rest, without(whole, own)) < Math.log(SIGNIFICANCE);
  return !restFails;
}

/** True for a condition that one value of a field is not there. */
function isUnequal(condition: RowTest): boolean {
  return condition instanceof FieldTest && condition.op === '!=' && condition.code !== NO_VALUE;
}
