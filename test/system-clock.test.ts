import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { systemClock } from '../src/system.ts';

test('a sleep longer than a timer of Node can wait does not end at once', async () => {
  const warnings: string[] = [];
  const note = ({ name }: Error) => void warnings.push(name);
  process.on('warning', note);
  try {
    const over = new AbortController();
    const sleeping = systemClock.sleep(2 ** 31, over.signal);
    // Node says so when it takes a delay for one of a millisecond.
    await turn();
    over.abort(new Error('over'));
    await expect(sleeping).rejects.toThrow('over');
    expect(warnings).toEqual([]);
  } finally {
    process.off('warning', note);
  }
});
