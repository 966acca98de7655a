import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { callsIn } from '../support/command-lines.ts';
import { createHome } from '../support/home.ts';
import { readCsv } from '../support/outputs.ts';
import { hooktrail } from '../support/program.ts';
import { idsOf, ndjsonOf, startSearching } from '../support/searching.ts';
import { inShape } from '../support/shape.ts';

const OWN = '22284310-c2cd-4a3e-a9e8-1d7b8995da7f';
const OTHER = 'bb2b024a-e9b8-4c1b-8dde-172330f6d0da';
const timeOf = (text: string) => new Date(`2026-11-${text}:00Z`).toISOString();

let made = 0;
const event = (time: string, publishStatus: 'SUCCESS' | 'FAILED', more: object = {}) => ({
  eventId: `00000000-0000-4000-8000-${String(++made).padStart(12, '0')}`,
  eventType: 'document.signed',
  createdOn: timeOf(time),
  publishStatus,
  subscriptionId: OWN,
  customer: 'Harbour Freight',
  ms: made * 10,
  ...more,
});
/** An outage from the 19th 09:00 to the 20th 10:00; another subscription is well. */
const events = [
  event('17T08:00', 'SUCCESS'),
  event('18T08:00', 'SUCCESS'),
  event('19T08:00', 'SUCCESS'),
  event('19T09:00', 'FAILED'),
  event('19T11:00', 'FAILED'),
  event('19T18:00', 'FAILED'),
  event('20T08:00', 'FAILED', { delivery: { lastError: '503 down' } }),
  event('20T10:00', 'SUCCESS'),
  event('20T11:00', 'SUCCESS'),
  ...['08:00', '09:00', '10:00'].map((clock) =>
    event(`20T${clock}`, 'SUCCESS', { subscriptionId: OTHER, customer: 'Hill' }),
  ),
];

let home: Awaited<ReturnType<typeof createHome>>;
let file: string;
beforeAll(async () => {
  home = await createHome();
  file = path.join(home.folder, 'events.ndjson');
  await writeFile(file, ndjsonOf(events));
});
afterAll(() => home[Symbol.asyncDispose]());
const about = (args: readonly string[], env: object = {}) =>
  hooktrail(
    [
      'events',
      'about',
      ...args,
      '--from',
      file,
      '--since',
      '2026-11-19T12:00',
      '--until',
      '2026-11-20T12:00',
    ],
    {
      env: { ...home.env, ...env },
    },
  );

const expected = {
  subscriptionIds: [OWN],
  state: 'recovered',
  failed: 2,
  events: 4,
  lastFailed: timeOf('20T08:00'),
  lastError: '503 down',
  lastSuccess: timeOf('20T11:00'),
  earlier: { after: '2026-11-18T12:00:00Z', before: '2026-11-19T12:00:00Z', events: 3, failed: 2 },
  outage: {
    since: timeOf('19T09:00'),
    edge: false,
    until: timeOf('20T10:00'),
    lastFailed: timeOf('20T08:00'),
  },
  shared: { subscriptions: 2, withFailures: 1, failing: 0 },
};

