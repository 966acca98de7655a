import fs, { lstatSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { outputOf } from '../../src/streams.ts';
import { clock } from '../support/clock.ts';
import type { startHooktrail } from '../support/program.ts';
import { editJson, type Fault, times } from '../support/sandbox.ts';
import { idsOf, startSearching } from '../support/searching.ts';
import { knownOf, pathInEvent, typeName } from '../support/shape.ts';

type Started = Awaited<ReturnType<typeof startSearching>>;
type Running = ReturnType<typeof startHooktrail>;
const watch = (searching: Started, ...args: string[]): Running =>
  searching.start(['events', 'watch', '--interval', '1s', ...args]);
const started = (program: Running) => program.printed('stderr', /watching events created after \S+Z, every/);
const stopped = async (program: Running) => {
  program.kill('SIGINT');
  return program.finished;
};
/** Events of the same millisecond differ in random digits. */
const inOrder = (searching: Started, ...ids: string[]) =>
  searching.sandbox.control.store
    .newestIds(searching.sandbox.control.store.size)
    .toReversed()
    .filter((id) => ids.includes(id));
/** Enough time for events to be created a second later than others, the resolution of `Date`. */
const second = () => clock.advance(1100);

describe('events watch', () => {
  test('prints events created from now on, each once, oldest first, and says how to resume', async () => {
    await using searching = await startSearching({ events: 50 });
    second();
    const program = watch(searching, '--ndjson', '--failed');
    await started(program);
    const a = searching.control.addEvent({ publishStatus: 'FAILED' }).eventId;
    searching.control.addEvent({ publishStatus: 'SUCCESS' });
    const b = searching.control.addEvent({ publishStatus: 'FAILED' }).eventId;
    await program.printed('stdout', new RegExp(b));
    second();
    const c = searching.control.addEvent({ publishStatus: 'FAILED' }).eventId;
    await program.printed('stdout', new RegExp(c));
    const { code, stdout, stderr } = await stopped(program);
    expect(idsOf(stdout)).toEqual([...inOrder(searching, a, b), c]);
    expect(code).toBe(130);
    const [, rest] =
      stderr.match(
        /\nto resume: hooktrail (events watch --since \S+Z --status FAILED --interval 1s --ndjson)\nevents created since then may come again; --state FILE keeps the place\n$/,
      ) ?? [];
    const d = searching.control.addEvent({ publishStatus: 'FAILED' }).eventId;
    const resumed = await searching.run([...(rest as string).split(' '), '--count', '4']);
    expect(idsOf(resumed.stdout)).toEqual([...inOrder(searching, a, b), c, d]);
    expect(resumed.code).toBe(0);
  });

  test('links that lead to another origin are said once, and pages asked for by number', async () => {
    await using searching = await startSearching({ events: 501 });
    searching.control.behaviour.links = 'inner';
    const program = watch(searching, '--since', '30d', '--ndjson', '--count', '501');
    const { code, stdout, stderr } = await program.finished;
    expect([code, idsOf(stdout).length]).toEqual([0, 501]);
    expect(stderr.match(/pages are asked for by number$/gm)).toHaveLength(1);
  });

  test('the command to resume keeps filters and format, and quotes shell characters', async () => {
    await using searching = await startSearching({ events: 5 });
    const flags = ['--type', 'a b', '--type', "it's", '--failed', '--ndjson', '--count', '5'];
    const program = watch(searching, ...flags, '--since', '2h', '--overlap', '3h');
    await started(program);
    expect((await stopped(program)).stderr).toContain(
      `\nto resume: hooktrail events watch --since 2026-11-20T10:00:00Z --status FAILED --type 'a b' --type 'it'\\''s' --interval 1s --overlap 3h --ndjson\n`,
    );
  });

  test('the command to resume ends when this watch would have ended', async () => {
    await using searching = await startSearching({ events: 5 });
    const program = watch(searching, '--ndjson', '--since', '2h', '--until', '+1h', '--overlap', '3h');
    await started(program);
    expect((await stopped(program)).stderr).toContain(
      '\nto resume: hooktrail events watch --since 2026-11-20T10:00:00Z --until 2026-11-20T13:00:00Z --interval 1s --overlap 3h --ndjson\n',
    );
  });

  test('the command to resume keeps the form of CSV', async () => {
    await using searching = await startSearching({ events: 5 });
    const program = watch(searching, '--csv', '--csv-raw', '--no-header', '--since', '2h');
    await started(program);
    expect((await stopped(program)).stderr).toMatch(
      /\nto resume: hooktrail events watch --since \S+ --interval 1s --csv --csv-raw --no-header\n/,
    );
  });

  test('--state prints each event once across restarts, and those created in between', async () => {
    await using searching = await startSearching({ events: 5 });
    const state = path.join(searching.env['HOME'] as string, 'watch.json');
    const program = watch(searching, '--ndjson', '--state', state);
    await started(program);
    const a = searching.control.addEvent().eventId;
    await program.printed('stdout', new RegExp(a));
    const first = await stopped(program);
    expect(first.stderr).toMatch(/\nto resume: run the same command again\n$/);
    second();
    const [b, c, d] = [0, 1, 2].map(() => {
      second();
      return searching.control.addEvent().eventId;
    });
    const later = ['--ndjson', '--state', state];
    // The next run prints the events that --count left over.
    const next = await watch(searching, ...later, '--count', '1').finished;
    expect({ code: next.code, ids: idsOf(next.stdout) }).toEqual({ code: 0, ids: [b] });
    expect(next.stderr).toBe(
      'watching from where it stopped, every 1s: all of them; ' +
        'events that appear more than 2m after their creation are not seen (--overlap)\n',
    );
    const last = await watch(searching, ...later, '--count', '2').finished;
    expect(idsOf(last.stdout)).toEqual([c, d]);
  });

  test('--state refuses a file that another watch uses', async () => {
    await using searching = await startSearching({ events: 5 });
    const state = path.join(searching.env['HOME'] as string, 'watch.json');
    const program = watch(searching, '--ndjson', '--state', state);
    await started(program);
    const { code, stderr } = await watch(searching, '--state', state).finished;
    expect([code, stderr]).toEqual([
      2,
      `error: --state: another watch uses ${state}\n  process ${process.pid}\nnext: end it, or choose another file\n`,
    ]);
    await stopped(program);
  });

  test.each([
    [['--state'], [['a', 0]]],
    [[], []],
  ])('%j: what was printed into a file is on the disk before the place moves on', async (flags, expected) => {
    await using searching = await startSearching({ events: 5 });
    const home = searching.env['HOME'] as string;
    const [state, output] = [path.join(home, 'watch.json'), path.join(home, 'events.ndjson')];
    const descriptor = fs.openSync(output, 'w');
    onTestFinished(() => fs.closeSync(descriptor));
    const never = () => expect.unreachable();
    const file = outputOf(descriptor, 'file', never, never);
    const synced: [type: string, placed: number][] = [];
    const sync = async () => {
      const [printed = ''] = fs.readFileSync(output, 'utf8').match(/(?<="eventType":")[^"]+/) ?? [];
      synced.push([printed, JSON.parse(fs.readFileSync(state, 'utf8')).printed.length]);
    };
    const line = ['events', 'watch', '--interval', '1s', '--ndjson', '--count', '1'];
    const program = searching.start([...line, ...flags.flatMap((flag) => [flag, state])], {
      context: { stdout: { ...file, sync } },
    });
    await started(program);
    searching.control.addEvent({ eventType: 'a' });
    expect(await program.finished).toMatchObject({ code: 0 });
    expect(synced).toEqual(expected);
  });

  test.each(['link', 'linked/watch.json'])(
    '--state %s keeps the place in the file that it leads to',
    async (name) => {
      await using searching = await startSearching({ events: 5 });
      const home = searching.env['HOME'] as string;
      const [volume, given] = [path.join(home, 'volume'), path.join(home, name)];
      const target = path.join(volume, 'watch.json');
      mkdirSync(volume);
      symlinkSync(target, path.join(home, 'link'));
      symlinkSync('volume', path.join(home, 'linked'));
      const program = watch(searching, '--ndjson', '--state', given);
      await started(program);
      // The first run has no file yet whose path could be looked up.
      for (const other of [target, given])
        expect((await watch(searching, '--state', other).finished).stderr).toMatch(
          `error: --state: another watch uses ${other}\n`,
        );
      await stopped(program);
      expect(lstatSync(path.join(home, 'link')).isSymbolicLink()).toBe(true);
      expect(readdirSync(volume)).toEqual(['watch.json', 'watch.json.lock']);
      second();
      const { eventId } = searching.control.addEvent();
      const next = await watch(searching, '--ndjson', '--state', target, '--count', '1').finished;
      expect(idsOf(next.stdout)).toEqual([eventId]);
    },
  );

  test('--state takes an empty file, as mktemp makes it, for a new state, and says so even with --quiet', async () => {
    await using searching = await startSearching({ events: 5 });
    const state = path.join(searching.env['HOME'] as string, 'watch.json');
    fs.writeFileSync(state, '');
    const run = () => watch(searching, '--state', state, '--until', 'now', '--quiet').finished;
    const warning = `warning: --state: ${state} is empty: the watch begins anew\n`;
    expect(await run()).toMatchObject({ code: 0, stderr: warning });
    expect(await run()).toMatchObject({ code: 0, stderr: '' });
  });

  test('--state with a place in the future says so, and goes on from now', async () => {
    await using searching = await startSearching({ events: 5 });
    const state = path.join(searching.env['HOME'] as string, 'watch.json');
    const args = ['--ndjson', '--state', state];
    clock.advance(300_000);
    const marked = await watch(searching, ...args, '--until', 'now').finished;
    expect(marked.code).toBe(0);
    expect(marked.stderr).toMatch(/^watching events created after \S+, once: .*--until now; /m);
    clock.advance(-300_000);
    const program = watch(searching, ...args, '--count', '1');
    const said =
      /warning: --state: the place in \S+ is in the future \(2026-11-20T12:\S+Z\), since a clock was wrong/;
    await program.printed('stderr', said);
    await program.printed('stderr', /watching/);
    second();
    const { eventId } = searching.control.addEvent();
    const { code, stdout } = await program.finished;
    expect([code, idsOf(stdout)]).toEqual([0, [eventId]]);
    second();
    const next = await watch(searching, ...args, '--until', 'now').finished;
    expect([next.code, next.stderr]).toEqual([0, expect.not.stringContaining('future')]);
  });

  test('--state on a full disk ends with 1: nothing is wrong with the command', async () => {
    await using searching = await startSearching({ events: 5 });
    const state = path.join(searching.env['HOME'] as string, 'watch.json');
    const { open } = fs.promises;
    const opening = vi.spyOn(fs.promises, 'open').mockImplementation((file, ...rest) => {
      if (!String(file).startsWith(state)) return open(file, ...rest);
      const message = 'ENOSPC: no space left on device, open';
      return Promise.reject(Object.assign(new Error(message), { code: 'ENOSPC', syscall: 'open' }));
    });
    onTestFinished(() => opening.mockRestore());
    expect(await watch(searching, '--ndjson', '--state', state).finished).toMatchObject({
      code: 1,
      stderr:
        `error: --state: ${state} cannot be written: no space left on device (ENOSPC)\n` +
        'next: make room, and run the command again\n',
    });
  });

  test('--count with --timeout ends with 0 if the events came, and with 1 if they did not', async () => {
    await using searching = await startSearching({ events: 5 });
    const waiting = ['--ndjson', '--count', '2', '--timeout', '10m'];
    const program = watch(searching, ...waiting);
    await started(program);
    const ids = [searching.control.addEvent().eventId, searching.control.addEvent().eventId];
    expect(idsOf((await program.finished).stdout)).toEqual(inOrder(searching, ...ids));
    second();
    const vain = watch(searching, ...waiting);
    await started(vain);
    second();
    const { eventId } = searching.control.addEvent();
    await vain.printed('stdout', new RegExp(eventId));
    await clock.asleep(600_000);
    clock.advance(600_000);
    const { code, stdout, stderr } = await vain.finished;
    expect({ code, ids: idsOf(stdout) }).toEqual({ code: 1, ids: [eventId] });
    expect(stderr).toMatch(/^watching .*\nerror: 1 of 2 events came within 10m\n$/);
  });

  test('--count takes no more than are missing of those that come together later', async () => {
    await using searching = await startSearching({ events: 5 });
    const program = watch(searching, '--ndjson', '--count', '3');
    await started(program);
    const first = searching.control.addEvent().eventId;
    await program.printed('stdout', new RegExp(first));
    const later = Array.from({ length: 5 }, () => {
      second();
      return searching.control.addEvent().eventId;
    });
    const { code, stdout } = await program.finished;
    expect([code, idsOf(stdout)]).toEqual([0, [first, ...later.slice(0, 2)]]);
  });

  test('of a time that has passed is refused, unless a place is kept', async () => {
    await using searching = await startSearching({ events: 5 });
    const passed = {
      code: 2,
      stdout: '',
      stderr: "error: --until: 2026-11-20T11:00:00Z has passed: the service's time is 2026-11-20T12:00:00Z\n",
    };
    expect(await watch(searching, '--until', '1h').finished).toEqual(passed);
    // A job goes on from its last run; a time of the calendar was meant for one run.
    const state = path.join(searching.env['HOME'] as string, 'watch.json');
    const atTime = ['--until', '2026-11-20T11:00:00Z', '--state', state];
    expect(await watch(searching, ...atTime).finished).toEqual(passed);
  });

  test('that would begin later is refused', async () => {
    await using searching = await startSearching({ events: 5 });
    const { code, stdout, stderr } = await watch(searching, '--since', '2026-11-20T13:00:00Z').finished;
    expect([code, stdout, stderr.split('\n')[0]]).toEqual([
      2,
      '',
      "error: --since: 2026-11-20T13:00:00Z is in the future: the service's time is 2026-11-20T12:00:00Z",
    ]);
  });

  test('doubts a field that none of the latest events has', async () => {
    await using searching = await startSearching({ events: 5 });
    const program = watch(searching, '--where', 'nosuch = 1');
    await started(program);
    const [doubt] = (await stopped(program)).stderr.split('\n');
    expect(doubt).toMatch(/^warning: --where: .*nosuch.* \(of the latest 5\)$/);
  });

  test('an interrupt while it begins ends it without a word', async () => {
    await using searching = await startSearching({ events: 5 });
    const interrupt = () => program.kill('SIGINT');
    searching.control.fault('events', { kind: 'pass' }, { kind: 'run', run: interrupt });
    const program = watch(searching, '--type', 'no.such');
    expect(await program.finished).toEqual({ code: 130, stdout: '', stderr: '' });
  });

  test('a --timeout shorter than the interval asks once more at its end', async () => {
    clock.skips = 1000;
    await using searching = await startSearching({ events: 5 });
    const waiting = () => searching.start(['events', 'watch', '--ndjson', '--count', '1', '--timeout', '8s']);
    const program = waiting();
    await clock.asleep(8000);
    await started(program);
    const { eventId } = searching.control.addEvent();
    clock.advance(8000);
    const { code, stdout } = await program.finished;
    expect({ code, ids: idsOf(stdout) }).toEqual({ code: 0, ids: [eventId] });
    second();
    const vain = waiting();
    await clock.asleep(8000);
    await started(vain);
    clock.advance(8000);
    const { stderr, ...rest } = await vain.finished;
    expect(rest).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(/^watching .*\nerror: 0 of 1 events came within 8s\n$/);
  });

  test('a --timeout that passes while the service does not answer says so', async () => {
    await using searching = await startSearching({ events: 5 });
    const busy: Fault = { kind: 'status', status: 503, headers: { 'retry-after': '60' } };
    searching.control.fault('events', busy, busy);
    const program = watch(searching, '--count', '1', '--timeout', '10m');
    await clock.asleep(60_000);
    clock.advance(600_000);
    await clock.asleep(10_000);
    clock.advance(10_000);
    expect(await program.finished).toEqual({
      code: 1,
      stdout: '',
      stderr:
        'error: 0 of 1 events came within 10m\n' +
        '  the service did not answer in the end: status 503\n' +
        'next: `hooktrail doctor` finds out why\n',
    });
  });

  test('sees events that appear late, and events that turn FAILED later', async () => {
    await using searching = await startSearching({ events: 5 });
    const ago = (seconds: number) => new Date(clock.now() - seconds * 1000).toISOString();
    const turning = searching.control.addEvent({ publishStatus: 'SUCCESS', createdOn: ago(30) }).eventId;
    const flags = '--ndjson --failed --after 1h --type x --type document.signed'.split(' ');
    const program = watch(searching, ...flags);
    await started(program);
    const first = searching.control.addEvent({ publishStatus: 'FAILED', eventType: 'x' }).eventId;
    await program.printed('stdout', new RegExp(first));
    const late = searching.control.addEvent({
      publishStatus: 'FAILED',
      eventType: 'x',
      createdOn: ago(60),
    }).eventId;
    await program.printed('stdout', new RegExp(late));
    const flips = searching.control.addEvent({
      publishStatus: 'SUCCESS',
      eventType: 'document.signed',
    }).eventId;
    second();
    searching.control.setStatus(flips, 'FAILED');
    await program.printed('stdout', new RegExp(flips));
    const { stdout } = await stopped(program);
    expect(idsOf(stdout).slice(-3)).toEqual([first, late, flips]);
    expect(stdout).not.toContain(turning);
  });

  test.each([[[]], [['--type', 'no.pattern']]])(
    'sees events of a type that the service offers since the watch began, and goes on with those that it offers no more %j',
    async (others) => {
      await using searching = await startSearching({ events: 5 });
      const onlyOffered = (offered: string) =>
        editJson(({ items, ...page }) => ({
          ...page,
          items: items.filter((item: object) => typeName(item) === offered),
        }));
      searching.control.fault('event-types', ...times(2, onlyOffered('document.viewed')));
      const program = watch(searching, '--ndjson', '--type', 'document.*', ...others, '--count', '2');
      await started(program);
      second();
      searching.control.fault('event-types', ...times(50, onlyOffered('document.signed')));
      const later = searching.control.addEvent({ eventType: 'document.signed' }).eventId;
      await program.printed('stdout', new RegExp(later));
      second();
      const viewed = searching.control.addEvent({ eventType: 'document.viewed' }).eventId;
      const { stdout } = await program.finished;
      expect(idsOf(stdout)).toEqual([later, viewed]);
    },
  );

  test.each([
    ['ahead of', 86_400_000],
    ['behind', -86_400_000],
  ])("uses the service's clock if that is %s ours", async (_name, offset) => {
    await using searching = await startSearching({ events: 50 });
    searching.control.behaviour.clockOffsetMs = offset;
    const program = watch(searching, '--ndjson', '--limit', '2');
    const [text] = await started(program);
    expect(text.match(/\S+Z/)?.[0]).toBe(new Date(clock.now() + offset - 1).toISOString());
    const ids = [searching.control.addEvent().eventId, searching.control.addEvent().eventId];
    const { code, stdout } = await program.finished;
    expect(idsOf(stdout)).toEqual(inOrder(searching, ...ids));
    expect(code).toBe(0);
  });

  test('reports an outage once, and its end, and misses no event', async () => {
    await using searching = await startSearching({ events: 5 });
    const program = watch(searching, '--ndjson');
    await started(program);
    const down: Fault = { kind: 'status', status: 404 };
    searching.control.fault('events', down, down, down);
    await program.printed('stderr', /warning: .*404.*; trying again every 1s\n/);
    const ids = [searching.control.addEvent().eventId, searching.control.addEvent().eventId];
    await program.printed('stderr', /the service answers again; everything since was caught up\n/);
    const { stdout, stderr } = await stopped(program);
    expect(idsOf(stdout)).toEqual(inOrder(searching, ...ids));
    expect(stderr.match(/warning/g)).toHaveLength(1);
  });

  test('--json is a valid array however it ends', async () => {
    await using searching = await startSearching({ events: 5 });
    const none = watch(searching, '--json');
    await started(none);
    expect((await stopped(none)).stdout).toBe('[]\n');
    const program = watch(searching, '--json');
    await started(program);
    const { eventId } = searching.control.addEvent();
    await program.printed('stdout', new RegExp(eventId));
    const printed: object[] = JSON.parse((await stopped(program)).stdout);
    expect(printed.map((item) => knownOf(item).eventId)).toEqual([eventId]);
  });

  test('--jq runs on each event; a table and CSV have one header', async () => {
    await using searching = await startSearching({ events: 5 });
    for (const [flags, lines] of [
      [`--jq .${pathInEvent('eventType')}`, 'a.a\nb.b\n'],
      ['--csv --fields eventType', 'eventType\r\na.a\r\nb.b\r\n'],
      ['--fields eventType', 'eventType\na.a\nb.b\n'],
    ] as const) {
      const program = watch(searching, '--limit', '2', ...flags.split(' '));
      await started(program);
      searching.control.addEvent({ eventType: 'a.a' });
      await program.printed('stdout', /a\.a/);
      searching.control.addEvent({ eventType: 'b.b' });
      const { code, stdout } = await program.finished;
      expect([code, stdout]).toEqual([0, lines]);
      second();
    }
  });

  test.each([['--count', '1'], []])(
    '%s: -o markdown ends with the window, filters, count and command',
    async (...count) => {
      await using searching = await startSearching({ events: 5 });
      const program = watch(searching, '--failed', '-o', 'markdown', '--fields', 'eventType', ...count);
      await started(program);
      searching.control.addEvent({ eventType: 'a.a', publishStatus: 'FAILED' });
      await program.printed('stdout', /a\.a/);
      const { stdout } = await (count.length > 0 ? program.finished : stopped(program));
      expect(stdout.replaceAll(/(after|since) \S+Z/g, '$1 TIME').replace(/:\d+;/, ':PORT;')).toBe(
        `| eventType |\n| --- |\n| a.a |\n\n*1 event; 127.0.0.1:PORT; created after TIME; --status FAILED: \`hooktrail ${[
          'events watch --interval 1s --failed -o markdown --fields eventType',
          ...count,
          '--since TIME',
        ].join(' ')}\`*\n`,
      );
    },
  );

  test('with --before it ends by itself', async () => {
    await using searching = await startSearching({ events: 500 });
    const result = await searching.run(['events', 'watch', '--ndjson', '--after', '2d', '--before', '1d']);
    const search = await searching.search('--ndjson', '--after', '2d', '--before', '1d');
    expect(idsOf(result.stdout)).toEqual(idsOf(search.stdout).toReversed());
    expect(result.code).toBe(0);
  });

  test('asks again when --interval is over, and not before', async () => {
    await using searching = await startSearching({ events: 5, tokenLifetimeSeconds: 86_400 });
    const start = clock.now();
    const line = ['events', 'watch', '--ndjson', '--interval', '7m', '--until', '2026-11-20T12:20:00Z'];
    expect((await searching.run(line)).code).toBe(0);
    const asked = searching.sandbox.log.flatMap(({ at, url }) =>
      url.includes('/integrator-events') ? [(at - start) / 60_000] : [],
    );
    expect([...new Set(asked)]).toEqual([0, 7, 14, 21]);
    // It waits no more once it has ended.
    expect((clock.now() - start) / 60_000).toBe(21);
  });

  test.each([
    ['for an hour', 3_605_000, /\nthe machine slept for 1h; catching up\n/],
    ['for less than half a minute', 34_000, /^watching [^\n]*\n$/],
  ])('after the machine slept %s it asks at once', async (_, sleptMs, said) => {
    clock.skips = 1000;
    await using searching = await startSearching({ events: 5, tokenLifetimeSeconds: 86_400 });
    const line = ['events', 'watch', '--ndjson', '--interval', '20s', '--count', '1'];
    const program = searching.start(line);
    await clock.asleep(5000);
    const { eventId } = searching.control.addEvent();
    // The timer stops with the machine, and ends a nap of five seconds when it wakes.
    clock.advance(sleptMs);
    const { code, stdout, stderr } = await program.finished;
    expect({ code, ids: idsOf(stdout) }).toEqual({ code: 0, ids: [eventId] });
    expect(stderr).toMatch(said);
  });

  test('a sign-in that ends is not an outage', async () => {
    await using searching = await startSearching({ events: 5 });
    const program = watch(searching, '--ndjson');
    await started(program);
    searching.sandbox.control.revokeAccessTokens();
    const { code, stderr } = await program.finished;
    expect(code).toBe(4);
    expect(stderr).toMatch(/\nto resume: hooktrail events watch --since .*\n.*\nerror: /);
  });

  test('a failing jq program is not an outage either', async () => {
    await using searching = await startSearching({ events: 5 });
    const program = watch(searching, '--after', '1d', '--jq', '.eventId | keys');
    const { code, stderr } = await program.finished;
    expect(code).toBe(2);
    expect(stderr).toContain('error: --jq: ');
  });
});

describe('a watch says at its start', () => {
  const beginning = async (at: Started, ...args: string[]) => {
    const program = watch(at, ...args);
    await program.printed('stderr', /watching /);
    return (await stopped(program)).stderr.split('\nto resume')[0];
  };

  test.each([
    [[], 'all of them; events that appear more than 2m after their creation are not seen (--overlap)'],
    [
      ['--failed', '--where', 'eventType != x', '--overlap', '1h'],
      "--status FAILED --where 'eventType != x'; events that appear or change their status more than 1h after their creation are not seen (--overlap)",
    ],
    [
      ['--timezone', 'Europe/Berlin'],
      'all of them; events that appear more than 2m after their creation are not seen (--overlap)',
    ],
  ])('which events it waits for, and how far it looks back: %j', async (flags, said) => {
    await using at = await startSearching({ events: 5 });
    const since = flags.includes('Europe/Berlin') ? '2026-11-20T12:00:00+01:00' : '2026-11-20T11:00:00Z';
    expect(await beginning(at, '--since', '1h', ...flags)).toBe(
      `watching events created after ${since}, every 1s: ${said}`,
    );
  });

  test('which subscription and which type has no event, whatever the other filters, and keeps to itself those that have', async () => {
    await using at = await startSearching({ events: 50 });
    const known = at.control.addEvent({ eventType: 'document.signed', publishStatus: 'SUCCESS' });
    const unknown = '11111111-2222-4333-8444-555555555555';
    const flags = ['--failed', '--since', '1s', '--subscription', `${unknown},${known.subscriptionId}`];
    const types = ['--type', 'document.signed', '--type', 'document.singed', '--type', 'user.*'];
    const said = await beginning(at, ...flags, ...types);
    expect(said?.split('\n').filter((line) => line.includes('no event'))).toEqual([
      `warning: no event has the subscription ${unknown} yet`,
      "warning: no event has the type 'document.singed' yet",
    ]);
    expect(said).toContain('next: `hooktrail events health` lists those that have some\n');
  });

  test('which type has no event, with the list of those on offer, for ten of them at most', async () => {
    await using at = await startSearching({ events: 5 });
    const types = Array.from({ length: 12 }, (_, index) => `no.${index}`);
    const said = await beginning(at, ...types.flatMap((type) => ['--type', type]));
    const lines = said?.split('\n').filter((line) => /no event|^next: /.test(line)) ?? [];
    expect(lines).toEqual(
      types
        .slice(0, 10)
        .flatMap((type) => [
          `warning: no event has the type '${type}' yet`,
          'next: `hooktrail event-types` lists the types on offer',
        ]),
    );
  });

  test('the same in a later run, unless it is to be quiet', async () => {
    await using at = await startSearching({ events: 5 });
    const state = path.join(at.env['HOME'] as string, 'place.json');
    const args = ['--type', 'no.such', '--state', state, '--until', 'now', '--overlap', '1h'];
    const run = async (...more: string[]) => (await watch(at, ...args, ...more).finished).stderr;
    expect(await run('--quiet')).toContain("warning: no event has the type 'no.such' yet\n");
    expect(await run()).toMatch(/^no event has the type 'no.such' yet\nwatching from where it stopped, /);
    expect(await run('--quiet')).toBe('');
  });

  test('nothing of silent ones where the service does not answer that question', async () => {
    await using at = await startSearching({ events: 5 });
    at.control.fault('events', { kind: 'pass' }, { kind: 'status', status: 404 });
    const said = await beginning(at, '--subscription', '11111111-2222-4333-8444-555555555555');
    expect(said).toMatch(/^watching [^\n]*$/);
  });
});

describe('a watch with a command', () => {
  test('prints nothing, and says the command where it says how to resume', async () => {
    await using at = await startSearching({ events: 5 });
    const ran: string[] = [];
    const startProgram = async (words: readonly string[], _: unknown, input: Buffer) => {
      ran.push(`${words.join(' ')} ${knownOf(JSON.parse(input.toString())).eventId}`);
      return { ended: Promise.resolve(0), kill: () => undefined };
    };
    const line = ['events', 'watch', '--interval', '1s', '--retry-for', '1m', '--', 'sh', '-c', 'a b'];
    const program = at.start(line, { context: { startProgram } });
    await started(program);
    const { eventId } = at.control.addEvent();
    await expect.poll(() => ran).toEqual([`sh -c a b ${eventId}`]);
    const { code, stdout, stderr } = await stopped(program);
    expect({ code, stdout }).toEqual({ code: 130, stdout: '' });
    expect(stderr).toMatch(
      /\nto resume: hooktrail events watch --since \S+ --interval 1s --retry-for 1m -- sh -c 'a b'\n/,
    );
  });

  test('ends with 0 when the command has run for as many events as --count says', async () => {
    await using at = await startSearching({ events: 5 });
    const startProgram = async () => ({ ended: Promise.resolve(0), kill: () => undefined });
    const line = ['events', 'watch', '--interval', '1s', '--count', '1', '--', 'sh'];
    const program = at.start(line, { context: { startProgram } });
    await started(program);
    at.control.addEvent();
    expect(await program.finished).toMatchObject({
      code: 0,
      stdout: '',
      stderr: expect.stringMatching(/^watching [^\n]*\n$/),
    });
  });

  test('counts what was handled in the time of --timeout, also while it waits to try again', async () => {
    clock.skips = 1000;
    await using at = await startSearching({ events: 5 });
    const startProgram = async () => ({ ended: Promise.resolve(1), kill: () => undefined });
    const line = ['events', 'watch', '--count', '1', '--timeout', '8s', '--', 'sh'];
    const program = at.start(line, { context: { startProgram } });
    await clock.asleep(8000);
    await started(program);
    at.control.addEvent();
    clock.advance(8000);
    await program.printed('stderr', /run again in 2s/);
    clock.advance(10_000);
    const { code, stderr } = await program.finished;
    expect(code).toBe(1);
    expect(stderr).toMatch(/\nerror: 0 of 1 events were handled within 8s\n$/);
  });
});

describe('watch --until now with --state, as cron runs it', () => {
  test('prints only what is new since the last run, and ends', async () => {
    await using at = await startSearching({ events: 20 });
    const file = path.join(at.env['HOME'] as string, 'place.json');
    const flags = '--failed --overlap 1h --until now --ndjson --state'.split(' ');
    const args = ['events', 'watch', ...flags, file];
    const round = async () => {
      const { code, stdout } = await at.run(args);
      return { code, ids: idsOf(stdout) };
    };
    expect(await round()).toEqual({ code: 0, ids: [] });
    // A service whose times are whole seconds dates it to the second in which the watch began.
    const first = at.control.addEvent({
      publishStatus: 'FAILED',
      createdOn: new Date(clock.now()).toISOString(),
    });
    clock.advance(500_000);
    const late = at.control.addEvent({
      publishStatus: 'SUCCESS',
      createdOn: new Date(clock.now() - 300_000).toISOString(),
    });
    const failed = at.control.addEvent({
      publishStatus: 'FAILED',
      createdOn: new Date(clock.now() - 60_000).toISOString(),
    });
    expect(await round()).toEqual({ code: 0, ids: [first.eventId, failed.eventId] });
    clock.advance(500_000);
    at.control.setStatus(late.eventId, 'FAILED');
    expect(await round()).toEqual({ code: 0, ids: [late.eventId] });
    clock.advance(500_000);
    expect(await round()).toEqual({ code: 0, ids: [] });
    // The same place serves a watch that goes on, and the job after it.
    const onward = watch(at, '--failed', '--overlap', '1h', '--state', file, '--ndjson', '--count', '1');
    await onward.printed('stderr', /watching from where it stopped/);
    const next = at.control.addEvent({ publishStatus: 'FAILED' });
    expect(idsOf((await onward.finished).stdout)).toEqual([next.eventId]);
    second();
    expect(await round()).toEqual({ code: 0, ids: [] });
  });

  test('ends with the error if a poll fails, and the next run goes on', async () => {
    await using at = await startSearching({ events: 20 });
    const state = path.join(at.env['HOME'] as string, 'place.json');
    const args = ['events', 'watch', '--since', '1h', '--until', 'now', '--ndjson', '--state', state];
    at.control.fault('events', { kind: 'pass' }, { kind: 'status', status: 404 });
    const failed = await at.run(args);
    expect(failed).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(/\nerror: .*404 Not Found\n/),
    });
    const { eventId } = at.control.addEvent();
    second();
    const next = await at.run(args);
    expect(next.code).toBe(0);
    expect(idsOf(next.stdout)).toContain(eventId);
  });
});
