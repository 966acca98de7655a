import { describe, expect, test } from 'vitest';
import { editJson, times } from '../support/sandbox.ts';
import { idsOf, startSearching } from '../support/searching.ts';

const lines = (...args: string[]) => ['--ndjson', ...args];

test('a FAILED event that turns SUCCESS hides no other', async () => {
  await using searching = await startSearching({ events: 1000 });
  const ids = idsOf((await searching.search(...lines('--failed'))).stdout);
  expect(ids.length).toBeGreaterThan(20);
  // One event that was already printed, and one that is still to come.
  const run = () => {
    for (const id of [ids[1], ids.at(-1)]) searching.control.setStatus(id as string, 'SUCCESS');
  };
  searching.control.fault('events', { kind: 'pass' }, { kind: 'pass' }, { kind: 'run', run });
  const { code, stdout, stderr } = await searching.search(...lines('--failed', '--page-size', '4'));
  expect(idsOf(stdout)).toEqual(ids.slice(0, -1));
  const [all, read, last] = [ids.length, ids.length - 1, ids.length - 2];
  expect(stderr).toBe(
    `error: the result is not complete: ${read} events were read, the service counts ${all} at first and ${last} at last\n` +
      'next: run it again; with --until in the past the result does not change\n',
  );
  expect(code).toBe(1);
});

describe('counts of which not all can be trusted', () => {
  test.each([[[]], [['--status', 'FAILED,SUCCESS']]])(
    'without a count, the command with %j says once what could not be checked',
    async (filters) => {
      await using searching = await startSearching({ events: 400 });
      searching.sandbox.control.behaviour.omit = ['count'];
      const { code, stderr } = await searching.search(...lines('--page-size', '10', ...filters));
      expect(stderr).toBe(
        'warning: the service does not count its events: whether these are all of them could not be checked\n',
      );
      expect(code).toBe(0);
    },
  );

  test('the count of a page is not mistaken for the count of the result, even on the last page', async () => {
    await using searching = await startSearching({ events: 57 });
    const fault = editJson((page) => ({ ...page, count: page.items.length }));
    searching.sandbox.control.fault('events', ...times(20, fault));
    const { code, stdout } = await searching.search(...lines('--page-size', '10'));
    expect(idsOf(stdout)).toEqual(searching.sandbox.control.store.newestIds(57));
    expect(code).toBe(0);
    // Six pages, and one request for events dated later than the service's clock.
    expect(searching.queries()).toHaveLength(7);
  });
});

describe('what the service leaves open', () => {
  test.each(['absolute', 'relative'] as const)(
    '%s links are followed if there is no count',
    async (links) => {
      await using searching = await startSearching({ events: 95 });
      const { control } = searching.sandbox;
      Object.assign(control.behaviour, { links, omit: ['count'] });
      const { code, stdout } = await searching.search(...lines('--page-size', '10'));
      expect(idsOf(stdout)).toEqual(control.store.newestIds(95));
      expect(code).toBe(0);
      const filters = searching.queries().map((query) => /^[a-z]+\(createdOn(?=,)|^limit/.exec(query)?.[0]);
      // The last request is for events dated later than the service's clock, which are not found otherwise
      // without a count.
      expect(filters).toEqual(['limit', ...Array(9).fill('lt(createdOn'), 'gt(createdOn']);
    },
  );

  test('links that lead in a circle end in an error', async () => {
    await using searching = await startSearching({ events: 95 });
    const circle = editJson(({ count: _, ...page }) => ({ ...page, next: page['first'] }));
    searching.sandbox.control.fault('events', ...times(20, circle));
    const { code, stderr } = await searching.search(...lines('--page-size', '10'));
    expect([code, stderr]).toEqual([1, expect.stringContaining('lead in a circle')]);
    expect(searching.queries().length).toBeLessThanOrEqual(2);
  });
});
