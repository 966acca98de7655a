import { describe, expect, test } from 'vitest';
import { levelOf, NO_HISTORY, type RowHistory, withOutcome } from '../../src/statistics/row-alarm.ts';

/** The history of events a second apart: `F` failed for a reason, `f` for none, and `S` was delivered. */
function historyOf(marks: string): RowHistory {
  return [...marks].reduce((history, mark, second) => {
    const error = mark === 'F' ? `reason ${second}` : null;
    return withOutcome(history, { at: 1000 * second, time: `t${second}`, hasFailed: mark !== 'S', error });
  }, NO_HISTORY);
}

describe('the history of a row', () => {
  test('has the open run, which one success does not end', () => {
    expect(historyOf('SFfSF')).toEqual({
      run: {
        ...{ since: 't1', sinceMs: 1000, failed: 3, events: 4 },
        ...{ firstSuccess: null, successes: 0, edge: false },
      },
      ended: null,
      last: 't4',
      lastMs: 4000,
      lastFailed: 't4',
      lastError: 'reason 4',
      lastSuccess: 't3',
      recent: 'FSFFS',
    });
    expect(historyOf('SFS').run).toMatchObject({ failed: 1, events: 2, firstSuccess: 't2', successes: 1 });
    expect(historyOf('F').run?.edge).toBe(true);
  });

  test('keeps the last run after its end, without the successes that ended it', () => {
    const ended = { until: 't4', failed: 2, events: 3 };
    expect(historyOf('SFSFSS')).toMatchObject({ run: null, ended });
    expect(historyOf('SFSFSSSS')).toMatchObject({ run: null, ended });
  });

  test('keeps the last reason when a failure has none, and ten events', () => {
    expect(historyOf('Ff').lastError).toBe('reason 0');
    expect(historyOf('FFSSSSSSSSSSF').recent).toBe('FSSSSSSSSS');
  });
});

test.each([
  ['FFF', 2000, 'failing'],
  ['FFF', 1999, 'fine'],
  ['FF', 2000, 'fine'],
])('%s after %i ms: %s', (marks, now, level) => {
  const circumstances = { endpoint: 'on', isSilent: false, now } as const;
  expect(levelOf(historyOf(marks), 'fine', circumstances, { failures: 3, lengthMs: 2000 })).toBe(level);
});
