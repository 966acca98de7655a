import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createHome } from '../../support/home.ts';
import { hooktrail } from '../../support/program.ts';
import { idsOf, type Searching, startSearching } from '../../support/searching.ts';

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
        '--failed',
        '--type',
        'a.b',
        '--id',
        OTHER,
        '--subscription',
        GUID,
        '--before',
        '2026-11-02',
        '--after',
        '2026-11-01',
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
    const { stderr } = await hooktrail(['events', 'search', ...args], {
      env,
      terminal: 80,
    });
    expect(stderr.replaceAll(/^(no events match|next: .*)\n|, at 127\S+ \(profile 'default'\)/gm, '')).toBe(
      said,
    );
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

describe('wrong values of events search', () => {
  test.each([
    [['--after', 'soon'], "--after: invalid value 'soon': must be a time"],
    [['--since', '2026-02-30'], "--since: invalid value '2026-02-30': must be a time"],
    [['--before', '2026-11-01T25:00:00Z'], "--before: invalid value '2026-11-01T25:00:00Z': must be a time"],
    [['--until', ''], "--until: invalid value '': must be a time"],
    [['--after', '1h', '--since', '1h'], '--since and --after mean the same: give one of them'],
    [
      ['--after', '2026-11-02', '--before', '2026-11-01'],
      '--after 2026-11-02 and --before 2026-11-01 leave no time',
    ],
    [['--since', '1h', '--until', '1h'], '--since 1h and --until 1h leave no time'],
    [['--subscription', '123'], "--subscription: '123' is not a GUID"],
    [['--id', `${GUID}0`], `--id: '${GUID}0' is not a GUID`],
    [
      ['--status', 'FAILD'],
      "--status: invalid value 'FAILD': must be SUCCESS or FAILED\nnext: hooktrail events search --status FAILED",
    ],
    [['--type', ''], '--type: an event type is missing'],
    [['--limit', '0'], "--limit: invalid value '0': must be a whole number of at least 1"],
    [['-n', '1.5'], "--limit: invalid value '1.5'"],
    [['--limit', '-1'], "--limit: invalid value '-1'"],
    [['--page-size', '501'], "--page-size: invalid value '501': must be a whole number from 1 to 500"],
    [['--page-size', 'many'], "--page-size: invalid value 'many'"],
    [['--concurrency', '17'], "--concurrency: invalid value '17': must be a whole number from 1 to 16"],
    [['--all', '--limit', '3'], '--all and --limit contradict each other'],
    [['--dry-run', '--curl'], '--dry-run and --curl contradict each other'],
    [['--stauts', 'FAILED'], "unknown option '--stauts'\nnext: hooktrail events search --status FAILED"],
    [['--after'], '--after needs a value: <time>'],
    [['-n'], '--limit needs a value: <number>'],
    [['extra'], "events search takes no words, but was given 'extra'"],
  ])('%j is a usage error', async (args, message) => {
    await using home = await createHome();
    const { code, stdout, stderr } = await hooktrail(['events', 'search', ...args], { env: home.env });
    expect(stderr).toContain(`error: ${message}`);
    expect(code).toBe(2);
    expect(stdout).toBe('');
  });

  test.each([
    [
      ['0f8fad5b-d9cb-469f-a165-70867728950e'],
      '0f8fad5b-d9cb-469f-a165-70867728950e',
      '`hooktrail events get 0f8fad5b-d9cb-469f-a165-70867728950e` prints events by their ids',
    ],
    [
      ['--json', 'eventId,eventType'],
      'eventId,eventType',
      '--json takes no value; fields are chosen with --fields eventId,eventType',
    ],
    [['failed'], 'failed', 'events are chosen by filters: see `hooktrail help filters`'],
  ])('the error for %j says where the words belong', async (args, word, next) => {
    await using home = await createHome();
    expect(await hooktrail(['events', 'search', ...args], { env: home.env })).toEqual({
      code: 2,
      stdout: '',
      stderr: `error: events search takes no words, but was given '${word}'\nnext: ${next}\n`,
    });
  });

  test('all missing settings are named at once, each with its flag and its variable', async () => {
    await using home = await createHome();
    const { code, stderr } = await hooktrail(['events', 'search'], { env: home.env });
    expect(code).toBe(2);
    expect(stderr).toBe(
      'error: settings are missing\n' +
        '  --auth-url (login) or HOOKTRAIL_AUTH_URL: identity provider\n' +
        '  --base-url or HOOKTRAIL_BASE_URL: event service\n' +
        '  --client-id (login) or HOOKTRAIL_CLIENT_ID: client id\n' +
        '  --vendor or HOOKTRAIL_VENDOR: vendor of the media type\n' +
        `  looked in the profile 'default' of ${home.env['HOOKTRAIL_CONFIG_DIR']}/config.json\n` +
        'next: give them as flags or variables, or run `hooktrail login` once to save them\n',
    );
  });

  test('a profile that does not exist is named, not the settings missing in it', async () => {
    await using home = await createHome();
    const { code, stderr } = await hooktrail(['events', 'search', '--profile', 'nope'], { env: home.env });
    expect(stderr).toBe(
      "error: there is no profile 'nope'\nnext: run `hooktrail login --profile nope` to make one\n",
    );
    expect(code).toBe(2);
  });

  test('a wrong value is reported even if others are missing', async () => {
    await using home = await createHome();
    const { code, stderr } = await hooktrail(['status'], {
      env: { ...home.env, HOOKTRAIL_STORE: 'keychian' },
    });
    expect(stderr).toBe(
      "error: HOOKTRAIL_STORE: invalid value 'keychian': must be keychain or file\nnext: did you mean keychain?\n",
    );
    expect(code).toBe(2);
  });

  test.each([
    'http://events.example.com',
    'ftp://events.example.com',
    'events.example.com',
    'https://u:p@events.example.com',
  ])('a base URL such as %s is refused', async (url) => {
    await using home = await createHome();
    const env = { ...home.env, HOOKTRAIL_ACCESS_TOKEN: 'x', HOOKTRAIL_VENDOR: 'v' };
    const { code, stderr } = await hooktrail(['events', 'search', '--base-url', url], { env });
    expect(stderr).toMatch(/^error: --base-url: /);
    expect(code).toBe(2);
  });
});

describe('printing requests instead of sending them', () => {
  test('--dry-run prints the request URLs and needs no sign-in', async () => {
    await using home = await createHome();
    const args = [
      '--base-url',
      'https://events.example.com/api/',
      '--failed',
      '--type',
      'a',
      '--type',
      'b',
      '--dry-run',
    ];
    expect(await hooktrail(['events', 'search', ...args], { env: home.env })).toEqual({
      code: 0,
      stdout:
        'https://events.example.com/api/integrator-events?eq(publishStatus,FAILED)&eq(eventType,a)&limit(1,500)\n' +
        'https://events.example.com/api/integrator-events?eq(publishStatus,FAILED)&eq(eventType,b)&limit(1,500)\n',
      stderr: '',
    });
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
