import path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Context, Environment } from '../../src/context.ts';
import { clock } from '../support/clock.ts';
import { editJson, times } from '../support/faults.ts';
import { startSearching, valuesIn } from '../support/searching.ts';
import { inShape, shape, textInShape } from '../support/shape.ts';

type Started = Awaited<ReturnType<typeof startSearching>>;
/** Subscriptions of the sandbox that are on. */
const [FIRST, SECOND] = [
  '22284310-c2cd-4a3e-a9e8-1d7b8995da7f',
  '9f9073e8-1531-474d-bed1-b2f34ed6f2ce',
] as const;

type Given = Parameters<Started['start']>[1];
const watch = (at: Started, args: readonly string[] = ['--ndjson'], given: Given = {}) =>
  at.start(['events', 'health', '--watch', '--interval', '1s', ...args], given);
const started = (program: ReturnType<typeof watch>) => program.printed('stderr', /watching health/);
const stopped = async (program: ReturnType<typeof watch>) => {
  program.kill('SIGTERM');
  return await program.finished;
};

/** Adds events of one subscription, a second apart: `F` failed, `S` was delivered. */
function add(at: Started, marks: string, subscriptionId: string = FIRST, eventType = 'order.created') {
  for (const mark of marks) {
    clock.advance(1000);
    const createdOn = new Date(clock.now()).toISOString();
    at.control.addEvent({
      subscriptionId,
      eventType,
      publishStatus: mark === 'F' ? 'FAILED' : 'SUCCESS',
      createdOn,
    });
  }
}
const changesIn = (stdout: string) =>
  valuesIn(stdout).map(
    ({ change, value, reminder }) =>
      `${value === FIRST ? 'first' : 'second'} ${change}${reminder ? ' still' : ''}`,
  );
const time = (second: number) =>
  `2026-11-20T12:00:${String(second).padStart(2, '0')}${inShape({ published: '', flat: '.0000000' })}Z`;
const ADDRESS = inShape({ published: expect.stringMatching(/^[a-z.]+\/\S+$/), flat: null });

