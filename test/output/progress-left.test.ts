import { expect, test } from 'vitest';
import { progressText } from '../../src/output/progress.ts';

test.each([
  [0, '0 s'],
  [4.2, '5 s'],
  [59.5, '1 min 0 s'],
  [125, '2 min 5 s'],
  [4800, '1 h 20 min'],
])('tells that %d seconds are left', (secondsLeft, text) => {
  expect(progressText('exporting', { events: 1, total: 2, rate: 3, secondsLeft }, 1)).toBe(
    `exporting: 1 of 2 events (50%), 3/s, ${text} left`,
  );
});
