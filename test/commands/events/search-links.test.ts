import { describe, expect, test } from 'vitest';
import { idsOf, startSearching } from '../../support/searching.ts';

const lines = (...args: string[]) => ['--ndjson', ...args];

describe('what the service leaves open', () => {
  test.each(['absolute', 'relative', 'query-only'] as const)(
    '%s links are followed if there is no count',
    async (links) => {
      await using searching = await startSearching({ events: 95 });
      const { control } = searching.sandbox;
      Object.assign(control.behaviour, { links, omit: ['count'] });
      const { code, stdout } = await searching.search(...lines('--page-size', '10'));
      expect(idsOf(stdout)).toEqual(control.store.newestIds(95));
      expect(code).toBe(0);
      const filters = searching.queries().map((query) => /^[a-z]+\(createdOn(?=,)|^limit/.exec(query)?.[0]);
      // The last request is for events dated later than the service's clock, which are not found otherwise without a
      // count.
      expect(filters).toEqual(['limit', ...Array(9).fill('lt(createdOn'), 'gt(createdOn']);
    },
  );

  test('links are followed if pages are smaller than requested', async () => {
    await using searching = await startSearching({ events: 95 });
    const { control } = searching.sandbox;
    control.behaviour.maxPageSize = 7;
    const { code, stdout } = await searching.search(...lines('--page-size', '10'));
    expect(idsOf(stdout)).toEqual(control.store.newestIds(95));
    expect(code).toBe(0);
  });

  test.each([[['next', 'previous', 'first', 'count']], [['next']], [['href', 'limit', 'count']]] as const)(
    'answers without %j are read to the end',
    async (omit) => {
      await using searching = await startSearching({ events: 95 });
      const { control } = searching.sandbox;
      control.behaviour.omit = omit;
      const { code, stdout } = await searching.search(...lines('--page-size', '10'));
      expect(idsOf(stdout)).toEqual(control.store.newestIds(95));
      expect(code).toBe(0);
    },
  );

  test.each([
    ['other-origin', 'leads away from'],
    ['user-info', 'holds a user name or password'],
    ['loop', 'lead in a circle'],
    ['same-page', 'lead in a circle'],
  ] as const)('a link of the kind %s ends in an error before it is followed', async (links, message) => {
    await using searching = await startSearching({ events: 95 });
    searching.sandbox.control.behaviour.links = links;
    const counted = await searching.search(...lines('--page-size', '10'));
    expect(counted.stderr).toContain(message);
    expect(counted.code).toBe(1);
  });

  test.each([
    ['other-origin', 'leads away from'],
    ['user-info', 'holds a user name or password'],
    ['loop', 'lead in a circle'],
    ['same-page', 'lead in a circle'],
  ] as const)('without a count, a link of the kind %s does too', async (links, message) => {
    await using searching = await startSearching({ events: 95 });
    Object.assign(searching.sandbox.control.behaviour, { links, omit: ['count'] });
    const { code, stderr } = await searching.search(...lines('--page-size', '10'));
    expect(stderr).toContain(message);
    expect(code).toBe(1);
    expect(searching.queries().length).toBeLessThanOrEqual(2);
  });
});