describe('events about', () => {
  test('says what failed now and before, and the whole outage, also what lies before the window', async () => {
    const { code, stdout, stderr } = await about([OWN, '--json']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({ word: OWN, foundBy: 'id', ...expected });
  });

  test('is a page for people, with what to type next', async () => {
    const { stdout } = await about([OWN, '--latency-field', 'ms']);
    expect(stdout.split('\n')).toEqual([
      `${OWN}, found by its id`,
      'from 2026-11-19 12:00Z to 2026-11-20 12:00Z',
      '',
      'state          recovered',
      'events         2 of 4 failed (50.0 %), 2 delivered; 2 of 3 in the same time before',
      'outage         from 2026-11-19 09:00Z to 2026-11-20 10:00Z, 1 d 1 h',
      'last failure   2026-11-20 08:00:00Z',
      'reason         503 down',
      'last success   2026-11-20 11:00:00Z',
      "shared         the other subscription did not fail: it is this one's endpoint",
      'latency        p50 70, p95 90, p99 90, max 90 (ms, 4 events)',
      'last ten       ··✗✗',
      '',
      `next: hooktrail events search --failed --subscription ${OWN} --since 2026-11-19T08:59:59Z --until 2026-11-20T12:00Z --from ${file}`,
      `next: hooktrail webhooks replay --failed --forward-to URL --subscription ${OWN} --since 2026-11-19T08:59:59Z --until 2026-11-20T12:00Z --from ${file}`,
      '',
    ]);
  });

  test('takes words of the name-field, and names the nearest where nobody is called so', async () => {
    const env = { HOOKTRAIL_NAME_FIELD: 'customer' };
    expect(JSON.parse((await about(['freight', '--json'], env)).stdout)).toMatchObject({
      ...expected,
      foundBy: 'name',
      name: 'Harbour Freight',
    });
    const unknown = await about(['Freigt'], env);
    expect(unknown.stderr).toMatch(/did you mean Harbour Freight\?/);
    expect(unknown.stdout).toMatch(/^'Freigt', which no event has in the name-field\n/);
    expect((await about(['freight'])).code).toBe(2);
  });

  test('is a ticket in Markdown, and a line of CSV', async () => {
    const markdown = (await about([OWN, '-o', 'markdown'])).stdout;
    expect(markdown).toMatch(/^\| 22284310\S+, found by its id \| from 2026-11-19 12:00Z/);
    expect(markdown).toContain('| outage | from 2026-11-19 09:00Z to 2026-11-20 10:00Z, 1 d 1 h |');
    expect(markdown).toContain(`hooktrail events about ${OWN} -o markdown --from`);
    const csv = readCsv((await about([OWN, '--csv'])).stdout);
    expect(csv).toHaveLength(2);
    expect(csv[1]?.[csv[0]?.indexOf('outage.since') as number]).toBe(timeOf('19T09:00'));
    expect((await about([OWN, '--ndjson'])).stdout.split('\n')).toHaveLength(2);
  });

  test('fits a terminal of 80 by 24', async () => {
    const { stdout } = await hooktrail(
      ['events', 'about', OWN, '--from', file, '--since', '2026-11-19T12:00', '--latency-field', 'ms'],
      { env: home.env, terminal: 80 },
    );
    const lines = stdout
      .replaceAll(/\u001b\[[\d;]*m/g, '')
      .split('\n')
      .filter((line) => !line.startsWith('next:'));
    expect(lines.every((line) => line.length <= 80)).toBe(true);
    expect(lines.length).toBeLessThan(22);
  });

  test('asks the service: by a part of the address, with its own counts before, and what failed within 30 days', async () => {
    await using at = await startSearching({ events: 0 });
    for (const { customer: _, ms: _ms, ...one } of events) at.sandbox.control.addEvent(one);
    const run = (...args: string[]) =>
      at.run([
        'events',
        'about',
        ...args,
        '--since',
        '2026-11-19T12:00',
        '--until',
        '2026-11-20T12:00',
        '--json',
      ]);
    // The sandbox has more zeros in its times.
    const parsed = (text: string) => JSON.parse(text.replaceAll(/\.0+Z/g, 'Z'));
    const plain = parsed(JSON.stringify(expected));
    const byId = parsed((await run(OWN)).stdout);
    expect(byId).toMatchObject({
      ...plain,
      lastError: inShape({ flat: expect.any(String), published: null }),
      address: inShape({ flat: null, published: 'hooks.harbour.example/in/…' }),
      endpoint: inShape({ flat: null, published: 'on' }),
    });
    const well = await at.run(['events', 'about', OWN, '--since', '2026-11-20T10:30', '--json']);
    expect(parsed(well.stdout)).toMatchObject({ state: 'ok', outage: plain.outage });
    const byAddress = await run('hooks.harbour.example/in');
    expect(byAddress.code).toBe(inShape({ flat: 2, published: 0 }));
    const wrong = await run('harbur');
    expect(wrong).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        inShape({
          flat: /^error: 'harbur' is not an id, and this service lists no addresses/,
          published: /^error: 'harbur' is neither an id nor in the address/,
        }),
      ),
    });
  });

  test('finds a subscription that is switched off by its address, if it had events of late', async () => {
    await using at = await startSearching({ events: 0 });
    const OFF = 'state          off: the subscription is switched off, so the service sends it nothing';
    const SWITCHED_OFF = '95bb7fc4-c819-4328-97e4-f5241d61eecf';
    const add = (subscriptionId: string, eventType: string) =>
      at.sandbox.control.addEvent({ subscriptionId, eventType, createdOn: timeOf('20T09:00') });
    add(OWN, 'document.signed');
    add(SWITCHED_OFF, 'document.viewed');
    const run = (word: string, since: string, env: object = {}) =>
      at.run(['events', 'about', word, '--since', since], { env: { ...at.env, ...env } });
    const [title, error] = [
      `staging.harbour.example/hooks/test (${SWITCHED_OFF}), found by 'staging' in its address, switched off`,
      "error: 'staging' is not an id, and this service lists no addresses\n" +
        'next: give the id of a subscription, or name the field that says who an event is for: `hooktrail config set name-field PATH`\n',
    ];
    const found = await run('staging', '2026-11-20');
    const unnamed = await run('staging', '2026-11-20T09:30');
    expect([found.code, found.stdout.split('\n')[0], found.stderr]).toEqual(
      inShape({ published: [0, title, ''], flat: [2, '', error] }),
    );
    expect([unnamed.code, unnamed.stdout.split('\n').slice(0, 4).join(' '), unnamed.stderr]).toEqual(
      inShape({ published: [0, `${title} since 2026-11-20 09:30Z  ${OFF}`, ''], flat: [2, '', error] }),
    );
    // Nobody has that name: the address is looked for before that is said.
    const titleOf = async (word: string) =>
      (await run(word, '2026-11-20', { HOOKTRAIL_NAME_FIELD: 'eventType' })).stdout.split('\n')[0];
    expect(await titleOf('staging')).toBe(
      inShape({
        published: `document.viewed, ${title}`,
        flat: "'staging', which no event has in the name-field",
      }),
    );
    expect(await titleOf('signed')).toMatch(/^document\.signed.* found by 'signed' in the name-field/);
    // The events that tell nobody's name tell their subscriptions, too: they are not read again.
    const windowsRead = async (word: string) => {
      const before = at.sandbox.log.length;
      await titleOf(word);
      const asked = at.sandbox.log.slice(before).map(({ url }) => decodeURIComponent(url));
      return asked.filter((url) => url.includes('gt(createdOn,2026-11-20)')).length;
    };
    expect(await windowsRead('nobody')).toBe(1);
  });

  test('offers the check of an endpoint whose failures are its own', async () => {
    await using at = await startSearching({ events: 0 });
    const add = (time: string, publishStatus: 'SUCCESS' | 'FAILED', subscriptionId: string) =>
      at.sandbox.control.addEvent({ subscriptionId, publishStatus, createdOn: timeOf(time) });
    const next = async (id: string) =>
      JSON.parse((await at.run(['events', 'about', id, '--json'])).stdout).next;
    const check = (id: string) => inShape({ flat: [], published: [`hooktrail subscriptions check ${id}`] });
    const others = (id: string, since: string) => {
      const words = `--subscription ${id} --since 2026-11-20T${since}Z`;
      return {
        search: `hooktrail events search --failed ${words}`,
        recover: `hooktrail webhooks recover --forward-to URL ${words}`,
      };
    };
    add('20T07:00', 'SUCCESS', OWN);
    add('20T08:00', 'FAILED', OWN);
    add('20T09:00', 'SUCCESS', OWN);
    add('20T10:00', 'SUCCESS', OWN);
    const own = others(OWN, '07:59:59');
    expect(await next(OWN)).toEqual([own.search, ...check(OWN), own.recover]);
    for (const time of ['20T09:00', '20T09:30', '20T10:00']) add(time, 'FAILED', OTHER);
    const other = others(OTHER, '08:59:59');
    expect(await next(OTHER)).toEqual([other.search, ...check(OTHER), other.recover]);
    // It is well again, and failed when another one did.
    expect(await next(OWN)).toEqual([own.search, own.recover]);
  });

  test('is no well subscription that has been silent against its rhythm', async () => {
    const HOUR_MS = 3_600_000;
    const end = Date.parse('2026-11-20T12:00:00Z');
    const hourly = Array.from({ length: 24 * 28 }, (_, hour) => ({
      ...event('20T08:00', 'SUCCESS'),
      createdOn: new Date(end - (hour + 15) * HOUR_MS).toISOString(),
    }));
    const quiet = path.join(home.folder, 'quiet.ndjson');
    await writeFile(quiet, ndjsonOf(hourly));
    const args = [
      'events',
      'about',
      OWN,
      '--from',
      quiet,
      '--since',
      '2026-11-19',
      '--until',
      '2026-11-20T12:00',
    ];
    const { stdout } = await hooktrail(args, { env: home.env });
    expect(stdout.split('\n').slice(3, 6)).toEqual([
      'state          silent for unusually long',
      'events         0 of 21 failed (0 %), 21 delivered; 0 of 35 in the same time before',
      'silent         since 2026-11-19 21:00:00Z, for 15 h; usually one every 1 h at these hours',
    ]);
    // The states are those of `events health`.
    const stateOf = async (...more: string[]) => {
      const { stdout } = await hooktrail([...args, '--json', ...more], { env: home.env });
      return JSON.parse(stdout).state;
    };
    expect(await stateOf()).toBe('silent');
    expect(await stateOf('--type', 'document.viewed')).toBe('silent');
    expect(await stateOf('--until', '2026-11-19T21:00')).toBe('ok');
  });

  test('has its causes and commands behind what decides, which the first 24 lines hold', async () => {
    const causes = Array.from({ length: 120 }, (_, index) => ({
      ...event('20T08:00', index % 4 === 0 ? 'FAILED' : 'SUCCESS', {
        channel: index % 4 === 0 ? 'an adapter with a name that takes most of a line' : 'web',
        delivery: { lastError: '503 down' },
      }),
      createdOn: new Date(Date.parse('2026-11-20T06:00:00Z') + index * 60_000).toISOString(),
    }));
    const many = path.join(home.folder, 'many.ndjson');
    await writeFile(many, ndjsonOf(causes));
    const args = ['events', 'about', OWN, '--from', many, '--since', '2026-11-20', '--latency-field', 'ms'];
    const { stdout } = await hooktrail(args, { env: home.env, terminal: 80 });
    const screen = stdout
      .replaceAll(/\u001b\[[\d;]*m/g, '')
      .split('\n')
      .slice(0, 24);
    const labels = screen.flatMap((line) => /^[a-z]+(?: [a-z]+)?(?= {2})/.exec(line)?.[0] ?? []);
    const first = [
      'state',
      'events',
      'last failure',
      'reason',
      'last success',
      'shared',
      'latency',
      'last ten',
    ];
    expect(labels.filter((label) => label !== 'outage' && label !== 'cause here')).toEqual(first);
    expect(stdout).toContain('cause here');
  });

  /** The output of `events about` over some events that lie in a file. */
  const aboutOf = async (some: readonly object[], ...args: string[]) => {
    const place = path.join(home.folder, `some-${++made}.ndjson`);
    await writeFile(place, ndjsonOf(some));
    const env = { ...home.env, HOOKTRAIL_NAME_FIELD: 'customer' };
    const { stdout, stderr } = await hooktrail(['events', 'about', ...args, '--from', place], { env });
    return { lines: stdout.replaceAll(place, 'FILE').split('\n'), stderr };
  };

  test('of a name that shares its subscription, continues with the events of that name alone', async () => {
    const hours = ['07', '08', '09'];
    const own = hours.map((hour) => event(`20T${hour}:00`, 'FAILED'));
    const shared = hours.map((hour) => event(`20T${hour}:10`, 'FAILED', { customer: 'Hill' }));
    const args = ['freight', '--since', '2026-11-20', '--until', '2026-11-20T13:00'];
    const nextOf = async (some: readonly object[]) =>
      (await aboutOf(some, ...args)).lines.filter((line) => line.startsWith('next'));
    const rest = '--since 2026-11-20T06:59:59Z --until 2026-11-20T13:00Z --from FILE';
    expect(await nextOf([...own, ...shared])).toEqual([
      `next: hooktrail events search --failed --subscription ${OWN} --where 'customer = Harbour Freight' ${rest}`,
      `next: hooktrail webhooks replay --failed --forward-to URL --subscription ${OWN} --where 'customer = Harbour Freight' ${rest}`,
    ]);
    const other = event('20T07:20', 'FAILED', { customer: 'Freight, Inc.' });
    expect((await nextOf([...own, ...shared, other]))[0]).toContain(
      `--where 'customer in ("Harbour Freight", "Freight, Inc.")'`,
    );
    expect((await nextOf(own))[0]).toContain(`--subscription ${OWN} ${rest}`);
  });

  test.each([42, 4.5, -3, true, 'true', '007', 'Freight, Inc.', 'the "Harbour" = best'])(
    'of the name %j that shares its subscription, suggests a search that finds its events alone',
    async (customer) => {
      const own = event('20T07:00', 'FAILED', { customer });
      const place = path.join(home.folder, `name-${++made}.ndjson`);
      await writeFile(place, ndjsonOf([own, event('20T08:00', 'FAILED', { customer: 'Hill' })]));
      const env = { ...home.env, HOOKTRAIL_NAME_FIELD: 'customer' };
      const about = await hooktrail(['events', 'about', '--from', place, '--', String(customer)], { env });
      const [search = []] = callsIn(about.stdout);
      const found = await hooktrail([...search, '--ndjson'], { env });
      expect(idsOf(found.stdout)).toEqual([own.eventId]);
    },
  );

  test('of a name with two subscriptions is about the one that fails, whatever the other one does', async () => {
    const SECOND = '33333333-c2cd-4a3e-a9e8-1d7b8995da7f';
    const hours = ['07', '08', '09', '10', '11', '12'];
    const failing = hours.map((hour) => event(`20T${hour}:00`, hour < '09' ? 'SUCCESS' : 'FAILED'));
    const well = hours.flatMap((hour) =>
      ['10', '20'].map((minute) => event(`20T${hour}:${minute}`, 'SUCCESS', { subscriptionId: SECOND })),
    );
    const others = [event('20T12:30', 'SUCCESS', { subscriptionId: OTHER, customer: 'Hill' })];
    const args = ['freight', '--since', '2026-11-20', '--until', '2026-11-20T13:00'];
    const { lines, stderr } = await aboutOf([...failing, ...well, ...others], ...args);
    expect({ lines, stderr }).toEqual({
      lines: [
        "Harbour Freight (2 subscriptions), found by 'freight' in the name-field",
        'from 2026-11-20 00:00Z to 2026-11-20 13:00Z',
        '',
        'state          failing since 2026-11-20 09:00:00Z',
        'events         4 of 18 failed (22.2 %), 14 delivered; 0 of 0 in the same time before',
        `subscription   ${OWN}: failing since 2026-11-20 09:00:00Z, 4 of 6 failed`,
        `subscription   ${SECOND}: ok, 0 of 12 failed`,
        'outage         from 2026-11-20 09:00Z, goes on, last failure after 3 h',
        'last failure   2026-11-20 12:00:00Z',
        'last success   2026-11-20 12:20:00Z',
        "shared         the other subscription did not fail: it is this one's endpoint",
        'last ten       ··✗··✗··✗·',
        '',
        `next: hooktrail events about ${OWN} --since 2026-11-20 --until 2026-11-20T13:00 --from FILE`,
        '',
      ],
      stderr: '',
    });
  });

  test('has a line for each name that the word is in, the worst first', async () => {
    const names = ['Lights', 'Freight', 'Lines', 'Cranes', 'Fish', 'Ice'].map((name) => `Harbour ${name}`);
    const own = names.flatMap((customer, index) => [
      event(`20T08:${10 + index}`, 'SUCCESS', { customer }),
      event(`20T09:${10 + index}`, customer === 'Harbour Freight' ? 'FAILED' : 'SUCCESS', { customer }),
    ]);
    const all = [...own, event('20T08:00', 'SUCCESS', { customer: 'Hill' })];
    const linesOf = async (word: string, some: readonly object[]) =>
      (await aboutOf(some, word, '--since', '2026-11-20')).lines.filter((line) => line.startsWith('name '));
    expect(await linesOf('harbour', all)).toEqual([
      'name           Harbour Freight: failing since 2026-11-20 09:11:00Z, 1 of 2 failed',
      'name           Harbour Cranes: ok, 0 of 2 failed',
      'name           Harbour Fish: ok, 0 of 2 failed',
      'name           Harbour Ice: ok, 0 of 2 failed',
      'name           Harbour Lights: ok, 0 of 2 failed',
      'name           1 more: give more of the name',
    ]);
    expect(await linesOf('freight', all)).toEqual([]);
    expect(await linesOf(OWN, all)).toEqual([]);
    // An event for two customers is one of the customer that is meant.
    const both = [event('20T08:00', 'SUCCESS', { customer: ['Harbour Ice', 'Hill'] })];
    const json = await hooktrail(['events', 'about', 'ice', '--from', '-', '--json'], {
      env: { ...home.env, HOOKTRAIL_NAME_FIELD: 'customer[]' },
      stdin: ndjsonOf(both),
    });
    expect(JSON.parse(json.stdout).names).toEqual([
      { name: 'Harbour Ice', state: 'ok', failed: 0, events: 1, failingSince: null },
    ]);
  });

  test('has no doubt about a name in a part of the time in which others alone have events', async () => {
    const own = [event('20T08:00', 'SUCCESS'), event('20T09:00', 'FAILED')];
    const others = [event('20T10:00', 'SUCCESS', { subscriptionId: OTHER, customer: 'Hill' })];
    const { stderr } = await aboutOf([...own, ...others], 'freight', '--since', '2026-11-20');
    expect(stderr).toBe('');
  });

  test('names the largest outage of the time where the last one is another', async () => {
    const outcomes = 'SSFFFSFSSSSFFSS'.split('');
    const own = outcomes.map((outcome, minute) =>
      event(`20T08:${10 + minute}`, outcome === 'F' ? 'FAILED' : 'SUCCESS'),
    );
    const args = [OWN, '--since', '2026-11-20', '--until', '2026-11-21'];
    const { lines } = await aboutOf(own, ...args);
    expect(lines.slice(5, 8)).toEqual([
      'outage         from 2026-11-20 08:21Z to 2026-11-20 08:23Z, 2 min',
      'largest        from 2026-11-20 08:12Z to 2026-11-20 08:17Z, 5 min, 4 failures',
      'last failure   2026-11-20 08:22:00Z',
    ]);
    const json = JSON.parse((await aboutOf(own, ...args, '--json')).lines.join('\n'));
    expect(json.largestOutage).toEqual({
      since: timeOf('20T08:12'),
      edge: false,
      until: timeOf('20T08:17'),
      lastFailed: timeOf('20T08:16'),
      failed: 4,
    });
    const [titles, cells] = readCsv((await aboutOf(own, ...args, '--csv')).lines.join('\n'));
    expect(cells?.[titles?.indexOf('largestOutage.failed') as number]).toBe('4');
    const once = await aboutOf(own.slice(0, 11), ...args);
    expect(once.lines.filter((line) => line.startsWith('largest'))).toEqual([]);
    const two = own.map((one, index) => (index < 9 ? one : { ...one, subscriptionId: OTHER }));
    const ofName = JSON.parse((await aboutOf(two, 'freight', ...args.slice(1), '--json')).lines.join('\n'));
    expect(ofName.largestOutage).toBeNull();
  });

  test('lists and hands over all failures of the time, also one after the last outage, which is one event', async () => {
    const outcomes = 'SSFFFFFFSSSSSSSSF'.split('');
    const own = outcomes.map((outcome, minute) =>
      event(`20T08:${10 + minute}`, outcome === 'F' ? 'FAILED' : 'SUCCESS'),
    );
    const { lines } = await aboutOf(own, OWN, '--since', '2026-11-20', '--until', '2026-11-21');
    expect(lines.join('\n')).toContain('outage         from 2026-11-20 08:12Z to 2026-11-20 08:18Z, 6 min\n');
    expect(lines.slice(-3)).toEqual([
      `next: hooktrail events search --failed --subscription ${OWN} --since 2026-11-20T08:11:59Z --until 2026-11-21 --from FILE`,
      `next: hooktrail webhooks replay --failed --forward-to URL --subscription ${OWN} --since 2026-11-20T08:11:59Z --until 2026-11-21 --from FILE`,
      '',
    ]);
  });

  test('says the times of a cause in the zone, and compares a whole file with no time before it', async () => {
    const outcomes = [...'S'.repeat(20), ...'F'.repeat(10), ...'S'.repeat(20)];
    const own = outcomes.map((outcome, minute) =>
      event(`20T08:${String(minute).padStart(2, '0')}`, outcome === 'F' ? 'FAILED' : 'SUCCESS'),
    );
    const { lines } = await aboutOf(own, OWN, '--timezone', 'Europe/Berlin');
    expect(lines).toContain('events         10 of 50 failed (20.0 %), 40 delivered');
    expect(lines).toContain(
      'cause here     created from 2026-11-20 09:20:00+01:00 to 2026-11-20 09:29:00+01:00: 10 of 10 failed',
    );
  });

  test('says nothing of an outage where nothing failed in 30 days', async () => {
    await using at = await startSearching({ events: 0 });
    at.sandbox.control.addEvent({
      subscriptionId: OWN,
      publishStatus: 'SUCCESS',
      createdOn: timeOf('20T08:00'),
    });
    const { stdout } = await at.run(['events', 'about', OWN, '--json']);
    expect(JSON.parse(stdout)).toMatchObject({ state: 'ok', failed: 0, events: 1, outage: null, causes: [] });
    expect((await at.run(['events', 'about', OWN])).stdout).toMatch(/state +ok\n/);
  });
});

