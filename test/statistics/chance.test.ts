import { describe, expect, test } from 'vitest';
import {
  isNamed,
  isWorthNaming,
  Likelihood,
  lnChance,
  lnChoose,
  rateOf,
  without,
} from '../../src/statistics/chance.ts';

/**
 * The probability by whole numbers: ways to draw at least as many failed events, of all ways to draw so many.
 */
function lnExactChance(failed: number, events: number, allFailed: number, all: number): number {
  const choose = (of: number, some: number): bigint => {
    let ways = 1n;
    for (let index = 0; index < some; index++) ways = (ways * BigInt(of - index)) / BigInt(index + 1);
    return some < 0 || some > of ? 0n : ways;
  };
  let ways = 0n;
  for (let count = failed; count <= Math.min(events, allFailed); count++)
    ways += choose(allFailed, count) * choose(all - allFailed, events - count);
  return Math.log(Number((ways * 10n ** 60n) / choose(all, events))) - 60 * Math.LN10;
}

describe('the probability of a cause by chance', () => {
  const chance = (failed: number, events: number, allFailed: number, all: number) =>
    lnChance({ events, failed }, { events: all, failed: allFailed });

  test("is that of Fisher's exact test, for every table of up to 9 events", () => {
    for (let all = 0; all <= 9; all++)
      for (let allFailed = 0; allFailed <= all; allFailed++)
        for (let events = 0; events <= all; events++)
          for (
            let failed = Math.max(0, events + allFailed - all);
            failed <= Math.min(events, allFailed);
            failed++
          )
            expect([failed, events, allFailed, all, chance(failed, events, allFailed, all)]).toEqual([
              failed,
              events,
              allFailed,
              all,
              expect.closeTo(lnExactChance(failed, events, allFailed, all), 9),
            ]);
  });

  test.each([
    [3, 5, 20, 60],
    [12, 20, 24, 100],
    [30, 30, 40, 100],
    [25, 80, 40, 200],
    [1, 150, 1, 200],
  ])('is also that of many: %i of %i failed, %i of %i in all', (failed, events, allFailed, all) =>
    expect(chance(failed, events, allFailed, all)).toBeCloseTo(
      lnExactChance(failed, events, allFailed, all),
      9,
    ),
  );

  test('and a difference of ten points make a cause', () => {
    const cause = (failed: number, events: number, allFailed: number, all: number) =>
      isNamed({ events, failed }, { events: all, failed: allFailed });
    expect([cause(5, 5, 6, 20), cause(2, 2, 6, 20), cause(100, 1000, 100, 2000)]).toEqual([
      true,
      false,
      true,
    ]);
    // A little less than ten points, and more than a chance of one in a hundred.
    expect([cause(99, 1000, 99, 2000), cause(550, 1000, 1010, 2000), cause(3, 6, 3, 9)]).toEqual([
      false,
      false,
      false,
    ]);
    expect(without({ events: 12, failed: 5 }, { events: 4, failed: 3 })).toEqual({ events: 8, failed: 2 });
  });
});

test('the more candidates were compared, the less may chance explain one', () => {
  // Its probability is 6 in 15,504, and at most one in a hundred is accepted.
  const [inside, whole] = [
    { events: 5, failed: 5 },
    { events: 20, failed: 6 },
  ];
  expect([25, 26].map((count) => isNamed(inside, whole, Math.log(count)))).toEqual([true, false]);
});

test.each([
  [4, 4, 57, true],
  [4, 4, 58, false],
  [5, 5, 1000, true],
  [4, 4, 1000, false],
  [6, 20, 1000, true],
  [6, 21, 1000, false],
  [80, 1000, 1000, true],
])('%i failures of %i events, of %i in all, are worth naming: %s', (failed, events, all, expected) => {
  expect(isWorthNaming({ failed, events }, all)).toBe(expected);
});

test('a rate is 0 of no events, and counts delivered events by their weight', () => {
  expect(rateOf({ events: 0, failed: 0 })).toBe(0);
  expect(rateOf({ events: 4, failed: 1 })).toBe(0.25);
  expect(rateOf({ events: 4, failed: 1 }, 3)).toBe(0.1);
});

test('the ways to choose one, two or all but one of very many are exact', () => {
  for (const all of [10, 65_535, 65_536, 65_537, 1_000_000]) {
    expect([all, lnChoose(all, 1)]).toEqual([all, expect.closeTo(Math.log(all), 7)]);
    expect([all, lnChoose(all, 2)]).toEqual([all, expect.closeTo(Math.log((all * (all - 1)) / 2), 7)]);
    expect([all, lnChoose(all, all - 1)]).toEqual([all, expect.closeTo(Math.log(all), 7)]);
  }
});

test('what two rates gain is the logarithm of how likely they make what happened, for more events than were foretold too', () => {
  const ln = (failed: number, events: number) =>
    failed * Math.log(failed / events) + (events - failed) * Math.log(1 - failed / events);
  const whole = { events: 200, failed: 40 };
  for (const foretold of [200, 60, 10, 0]) {
    const likelihood = new Likelihood(foretold);
    expect(likelihood.gain(50, 30, whole)).toBeCloseTo(ln(30, 50) + ln(10, 150), 9);
    expect(likelihood.gain(50, 10, whole)).toBe(Number.NEGATIVE_INFINITY);
    expect(likelihood.gain(50, 11, whole)).toBeCloseTo(ln(11, 50) + ln(29, 150), 9);
  }
});
