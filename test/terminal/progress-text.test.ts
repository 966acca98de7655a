import { expect, test } from 'vitest';
import { progressText } from '../../src/terminal/progress.ts';

test('shows pages, events, total and rate', () => {
  expect(progressText('searching', {}, 0)).toBe('searching');
  expect(progressText('searching', { pages: 1, events: 500 }, 0.5)).toBe(
    'searching: 1 page, 500 events, 1,000/s',
  );
  expect(progressText('searching', { pages: 12, events: 6000, total: 200_000, note: 'waiting' }, 2)).toBe(
    'searching: 12 pages, 6,000 of 200,000 events (3%), 3,000/s; waiting',
  );
  expect(progressText('searching', { events: 0, total: 0, rate: 7 }, 1)).toBe(
    'searching: 0 of 0 events, 7/s',
  );
});

test.each([
  [0, '0 s'],
  [4.2, '5 s'],
  [59.5, '1 min 0 s'],
  [125, '2 min 5 s'],
  [4800, '1 h 20 min'],
])('shows that %d seconds are left', (secondsLeft, text) => {
  expect(progressText('exporting', { events: 1, total: 2, rate: 3, secondsLeft }, 1)).toBe(
    `exporting: 1 of 2 events (50%), 3/s, ${text} left`,
  );
});
