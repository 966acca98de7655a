import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createHome } from '../support/home.ts';
import { hooktrail } from '../support/program.ts';
import { idsOf, type Searching, startSearching } from '../support/searching.ts';

const GUID = '0f8fad5b-d9cb-469f-a165-70867728950e';
const OTHER = '7c9e6679-7425-40de-944b-e07fc1f90ae7';

describe('the filters of events search', () => {
  let searching: Searching;
  let asked = 0;
  beforeAll(async () => {
    searching = await startSearching({ events: 50 });
  });
  beforeEach(() => {
    asked = searching.queries().length;
  });
  afterAll(() => searching[Symbol.asyncDispose]());

  test.each([
    [[], ['limit(1,500)']],
    [['--after', '2026-11-01T00:00:00Z'], ['gt(createdOn,2026-11-01T00:00:00Z)&limit(1,500)']],
    [['--since', '2026-11-01'], ['gt(createdOn,2026-11-01)&limit(1,500)']],
    [['--before', '2026-11-01T10:00:00.5+02:00'], ['lt(createdOn,2026-11-01T08:00:00.5Z)&limit(1,500)']],
    [['--until', '2026-11-01T10:00'], ['lt(createdOn,2026-11-01T10:00Z)&limit(1,500)']],
    [['--subscription', GUID], [`eq(subscriptionId,${GUID})&limit(1,500)`]],
    [['--id', GUID.toUpperCase()], [`eq(eventId,${GUID.toUpperCase()})&limit(1,500)`]],
    [['--status', 'failed'], ['eq(publishStatus,FAILED)&limit(1,500)']],
    [['--failed', '--status', 'FAILED'], ['eq(publishStatus,FAILED)&limit(1,500)']],
    [['--type', 'a b)&é'], ['eq(eventType,a%20b%29%26%C3%A9)&limit(1,500)']],
    [['--limit', '7'], ['limit(1,7)']],
    [
      ['-n', '7', '--page-size', '3'],
      ['limit(1,3)', 'limit(4,3)', 'limit(7,3)'],
    ],
    [
      ['--type', 'b', '--status', 'SUCCESS', '--type', 'a', '--failed'],
      [
        'eq(publishStatus,SUCCESS)&eq(eventType,b)&limit(1,500)',
        'eq(publishStatus,SUCCESS)&eq(eventType,a)&limit(1,500)',
        'eq(publishStatus,FAILED)&eq(eventType,b)&limit(1,500)',
        'eq(publishStatus,FAILED)&eq(eventType,a)&limit(1,500)',
      ],
    ],
    [
      [
        ...'--failed --type a.b --id'.split(' '),
        OTHER,
        '--subscription',
        GUID,
        ...'--before 2026-11-02 --after 2026-11-01'.split(' '),
      ],
      [
        `gt(createdOn,2026-11-01)&lt(createdOn,2026-11-02)&eq(subscriptionId,${GUID})&eq(eventId,${OTHER})` +
          '&eq(publishStatus,FAILED)&eq(eventType,a.b)&limit(1,500)',
      ],
    ],
  ])('%j asks for exactly %j', async (args, queries) => {
    const { code, stderr } = await searching.search(...args, '--json', '--concurrency', '1');
    // Nothing matches, and the service does not list some of these types.
    expect(stderr.replaceAll(/^warning: '.*' is not among the event types on offer; .*\n/gm, '')).toBe('');
    expect(code).toBe(0);
    // Another test covers the bound on pages after the first.
    const withoutPin = searching
      .queries()
      .slice(asked)
      .map((query) => query.replace(/^lt\(createdOn,[^)]*Z\)&(?=limit\([^1])/, ''));
    expect(withoutPin).toEqual(queries);
  });

  test('matching events are printed, in the order of the service', async () => {
    const all = await searching.search('--ndjson');
    const failed = await searching.search('--failed', '--ndjson');
    const expected = all.stdout.split('\n').filter((line) => line.includes('"publishStatus":"FAILED"'));
    expect(expected.length).toBeGreaterThan(0);
    expect(failed.stdout).toBe(`${expected.join('\n')}\n`);
    expect(idsOf(all.stdout)).toEqual(searching.sandbox.control.store.newestIds(50));
  });

  test('requests have the token and the media type of the vendor, and go to the base URL', async () => {
    await searching.search('--limit', '1');
    const request = searching.sandbox.log.at(-1);
    expect(request?.headers).toMatchObject({
      authorization: `Bearer ${searching.env['HOOKTRAIL_ACCESS_TOKEN']}`,
      accept: 'application/vnd.sandbox.v1+json',
    });
    expect(request?.url).toBe('/events/v1/integrator-events?limit(1,1)');
  });
});

