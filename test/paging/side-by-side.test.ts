import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { sideBySide } from '../../src/paging/side-by-side.ts';

const forever = new AbortController().signal;

/** Work that ends when it is told to. */
function createWork() {
  const begun: string[] = [];
  const ends = new Map<string, { end: () => void; fail: (error: Error) => void; signal: AbortSignal }>();
  const work = async (job: string, signal: AbortSignal) => {
    begun.push(job);
    await new Promise<void>((end, fail) => {
      ends.set(job, { end, fail, signal });
    });
  };
  const endOf = (job: string) => ends.get(job) as NonNullable<ReturnType<typeof ends.get>>;
  return { begun, work, endOf };
}

test('work begins in order, as many at once as the width says when one ends', async () => {
  const { begun, work, endOf } = createWork();
  let width = 2;
  const done = sideBySide(['a', 'b', 'c', 'd', 'e'], work, () => width, forever);
  await turn();
  expect(begun).toEqual(['a', 'b']);
  endOf('b').end();
  await turn();
  expect(begun).toEqual(['a', 'b', 'c']);
  width = 1;
  endOf('a').end();
  await turn();
  expect(begun).toEqual(['a', 'b', 'c']);
  width = 3;
  endOf('c').end();
  await turn();
  expect(begun).toEqual(['a', 'b', 'c', 'd', 'e']);
  endOf('d').end();
  endOf('e').end();
  expect(await done).toBeUndefined();
});

test('a failure aborts the rest, waits for it, begins nothing more, and is what is thrown', async () => {
  const { begun, work, endOf } = createWork();
  let isOver = false;
  const done = sideBySide(['a', 'b', 'c'], work, () => 2, forever).finally(() => {
    isOver = true;
  });
  done.catch(() => undefined);
  await turn();
  expect(endOf('a').signal.aborted).toBe(false);
  endOf('b').fail(new Error('of b'));
  await turn();
  expect([begun, endOf('a').signal.aborted, isOver]).toEqual([['a', 'b'], true, false]);
  endOf('a').fail(new Error('of a, since it was aborted'));
  await expect(done).rejects.toThrow('of b');
  expect(begun).toEqual(['a', 'b']);
});

test('an interrupt reaches all that runs', async () => {
  const interrupt = new AbortController();
  const { work, endOf } = createWork();
  const done = sideBySide(['a', 'b'], work, () => 2, interrupt.signal);
  await turn();
  interrupt.abort(new Error('interrupted'));
  for (const job of ['a', 'b']) endOf(job).fail(endOf(job).signal.reason);
  await expect(done).rejects.toThrow('interrupted');
});