describe('events about, by what is known', () => {
  test('compares GUIDs as GUIDs', async () => {
    const [small, capitals] = await Promise.all(
      [OWN, OWN.toUpperCase()].map(async (id) => JSON.parse((await about([id, '--json'])).stdout)),
    );
    expect({ ...capitals, word: OWN }).toEqual(small);
  });

  test('waits for a slow list of subscriptions, and takes none that is refused for an empty one', async () => {
    await using at = await startSearching({ events: 0 });
    at.control.addEvent({ subscriptionId: OWN, createdOn: timeOf('20T09:00') });
    const run = () => at.run(['events', 'about', 'hooks.harbour.example/in', '--since', '2026-11-20']);
    const forbidden = { kind: 'status', status: 403, body: '{"code":"FORBIDDEN"}' } as const;
    at.control.fault('subscriptions', forbidden);
    expect(await run()).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^error: the subscriptions cannot be listed: the service answered 403/),
    });
    at.control.fault('subscriptions', { kind: 'status', status: 200, body: 'Under maintenance' });
    expect(await run()).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^error: the subscriptions cannot be listed: the service answered with something that is not JSON\n {2}Under maintenance\n/,
      ),
    });
    at.control.fault('subscriptions', { kind: 'slow', ms: 2_500 });
    expect((await run()).code).toBe(inShape({ published: 0, flat: 2 }));
  });

  test('says first that a subscription is off, whatever its past, also by a name without events in the time', async () => {
    await using at = await startSearching({ events: 0 });
    const SWITCHED_OFF = '95bb7fc4-c819-4328-97e4-f5241d61eecf';
    at.control.addEvent({
      subscriptionId: SWITCHED_OFF,
      eventType: 'document.viewed',
      publishStatus: 'FAILED',
      createdOn: timeOf('11T09:00'),
    });
    const env = { ...at.env, HOOKTRAIL_NAME_FIELD: 'eventType' };
    const { stdout } = await at.run(['events', 'about', 'viewed'], { env });
    const first = stdout.split('\n')[3];
    expect(first).toBe(
      inShape({
        published: 'state          off: the subscription is switched off, so the service sends it nothing',
        flat: 'state          no events in this time',
      }),
    );
  });
});