describe('events search with several values of a filter', () => {
  const lines = (...args: string[]) => ['--ndjson', ...args];

  test.each(['newest-first', 'oldest-first'] as const)(
    'lists the events of all in order of time, and counts --limit over all, %s',
    async (order) => {
      await using at = await startSearching({ events: 1200 });
      at.sandbox.control.behaviour.order = order;
      const all = (await at.search(...lines())).stdout;
      const both = (await at.search(...lines('--status', 'FAILED,SUCCESS', '--page-size', '50'))).stdout;
      expect(idsOf(both).toSorted()).toEqual(idsOf(all).toSorted());
      // Nobody knows how the service orders events of one moment.
      const times = (text: string) => text.match(/"createdOn":"[^"]*"/g);
      expect(times(both)).toEqual(times(all));
      const four = await at.search(...lines('--status', 'SUCCESS', '--failed', '-n', '4'));
      expect(idsOf(four.stdout)).toEqual(idsOf(all).slice(0, 4));
      expect(four.stderr).toBe('');
    },
  );

  test.each([
    [['--since', '15m'], 'searched events created after 2026-11-20T11:45:00Z\n'],
    [
      ['--since', 'yesterday 8am', '--until', '2026-11-20'],
      'searched events created after 2026-11-19T08:00:00Z and before 2026-11-20\n',
    ],
    [['--since', '2026-11-20'], 'searched events created after 2026-11-20\n'],
  ])('says which time range %j was, on a terminal', async (args, said) => {
    await using at = await startSearching({ events: 5 });
    const env = { ...at.env, NO_COLOR: '1' };
    const { stderr } = await hooktrail(['events', 'search', ...args], { env, terminal: 200 });
    expect(
      stderr.replaceAll(/^(no events match|1 event|next: .*)\n|, at 127\S+ \(profile 'default'\)/gm, ''),
    ).toBe(said);
  });

  test('warns about a field that no event has', async () => {
    await using at = await startSearching({ events: 5 });
    const { code, stderr } = await at.search(...lines('--fields', 'eventId,evntType,payload.nope'));
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr:
        "warning: --fields: no event has the field 'evntType'; did you mean eventType?\n" +
        "warning: --fields: no event has the field 'payload.nope'\n",
    });
  });
});

describe('printing requests instead of sending them', () => {
  test('--dry-run prints the request URLs and needs no sign-in', async () => {
    await using home = await createHome();
    const args = '--base-url https://events.example.com/api/ --failed --type a --type b --dry-run'.split(' ');
    expect(await hooktrail(['events', 'search', ...args], { env: home.env })).toEqual({
      code: 0,
      stdout:
        'https://events.example.com/api/integrator-events?eq(publishStatus,FAILED)&eq(eventType,a)&limit(1,500)\n' +
        'https://events.example.com/api/integrator-events?eq(publishStatus,FAILED)&eq(eventType,b)&limit(1,500)\n',
      stderr: '',
    });
  });

  test('with --grep or --where the request is the one that is sent, and a warning says that it leaves them out', async () => {
    await using searching = await startSearching({ events: 3 });
    for (const args of [
      ['search', '--grep', 'a', '--limit', '2'],
      ['count', '--where', 'eventId'],
    ]) {
      const { stdout, stderr } = await searching.run(['events', ...args, '--dry-run']);
      expect(stderr).toBe(
        'warning: the requests leave out --where, --grep and --marketplace: hooktrail applies them\n',
      );
      const sent = await searching.run(['events', ...args, '--verbose']);
      expect(sent.stderr).toContain(`GET ${stdout.trimEnd()} 200 `);
    }
  });

  test('--curl prints a command in which the shell gets the token', async () => {
    await using home = await createHome();
    const args = ['--base-url', 'https://events.example.com', '--vendor', 'acme', '--limit', '5', '--curl'];
    expect((await hooktrail(['events', 'search', ...args], { env: home.env })).stdout).toBe(
      'curl --globoff --silent --show-error --fail-with-body' +
        " --header 'Accept: application/vnd.acme.v1+json'" +
        ' --header "Authorization: Bearer $(hooktrail token)"' +
        " 'https://events.example.com/integrator-events?limit(1,5)'\n",
    );
  });
});
