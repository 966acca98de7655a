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
  expect(progressText('searching', { events: 1, total: 1 }, 1)).toBe('searching: 1 of 1 event (100%), 1/s');
  expect(progressText('searching', { events: 1 }, 60)).toBe('searching: 1 event');
  expect(progressText('searching', { events: 0, total: 0 }, 1)).toBe('searching: 0 of 0 events');
});

test.each([
  [0, '0 s'],
  [4.2, '5 s'],
  [59.5, '1 min 0 s'],
  [125, '2 min 5 s'],
  [4800, '1 h 20 min'],
])('shows that %d seconds are left', (secondsLeft, text) => {
  const state = { events: 50, total: 50 + 10 * secondsLeft, readBefore: 20 };
  expect(progressText('exporting', state, 3)).toMatch(
    new RegExp(`^exporting: 50 of .*, 10/s, ${text} left$`),
  );
});

test('shows no time left while nothing was read in this run, or without a total', () => {
  expect(progressText('exporting', { events: 20, total: 40, readBefore: 20 }, 3)).toBe(
    'exporting: 20 of 40 events (50%)',
  );
  expect(progressText('exporting', { events: 50, readBefore: 20 }, 3)).toBe('exporting: 50 events, 10/s');
});
