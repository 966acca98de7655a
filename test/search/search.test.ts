import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { clock, clockWith } from '../support/clock.ts';
import { hooktrail } from '../support/program.ts';
import type { Fault } from '../support/sandbox.ts';
import { idsOf, startSearching, valuesIn } from '../support/searching.ts';
import { knownOf } from '../support/shape.ts';

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

  test('events whose id is null or empty are told apart', async () => {
    await using searching = await startSearching({ events: 0 });
    for (let n = 0; n < 25; n++) {
      const createdOn = `2026-11-20T08:00:${String(n).padStart(2, '0')}Z`;
      const json = `{"eventId":${n % 2 ? 'null' : '""'},"createdOn":"${createdOn}","n":${n}}`;
      searching.sandbox.control.addEvent({ createdOn, json });
    }
    const { stderr, stdout } = await searching.search('--page-size', '2', '--jq', '.[].n');
    expect([stderr, stdout]).toEqual(['', `${[...Array(25).keys()].reverse().join('\n')}\n`]);
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
    const program = searching.start(['events', 'search', '--ndjson', '--page-size', '10']);
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
      const program = searching.start(['events', 'search', '--ndjson', '--page-size', '10']);
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

const HOUR = 3_600_000;
const ago = (hours: number) => new Date(clock.now() - hours * HOUR).toISOString();

describe('--type', () => {
  test('ignores case, and takes * for all types on offer that match', async () => {
    await using at = await startSearching({ events: 400 });
    const all = valuesIn((await at.search('--ndjson')).stdout);
    const ofType = (wanted: RegExp) =>
      all
        .map(knownOf)
        .filter(({ eventType }) => wanted.test(eventType))
        .map(({ eventId }) => eventId);
    const signed = ofType(/^document\.signed$/);
    expect(signed.length).toBeGreaterThan(5);
    expect(idsOf((await at.search('--ndjson', '--type', 'Document.SIGNED')).stdout)).toEqual(signed);
    const several = idsOf((await at.search('--ndjson', '--type', 'DOCUMENT.*,envelope.sent')).stdout);
    expect(several.sort()).toEqual(ofType(/^document\.|^envelope\.sent$/).sort());
    const counted = await at.run(['events', 'count', '--type', 'document.*']);
    expect(counted).toEqual({ code: 0, stdout: `${ofType(/^document\./).length}\n`, stderr: '' });
    // A pattern stands for what is on offer now; a name that was listed before is known.
    expect(idsOf((await at.search('--ndjson', '--type', 'document.SIGNED')).stdout)).toHaveLength(
      signed.length,
    );
    expect(at.sandbox.log.filter(({ url }) => url.endsWith('/event-types'))).toHaveLength(3);
    const dry = await at.search('--dry-run', '--type', 'document.s*');
    expect(dry.stdout.match(/eq\(eventType,[^)]*\)/g)).toEqual(['eq(eventType,document.signed)']);
    const file = path.join(at.env['HOME'] as string, 'all.ndjson');
    await writeFile(file, (await at.search('--ndjson')).stdout);
    expect(idsOf((await at.search('--ndjson', '--from', file, '--type', 'DOCUMENT.*')).stdout)).toEqual(
      ofType(/^document\./),
    );
    expect(await readFile(file, 'utf8')).toContain('document.signed');
  });

  test('is understood by every command over events', async () => {
    await using at = await startSearching({ events: 60 });
    const home = at.env['HOME'] as string;
    const asked = async (...args: string[]) => {
      const before = at.queries().length;
      await hooktrail([...args, '--type', 'DOCUMENT.S*'], { env: { ...at.env, HOOKTRAIL_API_TOKEN: 'x' } });
      const types = at
        .queries()
        .slice(before)
        .flatMap((query) => query.match(/eq\(eventType,[^)]*\)/g) ?? []);
      return [...new Set(types)];
    };
    const window = ['--since', '7d'];
    for (const args of [
      ['events', 'count', ...window],
      ['events', 'stats', ...window],
      ['events', 'explain', ...window],
      ['events', 'health', ...window],
      ['events', 'report', path.join(home, 'r.html'), ...window],
      ['events', 'export', path.join(home, 'out'), ...window],
      ['events', 'watch', '--until', 'now', ...window],
      ['webhooks', 'recover', '--dry-run', '--new-journal', ...window],
      ['webhooks', 'replay', '--dry-run', ...window],
    ])
      expect([args, await asked(...args)]).toEqual([args, ['eq(eventType,document.signed)']]);
  });

  test('an event type that is no longer on offer is searched for as it is typed', async () => {
    await using at = await startSearching({ events: 10 });
    const { eventId } = at.sandbox.control.addEvent({ eventType: 'Old.Type' });
    expect(idsOf((await at.search('--ndjson', '--type', 'Old.Type')).stdout)).toEqual([eventId]);
  });
});

