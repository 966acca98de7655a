import fc from 'fast-check';
import { expect, test } from 'vitest';
import { largestRun, latestRun } from '../../src/outcomes/failure-runs.ts';

const runOf = (events: string) => latestRun(events.length, (index) => events[index] === 'F');

test.each([
  ['', undefined],
  ['SSS', undefined],
  ['F', { start: 0, isAtEdge: true, isOpen: true }],
  ['SSF', { start: 2, isAtEdge: false, isOpen: true }],
  ['SF', { start: 1, isAtEdge: true, isOpen: true }],
  // One lucky delivery does not end a run, and does not begin another.
  ['SSFFSFF', { start: 2, isAtEdge: false, isOpen: true }],
  ['SSFFS', { start: 2, isAtEdge: false, isOpen: true }],
  ['SSFFSS', { start: 2, isAtEdge: false, isOpen: false }],
  ['FFSSF', { start: 4, isAtEdge: false, isOpen: true }],
  ['FFSSSFS', { start: 5, isAtEdge: false, isOpen: true }],
])('the latest run of %j is %j', (events, run) => expect(runOf(events)).toEqual(run));

test('a run goes on exactly while the last two events are not both successes, once any has failed', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[FS]{0,12}$/), (events) => {
      const run = runOf(events);
      expect(run === undefined).toBe(!events.includes('F'));
      if (!run) return;
      expect(events[run.start]).toBe('F');
      expect(run.isOpen).toBe(!/SS/.test(events.slice(run.start)));
      expect(run.isAtEdge).toBe(run.start < 2);
      if (run.start >= 2) expect(events.slice(run.start - 2, run.start)).toBe('SS');
    }),
  );
});

const largestOf = (events: string) => largestRun(events.length, (index) => events[index] === 'F');

test.each([
  ['', undefined],
  ['SSS', undefined],
  ['F', { start: 0, isAtEdge: true, lastFailed: 0, end: undefined, failures: 1 }],
  ['SSFFSFSSF', { start: 2, isAtEdge: false, lastFailed: 5, end: 6, failures: 3 }],
  // Of equal runs the latest.
  ['SSFSSFSS', { start: 5, isAtEdge: false, lastFailed: 5, end: 6, failures: 1 }],
  ['FFSSFS', { start: 0, isAtEdge: true, lastFailed: 1, end: 2, failures: 2 }],
  ['SSFSSFF', { start: 5, isAtEdge: false, lastFailed: 6, end: undefined, failures: 2 }],
])('the largest run of %j is %j', (events, run) => expect(largestOf(events)).toEqual(run));

test('the largest run is the part without two successes side by side that has most failures', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[FS]{0,16}$/), (events) => {
      const failures = events.split(/SS+/).map((part) => part.replaceAll('S', '').length);
      const most = Math.max(...failures);
      expect(largestOf(events)?.failures ?? 0).toBe(most);
      if (failures.lastIndexOf(most) === failures.findLastIndex((count) => count > 0))
        expect(largestOf(events)?.start).toBe(
          latestRun(events.length, (index) => events[index] === 'F')?.start,
        );
    }),
  );
});