describe('events health --watch', () => {
  test('prints each change once, with what is known of it', async () => {
    await using at = await startSearching({ events: 0 });
    const program = watch(at);
    await started(program);
    add(at, 'SFFFSFF');
    await program.printed('stdout', /"change":"failing"/);
    add(at, 'SS');
    await program.printed('stdout', /"change":"recovered"/);
    const { code, stdout, stderr } = await stopped(program);
    expect(code).toBe(143);
    expect(stderr).toBe('watching health, every 1s: all events; failing means 3 failures in a run\n');
    expect(valuesIn(stdout)).toEqual([
      expect.objectContaining({
        by: { subscriptionId: FIRST },
        value: FIRST,
        name: ADDRESS,
        state: 'failing',
        failingSince: time(2),
        edge: false,
        silentSince: null,
        usualGapSeconds: null,
        change: 'failing',
        previous: null,
        since: time(2),
        until: null,
        reminder: false,
        cause: null,
        verdict: null,
        problem: null,
        next: `hooktrail events about ${FIRST}`,
      }),
      expect.objectContaining({
        name: ADDRESS,
        state: 'recovered',
        failed: 5,
        events: 9,
        recent: 'SSFFSFFFS',
        change: 'recovered',
        previous: 'failing',
        since: time(2),
        until: time(8),
        run: { failed: 5, events: 6 },
        next: `hooktrail events search --failed --subscription ${FIRST} --since 2026-11-20T12:00:01.999Z --until 2026-11-20T12:00:08.001Z`,
      }),
    ]);
  });

  test('reports at first what fails already, and with --state nothing twice and nothing too little', async () => {
    await using at = await startSearching({ events: 0 });
    const state = ['--ndjson', '--state', path.join(at.env['HOME'] as string, 'health.json')];
    add(at, 'FFFSS', SECOND);
    add(at, 'FFF');
    clock.advance(2000);
    const first = watch(at, state);
    await first.printed('stdout', /failing/);
    expect(changesIn((await stopped(first)).stdout)).toEqual(['first failing']);
    // An outage that begins and ends while nobody watches is reported, too.
    add(at, 'SS');
    add(at, 'FFFSS', SECOND);
    clock.advance(2000);
    const second = watch(at, state);
    await second.printed('stdout', /("change":"recovered"[\s\S]*){2}/);
    clock.advance(60_000);
    const { stdout, stderr } = await stopped(second);
    expect(changesIn(stdout)).toEqual(['first recovered', 'second failing', 'second recovered']);
    expect(stderr).toMatch(/^watching health from where it stopped, every 1s/);
  });

  test('--after-failures, --after and --remind say when', async () => {
    await using at = await startSearching({ events: 0 });
    const flags = ['--ndjson', '--after-failures', '2', '--after', '30s', '--remind', '10m'];
    const program = watch(at, flags);
    await started(program);
    add(at, 'FF');
    clock.advance(20_000);
    add(at, 'F', SECOND);
    clock.advance(20_000);
    await program.printed('stdout', /failing/);
    clock.advance(700_000);
    await program.printed('stdout', /"reminder":true/);
    expect(changesIn((await stopped(program)).stdout)).toEqual(['first failing', 'first failing still']);
  });

  test('makes one request an interval while nothing is new', async () => {
    await using at = await startSearching({ events: 0 });
    add(at, 'SS');
    const program = watch(at);
    await started(program);
    const seen = () => at.sandbox.log.filter(({ url }) => url.includes('/events/')).length;
    await program.printed('stderr', /watching/);
    clock.skips = 0;
    clock.advance(1000);
    await clock.asleep(1000);
    const before = seen();
    for (let poll = 0; poll < 12; poll++) {
      clock.advance(1000);
      await clock.asleep(1000);
    }
    expect(seen() - before).toBe(12);
    clock.skips = 5000;
    await stopped(program);
  });

  test.runIf(shape === 'published')('reports a subscription that is switched off, and on again', async () => {
    await using at = await startSearching({ events: 0 });
    add(at, 'SS');
    const program = watch(at);
    await started(program);
    const turn = async (action: string) =>
      expect((await at.run(['subscriptions', action, FIRST, '--yes'])).code).toBe(0);
    clock.advance(2000);
    await turn('disable');
    await program.printed('stdout', /"change":"off"/);
    await turn('enable');
    await program.printed('stdout', /"change":"recovered"/);
    const { stdout } = await stopped(program);
    expect(valuesIn(stdout)).toMatchObject([
      { change: 'off', state: 'off', next: `hooktrail subscriptions get ${FIRST}` },
      { change: 'recovered', previous: 'off' },
    ]);
  });

  test.runIf(shape === 'published')('reports a subscription that is deleted, and none twice', async () => {
    await using at = await startSearching({ events: 0 });
    const gone = '99999999-0000-4000-8000-000000000000';
    const state = ['--ndjson', '--state', path.join(at.env['HOME'] as string, 'health.json')];
    add(at, 'SS', gone);
    clock.advance(2000);
    const program = watch(at, state);
    await program.printed('stdout', /"change":"gone"/);
    await clock.slept(12);
    const { stdout } = await stopped(program);
    expect(valuesIn(stdout)).toMatchObject([
      { change: 'gone', state: 'gone', value: gone, name: null, next: 'hooktrail subscriptions list' },
    ]);
    const later = watch(at, state);
    await started(later);
    await clock.slept(12);
    expect((await stopped(later)).stdout).toBe('');
  });

  test('reports a subscription that is silent against its rhythm, and its next event', async () => {
    await using at = await startSearching({ events: 0, tokenLifetimeSeconds: 1e6 });
    const minutes = 60_000;
    const begin = clock.now();
    for (let time = begin - 20 * 86_400_000; time < begin; time += 40 * minutes)
      at.control.addEvent({
        subscriptionId: FIRST,
        publishStatus: 'SUCCESS',
        createdOn: new Date(time).toISOString(),
      });
    const program = watch(at);
    await started(program);
    clock.advance(110 * minutes);
    await clock.slept(6);
    expect(program.stdout).toBe('');
    clock.advance(10 * 60 * minutes);
    await program.printed('stdout', /"change":"silent"/);
    await clock.slept(6);
    add(at, 'S');
    await program.printed('stdout', /"change":"recovered"/);
    const { stdout } = await stopped(program);
    const since = expect.stringMatching(/^2026-11-20T11:20:00/);
    expect(valuesIn(stdout)).toMatchObject([
      {
        ...{ change: 'silent', state: 'silent', value: FIRST, since, silentSince: since },
        ...{
          usualGapSeconds: expect.any(Number),
          run: null,
          cause: null,
          next: `hooktrail events about ${FIRST}`,
        },
      },
      {
        change: 'recovered',
        previous: 'silent',
        since,
        until: expect.stringMatching(/Z$/),
        silentSince: null,
      },
    ]);
  });

  test('reports the silence of the row that is silent, after one without a subscription', async () => {
    await using at = await startSearching({ events: 0, tokenLifetimeSeconds: 1e6 });
    const minutes = 60_000;
    const begin = clock.now();
    const withoutSubscription = (item: object) =>
      JSON.parse(JSON.stringify(item), (name, value) => (name === 'subscriptionId' ? undefined : value));
    const edit = editJson(({ items, ...page }) => ({
      ...page,
      items: items?.map((item: object) =>
        JSON.stringify(item).includes('"order.lost"') ? withoutSubscription(item) : item,
      ),
    }));
    for (const fault of times(500, edit)) at.sandbox.control.fault('events', fault);
    const addAt = (moment: number, eventType: string) =>
      at.control.addEvent({
        subscriptionId: FIRST,
        eventType,
        publishStatus: 'SUCCESS',
        createdOn: new Date(moment).toISOString(),
      });
    const day = 24 * 60 * minutes;
    addAt(begin - day + minutes, 'order.lost');
    for (let time = begin - 20 * day + 20 * minutes; time < begin; time += 40 * minutes)
      addAt(time, 'order.created');
    const program = watch(at);
    await started(program);
    clock.advance(12 * 60 * minutes);
    await program.printed('stdout', /"change":"silent"/);
    const { stdout } = await stopped(program);
    expect(valuesIn(stdout)).toMatchObject([{ change: 'silent', value: FIRST }]);
  });

  test.runIf(shape === 'published').each([
    ['https://crm.harbour.example/in/s3cret', 'name', ['crm.harbour.example']],
    ['ftp://crm.harbour.example/in', 'address', []],
  ])('--check asks the endpoint of a failing row, and no other: %s', async (callbackUrl, kind, expected) => {
    await using at = await startSearching({ events: 0 });
    const asked: string[] = [];
    const resolveHost = async (host: string): Promise<readonly string[]> => {
      asked.push(host);
      throw Object.assign(new Error('no such name'), { code: 'ENOTFOUND' });
    };
    const { subscriptions } = at.control;
    const kept = subscriptions?.find(FIRST);
    if (kept) subscriptions?.replace(kept, { ...kept.content, callbackUrl });
    add(at, 'SS', SECOND);
    add(at, 'SFFF');
    clock.advance(2000);
    for (const flags of [['--check', '--ndjson'], ['--ndjson'], ['--check']]) {
      const program = watch(at, flags, { context: { resolveHost } });
      await program.printed('stdout', /failing[\s\S]*\n/);
      const { stdout } = await stopped(program);
      if (!flags.includes('--ndjson')) expect(stdout).toMatch(/\n {2}endpoint: broken: \S[^\n]*\n {2}next: /);
      else
        expect(valuesIn(stdout)).toMatchObject([
          flags.includes('--check')
            ? {
                change: 'failing',
                verdict: 'broken',
                problem: { kind, message: expect.stringMatching(/\S/) },
              }
            : { change: 'failing', verdict: null, problem: null },
        ]);
      expect(stdout).not.toContain('s3cret');
    }
    expect(asked).toEqual([...expected, ...expected]);
  });

  test('-o ndjson is --ndjson', async () => {
    await using at = await startSearching({ events: 0 });
    add(at, 'SFFF');
    clock.advance(2000);
    const program = watch(at, ['-o', 'ndjson']);
    await program.printed('stdout', /\n/);
    expect(changesIn((await stopped(program)).stdout)).toEqual(['first failing']);
  });

  test('a service that is away and a sign-in that ended are notices, and no change is lost', async () => {
    await using at = await startSearching({ events: 0 });
    const program = watch(at);
    await started(program);
    add(at, 'F');
    at.control.fault('events', ...Array(5).fill({ kind: 'status', status: 503 }));
    await program.printed('stderr', /503[\s\S]*trying again/);
    add(at, 'FF');
    await program.printed('stdout', /"change":"failing"/);
    at.control.revokeAccessTokens();
    await program.printed(
      'stderr',
      /401[^\n]*trying again every 1s\nnext: run `hooktrail login` to sign in again/,
    );
    const { stdout, stderr } = await stopped(program);
    expect(changesIn(stdout)).toEqual(['first failing']);
    expect(stderr).toMatch(/the service answers again/);
  });

  test('names the first cause over the run', async () => {
    await using at = await startSearching({ events: 0 });
    add(at, 'SS', FIRST, 'document.viewed');
    for (let times = 0; times < 12; times++) {
      add(at, 'FF');
      add(at, 'S', FIRST, 'document.viewed');
    }
    clock.advance(2000);
    const program = watch(at);
    await program.printed('stdout', /failing/);
    const [{ cause }] = valuesIn((await stopped(program)).stdout);
    expect(cause).toMatchObject({ conditions: [{ op: '=', value: 'order.created' }], failed: 24 });
    expect(cause.command).toMatch(
      /^hooktrail events search --failed --since \S+ --subscription \S+ --type order\.created$/,
    );
  });

  test('reports a change without its cause when that takes more than ten seconds to find', async () => {
    await using at = await startSearching({ events: 0 });
    const program = watch(at, ['--ndjson', '--by', 'eventType']);
    await started(program);
    const isLookedFor = new Promise<void>((resolve) => {
      const run = () => {
        at.control.fault('events', ...times(20, { kind: 'stall' }));
        resolve();
      };
      at.control.fault('event-types', { kind: 'run', run });
    });
    add(at, 'SFFF');
    await isLookedFor;
    clock.advance(10_000);
    await program.printed('stdout', /"change":"failing"/);
    const [change] = valuesIn((await stopped(program)).stdout);
    expect(change).toMatchObject({ change: 'failing', cause: null });
  });

  test('prints text for people', async () => {
    await using at = await startSearching({ events: 0 });
    add(at, 'SFFF');
    clock.advance(2000);
    const program = watch(at, []);
    await program.printed('stdout', /next:.*\n/);
    const who = inShape({ published: String.raw`\S+/\S* \(${FIRST}\)`, flat: FIRST });
    expect((await stopped(program)).stdout).toMatch(
      new RegExp(
        `^failing: ${who}, since 2026-11-20 12:00:02Z, 3 of 3 failed.*\n  next: hooktrail events about ${FIRST}\n$`,
      ),
    );
  });
});

