/** Chance explains what is named with a probability below this. */
export const SIGNIFICANCE = 0.01;
/** A cause makes a difference of ten points. */
export const LEAST_DIFFERENCE = 0.1;

export interface Count {
  readonly events: number;
  readonly failed: number;
}

/** The events of the first count that are not in the second. */
export function without(whole: Count, part: Count): Count {
  return { events: whole.events - part.events, failed: whole.failed - part.failed };
}

/**
 * True if these events fail so much more often than the others that it is no chance, and matters.
 * `lnCandidates` is the logarithm of the number of candidates that were compared (Bonferroni's correction).
 */
export function isNamed(inside: Count, whole: Count, lnCandidates = 0): boolean {
  const isNoChance = lnChance(inside, whole) + lnCandidates < Math.log(SIGNIFICANCE);
  return isNoChance && differenceOf(inside, whole) >= LEAST_DIFFERENCE;
}

/** A cause after the first explains at least this part of all failures … */
const LEAST_SHARE = 0.07;
/** … or at least this part of its own events failed, and this many of them. */
const HIGH_RATE = 0.3;
const LEAST_FAILED = 5;

/** True if a further cause explains a part of all failures that matters, or fails often by itself. */
export function isWorthNaming({ failed, events }: Count, allFailed: number): boolean {
  const failsOften = failed >= LEAST_FAILED && failed >= HIGH_RATE * events;
  return failsOften || failed >= LEAST_SHARE * allFailed;
}

/** How much more of these events failed than of the others. */
function differenceOf(inside: Count, whole: Count): number {
  return rateOf(inside) - rateOf(without(whole, inside));
}

/** The part of the events that failed. Each delivered event stands for `weight` of them. */
export function rateOf({ events, failed }: Count, weight = 1): number {
  return events === 0 ? 0 : failed / (failed + (events - failed) * weight);
}

/**
 * Fisher's exact test, one-sided: the natural logarithm of the probability that, if as many events as
 * `inside` has are drawn from those of `whole`, as many of them or more failed.
 */
export function lnChance(inside: Count, whole: Count): number {
  const { failed, events } = inside;
  const delivered = whole.events - whole.failed;
  let term = 1;
  let sum = 1;
  // A term is 0 where no more events can have failed.
  for (let count = failed; term > sum * 1e-17; count++) {
    const more = (whole.failed - count) * (events - count);
    term *= more / ((count + 1) * (delivered - events + count + 1));
    sum += term;
  }
  const lnFirst =
    lnChoose(whole.failed, failed) + lnChoose(delivered, events - failed) - lnChoose(whole.events, events);
  return Math.min(0, lnFirst + Math.log(sum));
}

/**
 * The number of events from which on chance may be below a limit, given as its logarithm: fewer are no
 * surprise, even if all of them failed. At most the number that failed in all.
 */
export function leastForChance({ events, failed }: Count, lnLimit: number): number {
  let lnAllFailed = 0;
  for (let drawn = 1; drawn < failed; drawn++) {
    lnAllFailed += Math.log((failed - drawn + 1) / (events - drawn + 1));
    if (lnAllFailed < lnLimit) return drawn;
  }
  return failed;
}

/** The logarithm of the number of ways to choose `some` of `all`. */
export function lnChoose(all: number, some: number): number {
  return lnFactorial(all) - lnFactorial(some) - lnFactorial(all - some);
}

/** Logarithms of factorials up to here are kept: a search asks for those of its sample again and again. */
const MOST_KEPT = 65_536;
/** By number; 0 for one that was not asked for, as the first two are anyway. */
const lnFactorials = new Float64Array(MOST_KEPT);

function lnFactorial(number: number): number {
  if (number >= MOST_KEPT) return lnGamma(number + 1);
  const kept = lnFactorials[number];
  if (kept) return kept;
  const computed = lnGamma(number + 1);
  lnFactorials[number] = computed;
  return computed;
}

/** Stirling's series is exact for the logarithm of the gamma function from here on. */
const LEAST_FOR_STIRLING = 20;

/** Stirling's series for the logarithm of the gamma function (Abramowitz and Stegun 6.1.41). */
function lnGamma(number: number): number {
  let x = number;
  let product = 1;
  for (; x < LEAST_FOR_STIRLING; x++) product *= x;
  const square = x * x;
  const series = (1 / 12 - (1 / 360 - 1 / (1260 * square)) / square) / x;
  return (x - 0.5) * Math.log(x) - x + 0.5 * Math.log(2 * Math.PI) + series - Math.log(product);
}

/**
 * How much likelier two rates of failure make what happened than one does, as far as that differs between
 * parts.
 */
export class Likelihood {
  /** Each number times its logarithm. */
  readonly #lnTable: Float64Array;

  /** For counts of at most so many events, which take no logarithm each. */
  constructor(events: number) {
    this.#lnTable = Float64Array.from({ length: events + 1 }, (_, number) => timesLn(number));
  }

  /**
   * The logarithm of the likelihood that the events of a part and the others have two rates of failure, to
   * compare with that of another part; minus infinity if the part fails no more often.
   */
  gain(events: number, failed: number, whole: Count): number {
    const restEvents = whole.events - events;
    const restFailed = whole.failed - failed;
    if (failed * restEvents <= restFailed * events) return Number.NEGATIVE_INFINITY;
    return this.#part(failed, events) + this.#part(restFailed, restEvents);
  }

  #part(failed: number, events: number): number {
    return this.#timesLn(failed) + this.#timesLn(events - failed) - this.#timesLn(events);
  }

  #timesLn(number: number): number {
    return this.#lnTable[number] ?? timesLn(number);
  }
}

function timesLn(number: number): number {
  return number > 0 ? number * Math.log(number) : 0;
}