test('a start in the future is one by the service’s clock, not by a wrong one of this machine', async () => {
  await using at = await startSearching({ events: 10 });
  const since = new Date(clock.now() - HOUR).toISOString();
  const slow = clockWith({ now: () => clock.now() - 48 * HOUR });
  const { code, stderr } = await at.run(['events', 'count', '--since', since], { context: { clock: slow } });
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
});

describe('--reverse', () => {
  test.each(['newest-first', 'oldest-first'] as const)(
    'prints the oldest first, with a service that lists %s',
    async (order) => {
      await using at = await startSearching({ events: 120 });
      at.sandbox.control.behaviour.order = order;
      const oldest = at.sandbox.control.store.newestIds(120).reverse();
      const ids = async (...args: string[]) =>
        idsOf((await at.search('--ndjson', '--reverse', ...args)).stdout);
      expect(await ids('--page-size', '50')).toEqual(oldest);
      expect(await ids('--limit', '7')).toEqual(oldest.slice(0, 7));
      expect(await ids('--limit', '1')).toEqual(oldest.slice(0, 1));
      expect(await ids('--limit', '500')).toEqual(oldest);
      const failed = idsOf((await at.search('--ndjson', '--failed')).stdout);
      if (order === 'newest-first') failed.reverse();
      expect(await ids('--where', 'publishStatus = FAILED', '--limit', '3')).toEqual(failed.slice(0, 3));
      expect(await ids('--status', 'FAILED,SUCCESS', '--limit', '30')).toEqual(oldest.slice(0, 30));
      const file = path.join(at.env['HOME'] as string, `${order}.ndjson`);
      await writeFile(file, (await at.search('--ndjson')).stdout);
      expect(await ids('--from', file, '-n', '5')).toEqual(oldest.slice(0, 5));
    },
  );

  test('asks for the oldest events at once, not for all before them', async () => {
    await using at = await startSearching({ events: 5000 });
    const { stdout } = await at.search('--ndjson', '--reverse', '-n', '10');
    expect(idsOf(stdout)).toEqual(at.sandbox.control.store.newestIds(5000).reverse().slice(0, 10));
    expect(at.queries()).toEqual(['limit(1,10)', 'limit(1,1)', 'limit(4991,10)']);
  });

  test.each([
    ['once', 1],
    ['each time that the end is looked for', 4],
  ])('has the oldest events also if some join them meanwhile, %s', async (_, joining) => {
    await using at = await startSearching({ events: 300 });
    const [oldest = ''] = at.control.store.newestIds(300).slice(-1);
    const before = Date.parse(at.control.store.find(oldest)?.createdOn as string);
    let added = 0;
    const run = () =>
      void at.control.addEvent({ createdOn: new Date(before - 60_000 * ++added).toISOString() });
    // The first page, and each time the count; the event joins before the page that was counted is asked for.
    const look: Fault[] = [{ kind: 'pass' }, { kind: 'run', run }];
    at.control.fault('events', { kind: 'pass' }, ...Array.from({ length: joining }, () => look).flat());
    const { code, stdout } = await at.search('--ndjson', '--reverse', '-n', '3');
    expect(code).toBe(0);
    const all = at.control.store.newestIds(300 + added);
    expect(idsOf(stdout)).toEqual(all.slice(-3).reverse());
    expect(added).toBeGreaterThan(0);
  });

  test('has the oldest events also if the page with them is shorter than it was asked for', async () => {
    await using at = await startSearching({ events: 300 });
    const edit: Extract<Fault, { kind: 'edit' }>['edit'] = (answer) => {
      const page = JSON.parse(answer.body.toString());
      return { ...answer, body: Buffer.from(JSON.stringify({ ...page, items: page.items.slice(0, -1) })) };
    };
    at.control.fault('events', { kind: 'pass' }, { kind: 'pass' }, { kind: 'edit', edit });
    const { code, stdout } = await at.search('--ndjson', '--reverse', '-n', '3');
    expect(at.control.pendingFaults).toBe(0);
    expect([code, idsOf(stdout)]).toEqual([0, at.control.store.newestIds(300).slice(-3).reverse()]);
  });

  test('reads everything where the service gives no counts', async () => {
    await using at = await startSearching({ events: 90 });
    at.sandbox.control.behaviour.omit = ['count'];
    const { stdout } = await at.search('--ndjson', '--reverse', '-n', '10', '--page-size', '20');
    expect(idsOf(stdout)).toEqual(at.sandbox.control.store.newestIds(90).reverse().slice(0, 10));
  });

  test('on a terminal shows the oldest rows', async () => {
    await using at = await startSearching({ events: 0 });
    for (const hours of [3, 2, 1])
      at.sandbox.control.addEvent({ createdOn: ago(hours), eventType: `h${hours}` });
    const { stdout } = await at.run(['events', 'search', '--reverse', '--fields', 'eventType']);
    expect(stdout).toBe('eventType\nh3\nh2\nh1\n');
  });
});
