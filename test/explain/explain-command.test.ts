import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createHome } from '../support/home.ts';
import { hooktrail } from '../support/program.ts';
import { ndjsonOf, startSearching, valuesIn } from '../support/searching.ts';
import { inShape, textInShape } from '../support/shape.ts';

const SUBSCRIPTION = '22284310-c2cd-4a3e-a9e8-1d7b8995da7f';
const OTHER = '9f9073e8-1531-474d-bed1-b2f34ed6f2ce';
const WELL = 'bb2b024a-e9b8-4c1b-8dde-172330f6d0da';
const timeOf = (minute: number) =>
  new Date(Date.parse('2026-11-02T00:00:00Z') + minute * 60_000).toISOString();

/** One event a minute: from 05:00 on all of one subscription fail, and two others. */
const events = Array.from({ length: 400 }, (_, minute) => {
  const isOurs = minute % 4 === 0;
  const hasFailed = (isOurs && minute >= 300) || minute === 11 || minute === 222;
  return {
    eventId: `00000000-0000-4000-8000-${String(minute).padStart(12, '0')}`,
    eventType: minute % 3 ? 'document.signed' : 'document.viewed',
    createdOn: timeOf(minute),
    publishStatus: hasFailed ? 'FAILED' : 'SUCCESS',
    subscriptionId: isOurs ? SUBSCRIPTION : OTHER,
    delivery: {
      endpoint: isOurs ? 'https://hooks.example.com/in?a=1' : 'https://erp.example.com/',
      lastError: hasFailed ? { httpStatus: 503, message: 'Service Unavailable' } : null,
    },
  };
});

let home: Awaited<ReturnType<typeof createHome>>;
let file: string;
beforeAll(async () => {
  home = await createHome();
  file = path.join(home.env['HOME'] as string, 'events.ndjson');
  await writeFile(file, ndjsonOf(events));
});

afterAll(() => home[Symbol.asyncDispose]());

const explain = (
  args: readonly string[] = [],
  { place = file, ...options }: { place?: string; terminal?: number; stdin?: string; env?: object } = {},
) =>
  hooktrail(['events', 'explain', '--from', place, ...args], {
    ...options,
    env: { ...home.env, ...options.env },
  });

const FOLLOWING = [
  '2 failures have no cause in common with others',
  'only failures have: delivery.lastError (503 Service Unavailable 27)',
  'not compared, different in nearly every event: eventId',
];

