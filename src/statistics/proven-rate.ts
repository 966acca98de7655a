const Z_95 = 1.96;

/**
 * The least rate of failure that the numbers prove with 95 % confidence: Wilson's lower bound with continuity
 * correction (Newcombe, Statistics in Medicine 17, 1998, method 4). 1 of 1 is at least 5 %, 40 of 50 are at
 * least 66 %.
 */
export function provenRate(failed: number, events: number): number {
  if (failed === 0) return 0;
  const rate = failed / events;
  const z2 = Z_95 ** 2;
  const spread = Z_95 * Math.sqrt(z2 - 2 - 1 / events + 4 * rate * (events * (1 - rate) + 1));
  return Math.max(0, (2 * failed + z2 - 1 - spread) / (2 * (events + z2)));
}
