import { describe, expect, test } from 'vitest';
import { editJson } from '../support/sandbox.ts';
import { type Searching, startSearching } from '../support/searching.ts';

const count = (searching: Pick<Searching, 'run'>, ...args: string[]) =>
  searching.run(['events', 'count', ...args]);

describe('events count', () => {
  test("requests one item and prints the service's count", async () => {
    await using searching = await startSearching({ events: 1234 });
    expect(await count(searching)).toEqual({ code: 0, stdout: '1234\n', stderr: '' });
    expect(searching.queries()).toEqual(['limit(1,1)']);
  });

  test('accepts the filters and adds up the combinations of repeated ones', async () => {
    await using searching = await startSearching({ events: 1000 });
    const types = ['document.signed', 'document.viewed'];
    const failed = await count(searching, '--failed', '--type', types[0] as string);
    const all = await count(searching, ...types.flatMap((type) => ['--type', type]), '--since', '7d');
    const each = await Promise.all(types.map((type) => count(searching, '--type', type, '--since', '7d')));
    expect(Number(all.stdout)).toBe(Number(each[0]?.stdout) + Number(each[1]?.stdout));
    expect(searching.queries()[0]).toBe('eq(publishStatus,FAILED)&eq(eventType,document.signed)&limit(1,1)');
    expect(Number(failed.stdout)).toBeLessThan(Number(each[0]?.stdout));
  });

  test('a GUID given twice in different case counts once', async () => {
    await using searching = await startSearching({ events: 20 });
    const { eventId } = searching.sandbox.control.addEvent();
    const { stdout } = await count(searching, '--id', eventId, '--id', eventId.toUpperCase());
    expect(stdout).toBe('1\n');
  });

  test.each([3_600_000, -3_600_000])(
    "finds what failed though this machine's clock differs from the service's by %i ms",
    async (offset) => {
      await using searching = await startSearching({ events: 20 });
      // The clocks of the service and of this machine are wrong by the same amount, and so are the events'
      // times.
      searching.control.behaviour.clockOffsetMs = -offset;
      searching.control.addEvent({ publishStatus: 'FAILED', eventType: 'a.b' });
      const filters = ['--failed', '--type', 'a.b', '--since', '1m'];
      const { code, stdout, stderr } = await count(searching, ...filters, '--exit-code');
      expect({ code, stdout }).toEqual({ code: 10, stdout: '1\n' });
      expect(stderr).toMatch(
        /^warning: this machine's clock is 3[56]\d\d s (ahead of|behind) the service's: times are counted from the service's\n$/,
      );
    },
  );

  test('--json and --jq', async () => {
    await using searching = await startSearching({ events: 7 });
    expect((await count(searching, '--json')).stdout).toBe('{"count":7}\n');
    expect((await count(searching, '-o', 'json')).stdout).toBe('{"count":7}\n');
    expect((await count(searching, '--jq', '.count * 2')).stdout).toBe('14\n');
  });

  test('--exit-code exits with 10 if something matches', async () => {
    await using searching = await startSearching({ events: 5 });
    expect(await count(searching, '--exit-code')).toMatchObject({ code: 10, stdout: '5\n' });
    expect(await count(searching, '--exit-code', '--type', 'no.such')).toMatchObject({
      code: 0,
      stdout: '0\n',
    });
    expect((await count(searching)).code).toBe(0);
  });

  test.each([
    ['no count', { omit: ['count'] }, 'limit(1,500)'],
    ['no count and no links', { omit: ['count', 'next', 'previous', 'first'] }, 'limit(501,500)'],
  ] as const)('with %s the events are read and counted', async (_name, behaviour, asked) => {
    await using searching = await startSearching({ events: 1100 });
    Object.assign(searching.sandbox.control.behaviour, behaviour);
    const { code, stdout, stderr } = await count(searching);
    expect({ code, stdout }).toEqual({ code: 0, stdout: '1100\n' });
    expect(stderr).toBe('the service gives no count: reading every match to count it\n');
    expect(searching.queries().some((query) => query.endsWith(asked))).toBe(true);
    expect((await count(searching, '--quiet')).stderr).toBe('');
  });

  test("a count that is only the page's size is not trusted", async () => {
    await using searching = await startSearching({ events: 30 });
    searching.sandbox.control.fault(
      'events',
      editJson((page) => ({ ...page, count: 1 })),
    );
    expect((await count(searching)).stdout).toBe('30\n');
  });

  test('--dry-run and --curl send nothing', async () => {
    await using searching = await startSearching({ events: 1 });
    const { baseUrl } = searching.sandbox.settings;
    const dry = await count(searching, '--failed', '--dry-run');
    expect(dry.stdout).toBe(`${baseUrl}/integrator-events?eq(publishStatus,FAILED)&limit(1,1)\n`);
    expect((await count(searching, '--curl')).stdout).toContain('curl --globoff');
    expect(searching.queries()).toEqual([]);
  });
});
