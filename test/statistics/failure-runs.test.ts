import fc from 'fast-check';
import { expect, test } from 'vitest';
import { firstRun, largestOutage, latestOutage, latestRun } from '../../src/statistics/failure-runs.ts';

const failed = (events: string) => (index: number) => events[index] === 'F';
const runOf = (events: string) => latestRun(events.length, failed(events));

test.each([
  ['', undefined],
  ['SSS', undefined],
  ['F', { start: 0, isAtEdge: true, lastFailed: 0, end: undefined, failures: 1 }],
  ['SSF', { start: 2, isAtEdge: false, lastFailed: 2, end: undefined, failures: 1 }],
  // A delivery came first: the run did not begin at the edge.
  ['SF', { start: 1, isAtEdge: false, lastFailed: 1, end: undefined, failures: 1 }],
  // One lucky delivery does not end a run, and does not begin another.
  ['SSFFSFF', { start: 2, isAtEdge: false, lastFailed: 6, end: undefined, failures: 4 }],
  ['SSFFS', { start: 2, isAtEdge: false, lastFailed: 3, end: undefined, failures: 2 }],
  ['SSFFSS', { start: 2, isAtEdge: false, lastFailed: 3, end: 4, failures: 2 }],
  ['FFSSF', { start: 4, isAtEdge: false, lastFailed: 4, end: undefined, failures: 1 }],
  ['FFSSSFS', { start: 5, isAtEdge: false, lastFailed: 5, end: undefined, failures: 1 }],
])('the latest run of %j is %j', (events, run) => expect(runOf(events)).toEqual(run));

test('the first run is the earliest of several', () => {
  const events = 'SFSSFF';
  expect(firstRun(events.length, failed(events))).toMatchObject({ start: 1, end: 2, failures: 1 });
  expect(firstRun(2, failed('SS'))).toBeUndefined();
});

test('a run goes on exactly while the last two events are not both successes, once any has failed', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[FS]{0,12}$/), (events) => {
      const run = runOf(events);
      expect(run === undefined).toBe(!events.includes('F'));
      if (!run) return;
      expect(events[run.start]).toBe('F');
      expect(run.end === undefined).toBe(!/SS/.test(events.slice(run.start)));
      expect(run.isAtEdge).toBe(run.start === 0);
      if (run.start >= 2) expect(events.slice(run.start - 2, run.start)).toBe('SS');
    }),
  );
});

const largestOf = (events: string) => largestOutage(events.length, failed(events));

test.each([
  ['', undefined],
  ['SSS', undefined],
  // One failed event is one event.
  ['F', undefined],
  ['SSFSSFSS', undefined],
  ['SSFFSFSSF', { start: 2, isAtEdge: false, lastFailed: 5, end: 6, failures: 3 }],
  // Of equal ones the latest.
  ['SSFFSSFFSS', { start: 6, isAtEdge: false, lastFailed: 7, end: 8, failures: 2 }],
  ['FFSSFS', { start: 0, isAtEdge: true, lastFailed: 1, end: 2, failures: 2 }],
  ['SSFSSFF', { start: 5, isAtEdge: false, lastFailed: 6, end: undefined, failures: 2 }],
])('the largest outage of %j is %j', (events, run) => expect(largestOf(events)).toEqual(run));

test.each([
  ['FFSSF', 0],
  ['SSFFSSFFSSFSS', 6],
  ['SSFSFSS', 2],
  ['SSFSSF', undefined],
])('the latest outage of %j starts at %j', (events, start) =>
  expect(latestOutage(events.length, failed(events))?.start).toBe(start),
);

test('the largest outage is the part without two successes side by side that has most failures', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[FS]{0,16}$/), (events) => {
      const failures = events.split(/SS+/).map((part) => part.replaceAll('S', '').length);
      const most = Math.max(...failures);
      expect(largestOf(events)?.failures ?? 0).toBe(most < 2 ? 0 : most);
    }),
  );
});