describe('events explain', () => {
  test('says what failed events have, since when, and the command that lists them', async () => {
    const { code, stdout, stderr } = await explain();
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout.split('\n')).toEqual([
      '27 of 400 events failed (6.8 %) from 2026-11-01 23:59:59Z to 2026-11-02 06:39:01Z',
      '',
      'what failed events have                                of failures  of delivered  fail with it        without it',
      `subscriptionId = ${SUBSCRIPTION}         93 %          20 %     25 of 100  2 of 300 (0.7 %)`,
      '  the same events: delivery.endpoint = https://hooks.example.com/in?a=1',
      '  failing since 2026-11-02 05:00:00Z, last success 2026-11-02 04:56:00Z',
      '',
      ...FOLLOWING,
      `next: hooktrail events search --failed --subscription ${SUBSCRIPTION} --from ${file}`,
      '',
    ]);
  });

  test('says once of a field what it is: an effect is not named as not compared as well', async () => {
    const refused = events.map((event, index) => {
      const lastError = event.publishStatus === 'FAILED' ? `refused by host ${index} at ${index * 37}` : null;
      return { ...event, delivery: { lastError } };
    });
    const { stdout } = await explain([], { place: '-', stdin: ndjsonOf(refused) });
    expect(stdout).toContain('only failures have: delivery.lastError (refused by host … at … 27)\n');
    expect(stdout).toContain('not compared, different in nearly every event: eventId\n');
  });

  test('says that long values are not compared, of a field whose short ones are', async () => {
    const long = events.map((event, minute) => ({
      ...event,
      memo: minute % 50 === 0 ? 'x'.repeat(511) : ['a', 'b'][minute % 2],
      whole: `"${'y'.repeat(510)}`,
    }));
    const { stdout } = await explain([], { place: '-', stdin: ndjsonOf(long) });
    expect(stdout).toContain(
      'not compared, different in nearly every event: eventId\nnot compared where longer than 512 bytes: memo, whole\n',
    );
    const json = await explain(['--json'], { place: '-', stdin: ndjsonOf(long) });
    expect(JSON.parse(json.stdout).notCompared).toEqual(['eventId', 'memo', 'whole']);
  });

  test('has no titles under --no-header', async () => {
    for (const terminal of [undefined, 80])
      expect((await explain(['--no-header'], terminal ? { terminal } : {})).stdout).not.toContain(
        'of delivered',
      );
  });

  test('fits 80 columns with the conditions above their figures, and keeps ids and commands whole', async () => {
    const { stdout } = await explain([], { terminal: 80, env: { NO_COLOR: '1' } });
    expect(stdout.split('\n').slice(3, 10)).toEqual([
      'what failed events have',
      '   of failures  of delivered  fail with it        without it',
      `subscriptionId = ${SUBSCRIPTION}`,
      '          93 %          20 %     25 of 100  2 of 300 (0.7 %)',
      '  the same events: delivery.endpoint = https://hooks.example.com/in?a=1',
      '  failing since 2026-11-02 05:00:00Z, last success 2026-11-02 04:56:00Z',
      '',
    ]);
  });

  test('prints exactly the members of its JSON', async () => {
    const { stdout } = await explain(
      '--json --since 2026-11-02 --until 2026-11-02T06:40:00Z --baseline 1d'.split(' '),
    );
    const { causes, ...rest } = JSON.parse(stdout);
    expect(rest).toEqual({
      after: '2026-11-02T00:00:00Z',
      before: '2026-11-02T06:40:00Z',
      events: 399,
      failed: 27,
      subscriptions: 2,
      baseline: { after: '2026-11-01T00:00:00Z', before: '2026-11-01T06:40:00Z', events: 0, failed: 0 },
      unexplained: 2,
      onlyInFailures: [
        {
          field: 'delivery.lastError',
          op: 'exists',
          value: null,
          failed: 27,
          values: [{ value: '503 Service Unavailable', failed: 27 }],
        },
      ],
      notCompared: ['eventId'],
      notLookedAt: [],
    });
    const [{ p, ...cause }, ...others] = causes;
    expect(p).toBeLessThan(1e-10);
    expect([cause, ...others]).toEqual([
      {
        conditions: [{ field: 'subscriptionId', op: '=', value: SUBSCRIPTION, name: null }],
        failed: 25,
        events: 99,
        failedWithout: 2,
        eventsWithout: 300,
        same: [{ field: 'delivery.endpoint', op: '=', value: 'https://hooks.example.com/in?a=1' }],
        firstFailed: '2026-11-02T05:00:00.000Z',
        lastFailed: '2026-11-02T06:36:00.000Z',
        lastSuccess: '2026-11-02T04:56:00.000Z',
        failingSince: '2026-11-02T05:00:00.000Z',
        edge: false,
        subscriptions: 1,
        command: `hooktrail events search --failed --since 2026-11-02 --until 2026-11-02T06:40:00Z --subscription ${SUBSCRIPTION} --from ${file}`,
        baseline: { failed: 0, events: 0 },
      },
    ]);
  });

  test('its command lists exactly the failures of the cause, also one of other fields and of a time', async () => {
    const place = path.join(path.dirname(file), 'planted.ndjson');
    const planted = events.map((event, minute) => ({
      ...event,
      subscriptionId: OTHER,
      plan: minute % 2 ? "it's free" : 'paid',
      ...(minute % 5 ? { locale: 'de' } : {}),
      publishStatus: minute % 2 && minute % 5 === 0 && minute >= 100 && minute < 300 ? 'FAILED' : 'SUCCESS',
    }));
    await writeFile(place, ndjsonOf(planted));
    const { stdout } = await explain([], { place });
    const next = /^next: hooktrail (.*)$/m.exec(stdout)?.[1] as string;
    expect(next).toBe(
      `events search --failed --where 'plan = "it'\\''s free"' --where '!locale' --since 2026-11-02T01:44:59Z --until 2026-11-02T04:55:01Z --from ${place}`,
    );
    const words = [
      ...['events', 'search', '--failed', '--where', '!locale', '--where', 'plan = "it\'s free"'],
      ...['--since', '2026-11-02T01:44:59Z', '--until', '2026-11-02T04:55:01Z', '--from', place],
    ];
    const found = await hooktrail([...words, '--ndjson'], { env: home.env });
    expect(valuesIn(found.stdout).map(({ createdOn }) => createdOn)).toEqual(
      planted.filter(({ publishStatus }) => publishStatus === 'FAILED').map(({ createdOn }) => createdOn),
    );
  });

  test('its command names the times that spans ago were, since it is read on another day', async () => {
    const { stdout } = await explain('--since 3000d --until 1s'.split(' '));
    expect(stdout).toMatch(/^next: .* --since \d{4}-\S+Z --until \d{4}-\S+Z --from/m);
  });

  test('says so when nothing stands out, when nothing failed, and when there is nothing', async () => {
    const place = path.join(path.dirname(file), 'quiet.ndjson');
    const write = (failed: (minute: number) => boolean) =>
      writeFile(
        place,
        events
          .slice(0, 100)
          .map(
            (event, minute) =>
              `${textInShape({ ...event, delivery: {}, publishStatus: failed(minute) ? 'FAILED' : 'SUCCESS' })}\n`,
          )
          .join(''),
      );
    const lines = async (...args: string[]) => (await explain(args, { place })).stdout;
    await write((minute) => minute % 31 === 7);
    const standsOut = await lines();
    expect(standsOut).toContain('\n\nnothing stands out: ');
    expect(standsOut.endsWith(`\nnext: hooktrail events search --failed --from ${place}\n`)).toBe(true);
    await write(() => false);
    expect(await lines()).toBe(
      'none of 100 events failed from 2026-11-01 23:59:59Z to 2026-11-02 01:39:01Z\n',
    );
    await write(() => true);
    expect(await lines()).toContain('all of them failed: there is no delivered event to compare them with\n');
    expect(await lines('--since', '2026-11-02T05:00:00Z', '--until', '2026-11-02T06:00:00Z')).toBe(
      'no events from 2026-11-02 05:00Z to 2026-11-02 06:00Z\n',
    );
  });

  test('says what all of them have when all failed, and how to compare them with the others', async () => {
    const where = `--since 2026-11-02T04:59:00Z --subscription ${SUBSCRIPTION}`;
    const { stdout } = await explain(where.split(' '));
    const source = `--from ${file}`;
    expect(stdout.split('\n').slice(1)).toEqual([
      '',
      'all of them failed: there is no delivered event to compare them with',
      'all of them have: delivery.lastError (503 Service Unavailable 25)',
      `next: hooktrail events search --failed ${where} ${source}`,
      `next: hooktrail events explain --since 2026-11-02T04:59:00Z ${source}  # compared with the other events`,
      '',
    ]);
  });

  test.each(['explain --baseline 1d', 'health', 'stats', 'report r.html'])(
    '%s says that an export or a file of failures alone may lack the others',
    async (words) => {
      await using searching = await startSearching({ events: 40 });
      const folder = searching.env['HOME'] as string;
      const run = (line: string, ...place: string[]) =>
        searching.run(['events', ...line.split(' '), ...place], { cwd: folder });
      expect((await run('export --failed --since 60d', 'failures')).code).toBe(0);
      const warning =
        'warning: the export in failures was made with --status FAILED: other events are missing\n';
      expect((await run(words, '--from', 'failures')).stderr.split(warning)).toHaveLength(2);
      expect((await run('count', '--from', 'failures')).stderr).toBe('');
      const file = 'failures/part-000001.ndjson';
      const doubt = `warning: all events of ${file} have failed: delivered ones may be missing from it\n`;
      expect((await run(words, '--from', file)).stderr.split(doubt)).toHaveLength(2);
      expect((await run('count', '--from', file)).stderr).toBe('');
    },
  );

  test.each([
    'explain',
    'health',
    'health --exit-code',
    'stats',
    'report -',
    'count --failed',
    'search --failed',
  ])(
    '%s says that the outcome of stored events is not known where no publishStatus tells it',
    async (words) => {
      for (const status of [{ state: 'failed' }, { publishStatus: 'error' }, { publishStatus: null }]) {
        const stdin = ndjsonOf([{ eventId: '1', ...status }]);
        const { code, stdout, stderr } = await hooktrail(['events', ...words.split(' '), '--from', '-'], {
          ...{ env: home.env, stdin },
        });
        const doubt = words.endsWith('--failed')
          ? 'warning: --from: no event has the publishStatus SUCCESS or FAILED, so failures are unknown\n'
          : 'warning: 1 event skipped: publishStatus is neither SUCCESS nor FAILED\n';
        const known = words.includes('--exit-code') ? 1 : 0;
        expect({ code, doubts: stderr.split(doubt).length - 1 }).toEqual({ code: known, doubts: 1 });
        expect(stdout).not.toMatch(/none of|\bok\b|delivered\.|No failed/);
        if (/explain|health|stats$/.test(words)) expect(stdout).toBe('the outcome of 1 event is unknown\n');
      }
    },
  );

  test.each([
    [['SUCCESS', 'FAILED'], /^1 of 2 events failed/],
    [[], /^the outcome of 501 events is unknown\n$/],
  ])(
    "more pending events than the service's first page holds are left out, and said to be: %j",
    async (older, said) => {
      await using searching = await startSearching({ events: 0 });
      const statuses = [...older, ...Array<string>(501).fill('PENDING')];
      for (const [n, publishStatus] of statuses.entries()) {
        const event = { createdOn: timeOf(n), eventType: 'a', publishStatus };
        searching.sandbox.control.addEvent({ ...event, json: textInShape(event) } as never);
      }
      const { code, stdout, stderr } = await searching.run(['events', 'explain', '--since', '2026-11-01']);
      expect(stderr).toContain('warning: 501 events skipped: publishStatus is neither SUCCESS nor FAILED\n');
      expect(stdout).toMatch(said);
      expect(code).toBe(0);
    },
  );

  test('an event that is neither delivered nor failed is left out, and no success', async () => {
    const at = (minute: number, publishStatus: string) => ({
      ...{ eventId: String(minute), subscriptionId: OTHER, publishStatus },
      createdOn: `2026-11-02T05:0${minute}:00Z`,
    });
    const stdin = ndjsonOf([at(3, 'PENDING'), at(2, 'FAILED'), at(1, 'SUCCESS')]);
    const run = (...words: string[]) =>
      hooktrail(['events', ...words, '--from', '-'], { env: home.env, stdin });
    const [row] = JSON.parse((await run('health', '--json')).stdout);
    expect(row).toMatchObject({
      state: 'failing',
      events: 2,
      recent: 'FS',
      lastSuccess: '2026-11-02T05:01:00Z',
    });
    expect((await run('explain')).stdout).toMatch(/^1 of 2 events failed /);
    expect((await run('stats', '--csv')).stdout).toContain('(not listed),2,1,1,0.5');
    const { stdout: page } = await run('report', '-');
    expect(page).toContain(
      '</strong> (50.0 %). 1 event skipped: publishStatus is neither SUCCESS nor FAILED.</p>',
    );
  });

  test('one lucky delivery does not change since when a cause fails, folded on a terminal', async () => {
    const now = events.map((event, minute) => ({
      ...event,
      publishStatus: minute % 4 === 0 && minute % 20 > 0 ? 'FAILED' : 'SUCCESS',
    }));
    const { stdout } = await hooktrail(['events', 'explain', '--from', '-'], {
      ...{ env: home.env, stdin: ndjsonOf(now) },
    });
    expect(stdout).toContain('\n  failing since 2026-11-02 00:04:00Z, last success 2026-11-02 06:20:00Z\n');
    for (const command of ['explain', 'health', 'stats']) {
      const words = ['events', command, '--from', '-', '--timezone', 'Asia/Kolkata', '--since', '2026-11-01'];
      const env = { ...home.env, NO_COLOR: '1' };
      const { stdout: screen } = await hooktrail(words, { env, terminal: 60, stdin: ndjsonOf(now) });
      const unfolded = screen.split('\n').filter((line) => line.length > 60 && !line.startsWith('next: '));
      expect({ screen, unfolded }).toEqual({ screen, unfolded: [] });
    }
  });

  test('does not say that nothing was delivered where the time of a delivery is not known', async () => {
    const timeless = events.map(({ createdOn: _, ...event }) => event);
    const stdin = ndjsonOf([...timeless, { ...timeless[0], publishStatus: 'FAILED' }]);
    const { stdout } = await hooktrail(['events', 'explain', '--from', '-'], { env: home.env, stdin });
    expect(stdout).toContain('\n  the last success is unknown\n');
  });

  test('of more causes than it names it does not say that the other failures have none', async () => {
    const planted = events.map((event, minute) => ({
      ...event,
      subscriptionId: OTHER,
      delivery: {},
      plan: `p${(minute * 7) % 40}`,
      publishStatus: (minute * 7) % 40 < 7 ? 'FAILED' : 'SUCCESS',
    }));
    const stdin = ndjsonOf(planted);
    for (const [format, gap] of Object.entries({ table: '\n', markdown: '; ' }))
      expect((await explain(['-o', format], { place: '-', stdin })).stdout).toContain(
        [
          '',
          'events of a cause are not counted in the causes below it',
          '20 failures have none of these 5 causes, the maximum; a shorter time may show others',
        ].join(gap),
      );
  });

  test.each(['B-7', 7])('of %s at several places of a list any element is one cause', async (bad) => {
    const planted = events.map((event, minute) => ({
      ...{ createdOn: event.createdOn, eventId: event.eventId },
      lines: [0, 1].map((place) => ({ item: minute % 9 === 4 * place ? bad : (minute * 7 + place) % 5 })),
      publishStatus: minute % 9 === 0 || minute % 9 === 4 ? 'FAILED' : 'SUCCESS',
    }));
    const { stdout } = await explain(['--json'], { place: '-', stdin: ndjsonOf(planted) });
    const { causes } = JSON.parse(stdout);
    expect(causes.map(({ conditions }: { conditions: unknown }) => conditions)).toEqual([
      [{ field: expect.stringMatching(/\blines\[\]\.item$/), op: '=', value: bad, name: null }],
    ]);
    const failed = planted.filter(({ publishStatus }) => publishStatus === 'FAILED').length;
    expect([causes[0].failed, causes[0].events]).toEqual([failed, failed]);
    expect(causes[0].command).toMatch(new RegExp(` --where '(\\w+\\.)?lines\\[\\]\\.item = ${bad}'`));
  });

  test('writes one number that all failures have as an equation', async () => {
    const failed = events
      .slice(300, 303)
      .map((event) => ({ ...event, publishStatus: 'FAILED', attempts: 5 }));
    const stdin = ndjsonOf(failed);
    const { stdout } = await explain([], { place: '-', stdin });
    expect(stdout).toContain('\nall of them have: attempts = 5\n');
  });

  test('says what all have in a list of attempts: the errors of the first', async () => {
    const failed = events.slice(300, 305).map((event, minute) => ({
      ...{ createdOn: event.createdOn, eventId: event.eventId, publishStatus: 'FAILED' },
      attempts: [1, 2].map((number) => ({ number, url: `/${minute}`, statusCode: 410, error: 'Gone' })),
    }));
    const { stdout } = await explain([], { place: '-', stdin: ndjsonOf(failed) });
    expect(stdout).toContain('\nall of them have: attempts (410 Gone 5)\n');
  });

  test('says of an outage that nothing but its time explains that it is of every subscription and type', async () => {
    const down = events.map((event, minute) => ({
      ...event,
      subscriptionId: minute % 3 === 0 ? SUBSCRIPTION : OTHER,
      delivery: {},
      publishStatus: minute >= 300 ? 'FAILED' : 'SUCCESS',
    }));
    const { stdout } = await explain([], { place: '-', stdin: ndjsonOf(down) });
    const times =
      '\n  failing since 2026-11-02 05:00:00Z, no success of any subscription or type in this time\n';
    expect(stdout).toContain(times);
  });

  test('does not date an outage to the start of the window: without a success in it, it may have begun earlier', async () => {
    const { stdout } = await explain(['--since', '2026-11-02T05:10:00Z']);
    expect(stdout).toContain('\n  failing since 2026-11-02 05:12:00Z or earlier, no success in this time\n');
    const health = ['events', 'health', '--from', file, '--since'];
    const told = '2026-11-02 05:12:00Z or earlier';
    const late = await hooktrail([...health, '2026-11-02T05:10:00Z'], { env: home.env });
    expect(late.stdout).toContain(told);
    const whole = await hooktrail([...health, '2026-11-02T04:00:00Z'], { env: home.env });
    expect(whole.stdout).not.toContain('or earlier');
  });

  test('lists what failing leaves behind apart, also where a delivered event has it too', async () => {
    const kept = { lastError: { httpStatus: 503, message: 'Service Unavailable' } };
    const noisy = events.map((event, minute) => ({
      ...event,
      delivery: {
        ...event.delivery,
        attempts: event.publishStatus === 'FAILED' && minute < 396 ? 5 : 1,
        ...(minute === 21 ? kept : {}),
      },
    }));
    const run = (...args: string[]) => explain(args, { place: '-', stdin: ndjsonOf(noisy) });
    const { stdout } = await run();
    expect(stdout).toContain(`\nsubscriptionId = ${SUBSCRIPTION} `);
    expect(stdout).toContain(
      '\n2 failures have no cause in common with others\nonly failures have: delivery.attempts = 5\nfailures and some delivered events have: delivery.lastError (503 Service Unavailable 27)\n',
    );
    expect(JSON.parse((await run('--json')).stdout).onlyInFailures).toEqual([
      {
        ...{ field: 'delivery.lastError', op: 'exists', value: null, failed: 27, delivered: 1 },
        values: [{ value: '503 Service Unavailable', failed: 27 }],
      },
      { field: 'delivery.attempts', op: '=', value: 5, failed: 26 },
    ]);
  });

  test('names the date of each time in Markdown, which is read on another day', async () => {
    const { stdout } = await explain(['-o', 'markdown']);
    expect(stdout).toContain('; failing since 2026-11-02 05:00:00Z, last success 2026-11-02 04:56:00Z |');
  });

  test('warns of a baseline that stored events do not reach back to', async () => {
    const warning = (time: string) =>
      `warning: --baseline: ${file} has no event from before ${time}, and may lack some to compare with\n`;
    const compare = async (since: string) =>
      (await explain(['--since', since, '--until', '2026-11-02T06:00:00Z', '--baseline', 'previous'])).stderr;
    expect(await compare('2026-11-02T02:00:00Z')).toBe(warning('2026-11-01T22:00:00Z'));
    expect(await compare('2026-11-02T03:30:00Z')).toBe('');
  });

  test('a baseline counts a cause as it is counted now: without the events of the causes before it', async () => {
    const eventAt = (day: number, index: number) => {
      const isFirst = index % 3 === 0;
      const isSecond = index % 7 === 3;
      const hasFailed = day === 1 ? isFirst : isFirst || isSecond;
      return {
        eventId: `e${day}-${index}`,
        eventType: isFirst ? 'bad' : `t${index % 5}`,
        createdOn: new Date(Date.UTC(2026, 10, day) + 60_000 * (index + 1)).toISOString(),
        publishStatus: hasFailed ? 'FAILED' : 'SUCCESS',
        subscriptionId: SUBSCRIPTION,
        region: `r${index % 7}`,
      };
    };
    const indexes = Array.from({ length: 210 }, (_, index) => index);
    const place = path.join(path.dirname(file), 'two-days.ndjson');
    await writeFile(place, ndjsonOf([1, 2].flatMap((day) => indexes.map((index) => eventAt(day, index)))));
    const times = ['--since', '2026-11-02', '--until', '2026-11-03', '--baseline', '1d'];
    const { stdout } = await explain([...times, '--json'], { place });
    const { causes } = JSON.parse(stdout);
    expect(causes).toMatchObject([
      { conditions: [{ field: 'eventType', value: 'bad' }], baseline: { failed: 70, events: 70 } },
      { conditions: [{ field: 'region', value: 'r3' }], baseline: { failed: 0, events: 20 } },
    ]);
  });

  test.each([
    ['2026-10-25', '2026-10-26', '1d', '2026-10-23T22:00:00Z', '2026-10-24T22:00:00Z'],
    ['2026-10-25 10:00', '2026-10-25 11:00', '1d', '2026-10-24T08:00:00Z', '2026-10-24T09:00:00Z'],
    ['2026-10-28 10:00', '2026-10-28 11:00', '7d', '2026-10-21T08:00:00Z', '2026-10-21T09:00:00Z'],
    ['2026-10-25', '2026-10-26', 'previous', '2026-10-23T21:00:00Z', '2026-10-24T22:00:00Z'],
  ])('from %s to %s is compared with the same hours of the clock, %s before', async (...parts) => {
    const [since, until, baseline, after, before] = parts;
    const times = ['--since', since, '--until', until, '--timezone', 'Europe/Berlin'];
    const { stdout, stderr } = await explain([...times, '--baseline', baseline, '--json']);
    expect(JSON.parse(stdout).baseline).toMatchObject({ after, before });
    expect(stderr).not.toContain('longer');
  });

  test('warns of a baseline that has events of the window too', async () => {
    const { stderr } = await explain(
      '--since 2026-11-01T22:00 --until 2026-11-03 --baseline 1d --timezone Europe/Berlin'.split(' '),
    );
    expect(stderr).toContain(
      'warning: --baseline 1d: the time explained is longer than that, and its events up to 2026-11-02T00:00:00+01:00 count in both',
    );
  });

  test('reads the window and the baseline, each once, and says which cause was there then', async () => {
    await using searching = await startSearching({ events: 0 });
    for (const [day, failing] of [
      ['01', 10],
      ['02', 30],
    ] as const) {
      for (let minute = 0; minute < 120; minute++) {
        const isOurs = minute % 3 === 0;
        searching.control.addEvent({
          createdOn: new Date(Date.parse(`2026-11-${day}T00:00:00Z`) + minute * 60_000).toISOString(),
          eventType: 'document.signed',
          publishStatus: isOurs && minute < 3 * failing ? 'FAILED' : 'SUCCESS',
          subscriptionId: isOurs ? SUBSCRIPTION : OTHER,
        });
      }
    }
    const { code, stdout } = await searching.run(
      'events explain --since 2026-11-01T23:59:59Z --until 2026-11-02T03:00:00Z --baseline 1d'.split(' '),
    );
    expect(code).toBe(0);
    expect(stdout.split('\n')[0]).toBe(
      '30 of 120 events failed (25.0 %) from 2026-11-01 23:59:59Z to 2026-11-02 03:00Z; a day earlier: 10 of 120 (8.3 %)',
    );
    expect(stdout).toContain('\n  also then: 10 of 40 failed then\n');
    expect(searching.queries().filter((query) => query.includes('limit(1,500)'))).toHaveLength(2);
  });

  test('offers the check of an endpoint that fails still, before one of a larger outage that is over', async () => {
    await using searching = await startSearching({ events: 0 });
    for (let minute = 0; minute < 180; minute++) {
      const subscriptionId = [SUBSCRIPTION, OTHER, WELL][minute % 3] as string;
      const isOver = subscriptionId === SUBSCRIPTION && minute < 120;
      const isOngoing = subscriptionId === OTHER && minute >= 120;
      searching.control.addEvent({
        createdOn: timeOf(minute),
        eventType: 'document.signed',
        publishStatus: isOver || isOngoing ? 'FAILED' : 'SUCCESS',
        subscriptionId,
      });
    }
    const { stdout } = await searching.run('events explain --since 2026-11-01'.split(' '));
    const [larger, smaller, ...others] = stdout.split('\n').filter((line) => line.startsWith('next: '));
    expect([larger, smaller]).toEqual([
      expect.stringContaining(`--subscription ${SUBSCRIPTION}`),
      expect.stringContaining(`--subscription ${OTHER}`),
    ]);
    const check = `next: hooktrail subscriptions check ${OTHER}  # its endpoint, from this machine`;
    expect(others).toEqual(inShape({ flat: [], published: [check] }));
  });

  test('takes the outcomes from the filter of the service where the events do not tell them', async () => {
    await using searching = await startSearching({ events: 0 });
    for (let minute = 0; minute < 90; minute++) {
      const createdOn = timeOf(minute);
      const kind = minute % 3 === 0 ? 'a' : 'b';
      searching.sandbox.control.addEvent({
        createdOn,
        publishStatus: kind === 'a' && minute % 2 === 0 ? 'FAILED' : 'SUCCESS',
        json: JSON.stringify({ createdOn, kind }),
      });
    }
    const { stdout } = await searching.run([
      ...'events explain --since 2026-11-01 --until 2026-11-03 --jq'.split(' '),
      '.causes[] | .conditions[0].value, .failed, .events',
    ]);
    expect(stdout).toBe('a\n15\n30\n');
  });
});
