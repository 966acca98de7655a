/** Maximum probability of a reported cause to be chance. */
export const SIGNIFICANCE = 0.01;
/** Minimum difference in failure rate for a cause: ten points. */
export const MIN_DIFFERENCE = 0.1;

export interface Count {
  readonly events: number;
  readonly failed: number;
}

export function without(whole: Count, part: Count): Count {
  return { events: whole.events - part.events, failed: whole.failed - part.failed };
}

/**
 * True if these events fail more often than the others by more than chance, and by enough to matter.
 * `lnCandidates` is the logarithm of the number of candidates compared (Bonferroni's correction).
 */
export function isNamed(inside: Count, whole: Count, lnCandidates = 0): boolean {
  const isNoChance = lnChance(inside, whole) + lnCandidates < Math.log(SIGNIFICANCE);
  return isNoChance && differenceOf(inside, whole) >= MIN_DIFFERENCE;
}

/** Minimum share of all failures for a cause after the first … */
const MIN_SHARE = 0.07;
/** … unless it has this failure rate and at least `MIN_FAILED` failures. */
const HIGH_RATE = 0.3;
const MIN_FAILED = 5;

export function isWorthNaming({ failed, events }: Count, allFailed: number): boolean {
  const failsOften = failed >= MIN_FAILED && failed >= HIGH_RATE * events;
  return failsOften || failed >= MIN_SHARE * allFailed;
}

function differenceOf(inside: Count, whole: Count): number {
  return rateOf(inside) - rateOf(without(whole, inside));
}

/** Each delivered event counts `weight` times. */
export function rateOf({ events, failed }: Count, weight = 1): number {
  return events === 0 ? 0 : failed / (failed + (events - failed) * weight);
}

/**
 * Fisher's exact test, one-sided: the natural logarithm of the probability that as many events, drawn from
 * `whole` at random, have at least as many failures as `inside`.
 */
export function lnChance(inside: Count, whole: Count): number {
  const { failed, events } = inside;
  const delivered = whole.events - whole.failed;
  let term = 1;
  let sum = 1;
  // A term is 0 once no more events can have failed.
  for (let count = failed; term > sum * 1e-17; count++) {
    const more = (whole.failed - count) * (events - count);
    term *= more / ((count + 1) * (delivered - events + count + 1));
    sum += term;
  }
  const lnFirst =
    lnChoose(whole.failed, failed) + lnChoose(delivered, events - failed) - lnChoose(whole.events, events);
  return Math.min(0, lnFirst + Math.log(sum));
}

/** The logarithm of the binomial coefficient. */
export function lnChoose(all: number, some: number): number {
  return lnFactorial(all) - lnFactorial(some) - lnFactorial(all - some);
}

/** Number of cached factorials: a search asks for those of its sample repeatedly. */
const MAX_KEPT = 65_536;
/** 0 if not computed yet; the first two are 0 anyway. */
const lnFactorials = new Float64Array(MAX_KEPT);

function lnFactorial(number: number): number {
  if (number >= MAX_KEPT) return lnGamma(number + 1);
  const kept = lnFactorials[number];
  if (kept) return kept;
  const computed = lnGamma(number + 1);
  lnFactorials[number] = computed;
  return computed;
}

/** Stirling's series is accurate for the gamma function from here on. */
const MIN_FOR_STIRLING = 20;

/** Abramowitz and Stegun, 6.1.41. */
function lnGamma(number: number): number {
  let x = number;
  let product = 1;
  for (; x < MIN_FOR_STIRLING; x++) product *= x;
  const square = x * x;
  const series = (1 / 12 - (1 / 360 - 1 / (1260 * square)) / square) / x;
  return (x - 0.5) * Math.log(x) - x + 0.5 * Math.log(2 * Math.PI) + series - Math.log(product);
}

/** Compares one failure rate for all events with two rates, for a part and the rest. */
export class Likelihood {
  readonly #lnTable: Float64Array;

  constructor(events: number) {
    this.#lnTable = Float64Array.from({ length: events + 1 }, (_, number) => timesLn(number));
  }

  /** Comparable between parts; minus infinity if the part does not fail more often. */
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
