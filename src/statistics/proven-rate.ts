const Z_95 = 1.96;

/**
 * The lower bound of the failure rate at 95 % confidence: Wilson's interval with continuity correction
 * (Newcombe, Statistics in Medicine 17, 1998, method 4). At least 5 % for 1 of 1, 66 % for 40 of 50.
 */
export function provenRate(failed: number, events: number): number {
  if (failed === 0) return 0;
  const rate = failed / events;
  const z2 = Z_95 ** 2;
  const spread = Z_95 * Math.sqrt(z2 - 2 - 1 / events + 4 * rate * (events * (1 - rate) + 1));
  return Math.max(0, (2 * failed + z2 - 1 - spread) / (2 * (events + z2)));
}
