import { describe, expect, test } from 'vitest';
import { startHooktrail } from '../../support/program.ts';
import { idsOf, startSearching } from '../../support/searching.ts';

const lines = (...args: string[]) => ['--ndjson', ...args];

describe('a search of many pages', () => {
  test.each([1, 4, 16])('prints every event once, in order, with --concurrency %i', async (concurrency) => {
    await using searching = await startSearching({ events: 1234 });
    const { code, stdout, stderr } = await searching.search(
      ...lines('--page-size', '50', '--concurrency', `${concurrency}`),
    );
    expect(stderr).toBe('');
    expect(idsOf(stdout)).toEqual(searching.sandbox.control.store.newestIds(1234));
    expect(code).toBe(0);
    expect(searching.queries()).toHaveLength(25);
  });

  test('passes through every byte of every item, also of pretty-printed pages', async () => {
    await using searching = await startSearching({ events: 120 });
    const json =
      '{"eventId":"0f8fad5b-d9cb-469f-a165-70867728950e","n":9007199254740993,"d":1.10,"e":1e400,"b":1,"b":2,"s":"\\u00e9 \\/"}';
    searching.sandbox.control.addEvent({ eventId: '0f8fad5b-d9cb-469f-a165-70867728950e', json });
    const compact = await searching.search(...lines('--page-size', '50'));
    expect(compact.stdout.split('\n')[0]).toBe(json);
    searching.sandbox.control.behaviour.pretty = true;
    const pretty = await searching.search(...lines('--page-size', '50'));
    expect(pretty.stdout).toBe(compact.stdout);
    const array = await searching.search('--json');
    expect(array.stdout).toBe(`[\n${compact.stdout.trimEnd().split('\n').join(',\n')}\n]\n`);
  });

  test('holds each page until it is printed, although pages use the memory of those before', async () => {
    await using searching = await startSearching({ events: 3000 });
    const expected = searching.sandbox.control.store.newestIds(3000);
    const printed = async (...args: string[]) => {
      const { code, stdout } = await searching.search('--page-size', '50', '--concurrency', '16', ...args);
      expect(code).toBe(0);
      return stdout;
    };
    const items = (await printed('--ndjson')).trimEnd().split('\n');
    expect(items.map((item) => JSON.parse(item).eventId)).toEqual(expected);
    expect(await printed('--json')).toBe(`[\n${items.join(',\n')}\n]\n`);
    const ids = await printed('--jq', '.[].eventId');
    expect(ids.trimEnd().split('\n')).toEqual(expected);
    const rows = (await printed('--csv', '--fields', 'eventId')).trimEnd().split('\r\n');
    expect(rows.slice(1)).toEqual(expected);
  });

  test('--limit keeps the page size and cuts the last page', async () => {
    await using searching = await startSearching();
    const { stdout } = await searching.search(...lines('--limit', '7', '--page-size', '3'));
    expect(idsOf(stdout)).toEqual(searching.sandbox.control.store.newestIds(7));
    expect(
      searching
        .queries()
        .map((query) => query.match(/limit.*/)?.[0])
        .sort(),
    ).toEqual(['limit(1,3)', 'limit(4,3)', 'limit(7,3)']);
  });

  test('pages after the first are limited to the second after the first answer, unless --before is given', async () => {
    await using searching = await startSearching({ events: 30 });
    await searching.search(...lines('--page-size', '10'));
    const [first, ...rest] = searching.queries();
    expect(first).toBe('limit(1,10)');
    expect(rest).toHaveLength(2);
    const answered = searching.sandbox.log.find(({ url }) => url.includes('limit(1,10)'))?.at as number;
    for (const query of rest) {
      const pin = Date.parse(query.match(/^lt\(createdOn,([^)]*Z)\)&limit\(/)?.[1] ?? '');
      expect(pin % 1000).toBe(0);
      expect(pin).toBeGreaterThan(answered);
      expect(pin).toBeLessThanOrEqual(answered + 2000);
    }
    await searching.search(...lines('--page-size', '10', '--before', '2100-01-01'));
    expect(searching.queries().slice(3)).toEqual([
      'lt(createdOn,2100-01-01)&limit(1,10)',
      'lt(createdOn,2100-01-01)&limit(11,10)',
      'lt(createdOn,2100-01-01)&limit(21,10)',
    ]);
  });

  test('a reader that leaves early is not a failure', async () => {
    await using searching = await startSearching({ events: 20_000 });
    const program = startHooktrail(['events', 'search', '--ndjson', '--page-size', '10'], {
      env: searching.env,
    });
    await program.printed('stdout', /\n/);
    program.closeStdout();
    expect((await program.finished).code).toBe(0);
    expect(searching.queries().length).toBeLessThan(2000);
  });

  test('a signal ends it with 130 or 143', async () => {
    await using searching = await startSearching({ events: 5000, latencyMs: 100 });
    for (const [signal, code] of [
      ['SIGINT', 130],
      ['SIGTERM', 143],
    ] as const) {
      const program = startHooktrail(['events', 'search', '--ndjson', '--page-size', '10'], {
        env: searching.env,
      });
      await program.printed('stdout', /\n/);
      program.kill(signal);
      expect((await program.finished).code).toBe(code);
    }
  });
});

describe('the exit code', () => {
  test('with --exit-code is 10 if anything matches, and 0 otherwise', async () => {
    await using searching = await startSearching({ events: 200 });
    expect((await searching.search('--failed', '--exit-code')).code).toBe(10);
    const none = await searching.search('--type', 'no.such.type', '--exit-code', '--json');
    expect(none).toMatchObject({ code: 0, stdout: '[]\n' });
  });
});