describe('events health --watch -- COMMAND', () => {
  /** A command whose runs end with these codes in turn. */
  function commandThatEnds(...codes: readonly number[]) {
    const ran: { words: readonly string[]; environment: Environment; input: string }[] = [];
    const startProgram: Context['startProgram'] = async (words, environment, input) => {
      ran.push({ words, environment, input: input.toString() });
      return { ended: Promise.resolve(codes[ran.length - 1] ?? 0), kill: () => undefined };
    };
    return { ran, context: { startProgram } };
  }

  test('hands over the JSON and the variables until the command ends with 0', async () => {
    await using at = await startSearching({ events: 0 });
    const { ran, context } = commandThatEnds(3);
    add(at, 'SFFF');
    clock.advance(2000);
    const program = watch(at, ['--', 'sh', '-c', 'alarm'], { context });
    await program.printed('stderr', /run again/);
    while (ran.length < 2) await new Promise(setImmediate);
    const { stdout, stderr } = await stopped(program);
    expect(stdout).toBe('');
    expect(stderr).toMatch(
      /\nwarning: the command ended with 3 for failing of \S+: run again in 1s \(for ever/,
    );
    expect(ran.map(({ words }) => words)).toEqual(Array(2).fill(['sh', '-c', 'alarm']));
    expect(ran[0]).toEqual(ran[1]);
    const { input, environment } = ran[0]!;
    expect(JSON.parse(input)).toMatchObject({ change: 'failing', value: FIRST, since: time(2) });
    expect(environment).toMatchObject({ HOOKTRAIL_CHANGE: 'failing', HOOKTRAIL_SUBSCRIPTION_ID: FIRST });
    expect(environment['HOOKTRAIL_SUBSCRIPTION_NAME'] ?? null).toEqual(ADDRESS);
    expect(environment['HOOKTRAIL_ACCESS_TOKEN']).toBeUndefined();
  });

  test('hands over what --jq makes of a change, and nothing where it makes nothing', async () => {
    await using at = await startSearching({ events: 0 });
    const { ran, context } = commandThatEnds();
    add(at, 'SFFF');
    clock.advance(2000);
    const jq = 'select(.change == "failing") | {text: "\\(.change) since \\(.since)"}';
    const program = watch(at, ['--jq', jq, '--', 'sh'], { context });
    while (ran.length < 1) await new Promise(setImmediate);
    add(at, 'SS');
    add(at, 'FFF', SECOND);
    while (ran.length < 2) await new Promise(setImmediate);
    await stopped(program);
    expect(ran.map(({ input }) => input)).toEqual([
      `{"text":"failing since ${time(2)}"}\n`,
      expect.stringMatching(/^\{"text":"failing since \S+"\}\n$/),
    ]);
  });

  test('a jq program that fails on a change ends the watch, and the next run reports the change', async () => {
    await using at = await startSearching({ events: 0 });
    const { ran, context } = commandThatEnds();
    const state = path.join(at.env['HOME'] as string, 'health.json');
    const given = (jq: string) => ['--state', state, '--jq', jq, '--', 'sh'];
    add(at, 'SFFF');
    clock.advance(2000);
    const { code, stderr } = await watch(at, given('.cause.conditions | length | error'), { context })
      .finished;
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(
        /\nerror: --jq: the program failed on failing of \S+\n {2}--jq: .*not a string.*\nnext: without --state, --ndjson in place of --jq and the command prints what the program gets\n$/,
      ),
    ]);
    expect(ran).toEqual([]);
    const program = watch(at, given('.change'), { context });
    while (ran.length < 1) await new Promise(setImmediate);
    await stopped(program);
    expect(ran.map(({ input }) => input)).toEqual(['failing\n']);
  });

  test('hands over a reason that was cut inside a character', async () => {
    await using at = await startSearching({ events: 0 });
    const { ran, context } = commandThatEnds();
    for (const second of [1, 2, 3]) {
      const createdOn = new Date(clock.now() - 10_000 + second * 1000).toISOString();
      const lastError = `${'x'.repeat(199)}\u{1f4e6}`;
      const item = { eventId: `00000000-0000-4000-8000-00000000000${second}`, subscriptionId: FIRST };
      const json = textInShape({ ...item, createdOn, publishStatus: 'FAILED', eventType: 'a', lastError });
      at.control.addEvent({ ...item, createdOn, publishStatus: 'FAILED', json });
    }
    const program = watch(at, ['--jq', '.lastError', '--', 'sh'], { context });
    while (ran.length < 1) await new Promise(setImmediate);
    await stopped(program);
    expect(ran[0]?.input).toBe(`${'x'.repeat(199)}\ufffd\n`);
  });

  test('goes on after --retry-for, and ends with 1', async () => {
    await using at = await startSearching({ events: 0 });
    const { context } = commandThatEnds(1, 1, 1, 1);
    add(at, 'SFFF');
    clock.advance(2000);
    const { code, stderr } = await watch(at, ['--until', 'now', '--retry-for', '0s', '--', 'sh'], { context })
      .finished;
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^watching health, once: --until now; failing means 3 failures in a run\n[\s\S]*: given up, the watch goes on\n[\s\S]*error: the command did not handle 1 change\n/,
    );
  });
});

test.each([
  [['--interval', '5s'], '--interval needs --watch'],
  [['--', 'true'], 'a command after -- needs --watch'],
  [['--watch', '--exit-code'], '--exit-code and --watch contradict each other'],
  [['--watch', '--csv'], '--csv and --watch contradict each other'],
  [['--watch', '--ndjson', '--', 'true'], '--ndjson and --watch with a command contradict each other'],
  [['--watch', '--'], 'the command after -- is missing'],
  [['--watch', '--retry-for', '1m'], '--retry-for needs a command'],
  [['--watch', '--failed'], '--status: health is about failures and successes alike'],
  [['--watch', '--after', '2026-11-01'], "--after: invalid value '2026-11-01'"],
  [['--watch', '--after-failures', '0'], "--after-failures: invalid value '0'"],
])('events health %j is refused', async (flags, message) => {
  await using at = await startSearching({ events: 0 });
  const { code, stderr } = await at.run(['events', 'health', ...flags]);
  expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringContaining(message) });
});
