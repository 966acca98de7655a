/** By `publishStatus`: true if the delivery failed (service description, part 3). */
export const OUTCOMES: ReadonlyMap<string, boolean> = new Map([
  ['FAILED', true],
  ['SUCCESS', false],
]);