describe('events about, by time', () => {
  const outcomesAt = (hours: string) =>
    [...hours].map((outcome, index) =>
      event(`19T${String(index).padStart(2, '0')}:00`, outcome === 'F' ? 'FAILED' : 'SUCCESS'),
    );
  const runOver = async (some: readonly object[], ...args: string[]) => {
    await using at = await startSearching({ events: 0 });
    for (const one of some) at.control.addEvent(one);
    return (await at.run(['events', 'about', OWN, ...args])).stdout;
  };

  test('names the outage and not the one event that failed after it', async () => {
    const stdout = await runOver(
      outcomesAt('SSFFFSSSSSSSSSSSSSSSFSS'),
      '--since',
      '2026-11-19T12:00',
      '--json',
    );
    const { outage, lastFailed } = JSON.parse(stdout.replaceAll(/(:\d\d)(?:\.0+)?Z/g, '$1.000Z'));
    expect({ outage, lastFailed }).toEqual({
      outage: {
        since: timeOf('19T02:00'),
        edge: false,
        until: timeOf('19T05:00'),
        lastFailed: timeOf('19T04:00'),
      },
      lastFailed: timeOf('19T20:00'),
    });
    const alone = await runOver(outcomesAt('SSSSSFSS'), '--since', '2026-11-19', '--json');
    expect(JSON.parse(alone)).toMatchObject({ outage: null, failed: 1 });
  });

  test('tells a time that is over in the past, and keeps its end', async () => {
    const bounds = ['--since', '2026-11-19', '--until', '2026-11-20'];
    const stdout = await runOver(outcomesAt('SSSFFFF'), ...bounds);
    expect(stdout).toContain('state          was failing at the end of this time, from 2026-11-19 03:00:00');
    expect(stdout).toContain(', not over by the end of this time, last failure after 3 h\n');
    expect(stdout).not.toMatch(/failing since|goes on|still/);
    const next = stdout.split('\n').filter((line) => /^next: .* --since/.test(line));
    expect(next.length).toBeGreaterThan(1);
    expect(next.every((line) => line.includes('--until 2026-11-20'))).toBe(true);
  });
});

test('a name and a reason that break their line or drive a terminal are shown on one line', async () => {
  const odd = { customer: 'Tab\tand\nline \u001b[31m', delivery: { lastError: 'down\r\n\tagain' } };
  const place = path.join(home.folder, 'odd.ndjson');
  await writeFile(place, ndjsonOf([event('20T11:30', 'FAILED', odd)]));
  const { stdout } = await hooktrail(
    ['events', 'about', 'Tab', '--from', place, '--since', '2026-11-20T11:00', '--until', '2026-11-20T12:00'],
    { env: { ...home.env, HOOKTRAIL_NAME_FIELD: 'customer' } },
  );
  expect(stdout).toContain('Tab\\u0009and\\u000aline \\u001b[31m');
  expect(stdout).toContain('down\\u000d\\u000a\\u0009again');
});
