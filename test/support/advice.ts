import { expect } from 'vitest';

/** Matches the `next` of an error that reads so, in a run without flags. */
export function advising(text: string): unknown {
  return expect.toSatisfy((next) => String(next) === text, text);
}
