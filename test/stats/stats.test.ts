import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { provenRate } from '../../src/statistics/proven-rate.ts';
import { clock } from '../support/clock.ts';
import { createHome } from '../support/home.ts';
import { hooktrail, startHooktrail } from '../support/program.ts';
import { startSearching, valuesIn } from '../support/searching.ts';
import { knownOf, textInShape } from '../support/shape.ts';

type Started = Awaited<ReturnType<typeof startSearching>>;
const stats = (searching: Started, ...args: string[]) => searching.run(['events', 'stats', ...args]);
const json = async (searching: Started, ...args: string[]) =>
  JSON.parse((await stats(searching, '--json', ...args)).stdout);
interface Tally {
  eventType: string | null;
  total: number;
  failed: number;
  success: number;
  failureRate: number | null;
}
const DAY = ['--after', '2026-11-01', '--before', '2026-11-02', '--marketplace', 'all'];

/** A sandbox without history, to which some events of one day are added. */
async function startWithDay(): Promise<Started> {
  const searching = await startSearching({ events: 0 });
  const add = (eventType: string, hours: readonly number[], publishStatus: 'FAILED' | 'SUCCESS') => {
    for (const hour of hours) {
      const createdOn = `2026-11-01T${String(hour).padStart(2, '0')}:00:00Z`;
      searching.sandbox.control.addEvent({ eventType, createdOn, publishStatus });
    }
  };
  add('document.signed', [1, 2, 3], 'SUCCESS');
  add('document.signed', [3], 'FAILED');
  add('document.viewed', [6, 7, 8, 9, 10, 11, 12, 13, 23], 'SUCCESS');
  add('envelope.sent', [12, 12], 'FAILED');
  add('not.on.offer', [18], 'FAILED');
  return searching;
}

describe('events stats', () => {
  test('prints types worst first and a time line, aligned and without colour in a pipe', async () => {
    await using searching = await startWithDay();
    const { code, stdout, stderr } = await stats(searching, ...DAY, '--buckets', '4');
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const lines = stdout.split('\n');
    expect(lines.filter((line) => /^(envelope|\(not|document)/.test(line))).toEqual([
      `envelope.sent         2       2   100 %  ${'█'.repeat(30)}`,
      `(not listed)          1       1   100 %  ${'█'.repeat(30)}`,
      'document.signed       1       4  25.0 %  ███████▌',
      'document.viewed       0       9     0 %',
    ]);
    expect(lines.slice(-9)).toEqual([
      'UTC    failed  events    rate  each 6h',
      '00:00       1       4  25.0 %  ███',
      '06:00       0       6     0 %',
      '12:00       2       4  50.0 %  ██████',
      '18:00       1       2  50.0 %  ███',
      '',
      '16 events, 4 failed (25.0 %)',
      'created after 2026-11-01 and before 2026-11-02',
      '',
    ]);
  });

  test('--json has the same numbers, which match a search', async () => {
    await using searching = await startSearching({ events: 3000 });
    const value = await json(searching, '--since', '30d', '--buckets', '7');
    const search = await searching.search('--ndjson', '--after', value.after, '--before', value.before);
    const events = valuesIn(search.stdout).map(knownOf);
    const failed = events.filter(({ publishStatus }) => publishStatus === 'FAILED').length;
    expect(value).toMatchObject({ total: events.length, failed, success: events.length - failed });
    expect(value.failureRate).toBeCloseTo(failed / events.length);
    for (const { eventType, total } of value.types as Tally[])
      expect(total).toBe(events.filter((event) => event.eventType === eventType).length);
    expect(value.buckets).toHaveLength(7);
    for (const { from, to, total } of value.buckets) {
      const own = events.filter(
        ({ createdOn }) => createdOn >= from.slice(0, -1) && createdOn < to.slice(0, -1),
      );
      expect(total).toBe(own.length);
    }
    const rates = (value.types as Tally[]).map((tally) => provenRate(tally.failed ?? 0, tally.total));
    expect(rates).toEqual(rates.toSorted((a, b) => b - a));
    expect(rates[0]).toBeGreaterThan(0.01);
  });

  test.each([
    [1, '2026-11-19T00:00:00Z'],
    [4, '2026-10-27T12:00:00Z'],
    [15, '2026-10-22T00:00:00Z'],
  ])('--buckets %i of thirty days are so many and equal', async (count, firstEnd) => {
    await using searching = await startSearching({ events: 20 });
    const window = ['--since', '2026-10-20', '--until', '2026-11-19'];
    const { buckets } = await json(searching, ...window, '--buckets', `${count}`);
    expect(buckets).toHaveLength(count);
    expect(buckets[0]).toMatchObject({ to: firstEnd, partial: false });
  });

  test('--buckets day has whole days of the zone, and marks those that the window cuts', async () => {
    await using searching = await startSearching({ events: 100 });
    const args = ['--since', '2026-11-18 12:00', '--until', '2026-11-20', '--timezone', 'Europe/Berlin'];
    const { stdout } = await stats(searching, ...args, '--buckets', 'day');
    expect(stdout).toMatch(/^11-18 \(part\) /m);
    expect(stdout).toMatch(/^11-19 +\d/m);
    const { buckets } = await json(searching, ...args, '--buckets', 'day');
    expect(buckets.map(({ from, partial }: { from: string; partial: boolean }) => [from, partial])).toEqual([
      ['2026-11-18T11:00:00Z', true],
      ['2026-11-18T23:00:00Z', false],
    ]);
    const week = await json(searching, '--since', '7d', '--buckets', '7', '--timezone', 'Europe/Berlin');
    const starts = week.buckets.map(({ from }: { from: string }) => from.slice(11));
    expect(starts).toEqual(['12:00:00Z', ...Array.from({ length: 7 }, () => '23:00:00Z')]);
  });

  test('--json has every time as a date-time to the second, however the window was typed', async () => {
    await using searching = await startSearching({ events: 10 });
    const window = ['--since', '2026-11-01', '--until', '2026-11-02 08:30', '--buckets', '2'];
    const { after, before, buckets } = await json(searching, ...window);
    expect([
      after,
      before,
      ...buckets.map(({ from, to }: { from: string; to: string }) => [from, to]),
    ]).toEqual([
      '2026-11-01T00:00:00Z',
      '2026-11-02T08:30:00Z',
      ['2026-11-01T00:00:00Z', '2026-11-01T16:00:00Z'],
      ['2026-11-01T16:00:00Z', '2026-11-02T08:30:00Z'],
    ]);
  });

  test('requests only counts, each once, in UTC windows of the service', async () => {
    await using searching = await startSearching({ events: 10 });
    searching.sandbox.control.behaviour.clockOffsetMs = -5 * 86_400_000;
    const value = await json(searching, '--buckets', '3');
    const end = Date.parse(value.before);
    // The next full second: the service gives its time in seconds.
    expect(end).toBe(clock.now() - 5 * 86_400_000 + 1000);
    expect(end - Date.parse(value.after)).toBe(86_400_000);
    const queries = searching.queries();
    expect(queries.every((query) => query.startsWith(`gt(createdOn,${value.after})&lt(createdOn,`))).toBe(
      true,
    );
    expect(queries.every((query) => query.endsWith('&limit(1,1)'))).toBe(true);
    expect(new Set(queries).size).toBe(queries.length);
    // One more for the events of another publishStatus.
    expect(queries).toHaveLength(2 * (value.types.length + 3) + 1);
  });

  test('a type in the filters is shown even if it has no events and the service does not list it', async () => {
    await using searching = await startWithDay();
    const args = [...DAY, '--type', 'not.on.offer', '--type', 'never.seen', '--buckets', '2'];
    const value = await json(searching, ...args);
    expect(value.types).toEqual([
      { eventType: 'not.on.offer', total: 1, success: 0, failed: 1, failureRate: 1 },
      { eventType: 'never.seen', total: 0, success: 0, failed: 0, failureRate: null },
    ]);
    expect(value.buckets.map(({ total }: Tally) => total)).toEqual([0, 1]);
  });

  test('leaves out events that are neither delivered nor failed, as it does where it reads them', async () => {
    await using searching = await startSearching({ events: 0 });
    for (const [n, publishStatus] of ['SUCCESS', 'PENDING', 'FAILED', 'PENDING', 'SUCCESS'].entries()) {
      const event = { createdOn: `2026-11-01T0${n + 1}:00:00Z`, eventType: 'a', publishStatus };
      searching.sandbox.control.addEvent({ ...event, json: textInShape(event) } as never);
    }
    const warning = 'warning: 2 events skipped: publishStatus is neither SUCCESS nor FAILED\n';
    for (const [args, expected] of [
      [[], warning],
      [['--where', 'eventType = a'], warning],
      [['--failed'], ''],
    ] as const) {
      const { stdout, stderr } = await stats(searching, '--json', '--type', 'a', ...DAY, ...args);
      expect(stderr).toBe(expected);
      const tally = expected
        ? { total: 3, success: 2, failed: 1, failureRate: 1 / 3 }
        : { total: 1, success: null, failed: 1, failureRate: null };
      expect(JSON.parse(stdout)).toMatchObject({ ...tally, types: [{ eventType: 'a', ...tally }] });
    }
  });

  test('takes the outcomes from the filter of the service where the events do not tell them', async () => {
    await using searching = await startSearching({ events: 0 });
    for (let n = 0; n < 9; n++) {
      const createdOn = `2026-11-01T0${n}:00:00Z`;
      const publishStatus = n % 3 === 0 ? 'FAILED' : 'SUCCESS';
      const event = { createdOn, publishStatus, json: JSON.stringify({ createdOn, n }) } as const;
      searching.sandbox.control.addEvent(event);
    }
    const numbers = ['--where', 'n > 2', ...DAY];
    expect(await json(searching, ...numbers)).toMatchObject({ total: 6, success: 4, failed: 2 });
    expect(await json(searching, '--failed', ...numbers)).toMatchObject({
      total: 2,
      success: null,
      failed: 2,
    });
  });

  test('--failed requests only failures', async () => {
    await using searching = await startWithDay();
    const value = await json(searching, ...DAY, '--failed', '--buckets', '1');
    expect(value).toMatchObject({ total: 4, success: null, failed: 4, failureRate: null });
    expect(searching.queries().every((query) => query.includes('eq(publishStatus,FAILED)'))).toBe(true);
    const { stdout } = await stats(searching, ...DAY, '--failed', '--buckets', '1');
    expect(stdout).toMatch(/^4 failed events$/m);
    expect(stdout).not.toContain('rate');
  });

  test('--csv is the table of types, and --jq runs on the object', async () => {
    await using searching = await startWithDay();
    const csv = (await stats(searching, ...DAY, '--csv')).stdout.split('\r\n');
    expect(csv.slice(0, 5)).toEqual([
      'eventType,total,success,failed,failureRate',
      'envelope.sent,2,0,2,1',
      '(not listed),1,0,1,1',
      'document.signed,4,3,1,0.25',
      'document.viewed,9,9,0,0',
    ]);
    expect((await stats(searching, ...DAY, '--jq', '.types[0].eventType')).stdout).toBe('envelope.sent\n');
  });

  test('says if there are no events', async () => {
    await using searching = await startSearching({ events: 0 });
    const { code, stdout } = await stats(searching, ...DAY);
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: 'no events created after 2026-11-01 and before 2026-11-02\n',
    });
    expect((await json(searching, ...DAY)).failureRate).toBeNull();
  });

  test('a locale without UTF-8 gets ASCII characters', async () => {
    await using searching = await startWithDay();
    const { stdout } = await hooktrail(['events', 'stats', ...DAY], {
      env: { ...searching.env, LC_ALL: 'C' },
    });
    expect(stdout).toMatch(/100 % {2}#{30}\n/);
    expect(stdout).toMatch(/^[\x20-\x7e\n]*$/);
  });

  test('a hostile type stays on its line', async () => {
    await using searching = await startSearching({ events: 0 });
    const eventType = '=cmd|\u001b[31m\nx';
    searching.sandbox.control.addEvent({ eventType, createdOn: '2026-11-01T01:00:00Z' });
    const args = [...DAY, '--type', eventType];
    expect((await stats(searching, ...args)).stdout).toContain('=cmd|\\u001b[31m\\u000ax');
    expect((await stats(searching, ...args, '--csv')).stdout).toContain(`"'=cmd|\u001b[31m\nx",1,`);
  });
});

test('in CSV a group of negative numbers is a number', async () => {
  await using home = await createHome();
  const file = path.join(home.env['HOME'] as string, 'a.ndjson');
  await writeFile(file, '{"amount":-5}\n{"amount":"-7"}\n');
  const args = ['events', 'stats', '--from', file, '--by', 'amount', '--csv', '--no-header'];
  const { stdout } = await hooktrail(args, { env: home.env });
  expect(stdout).toBe("'-7,1,0,,0.5,,,\r\n-5,1,0,,0.5,,,\r\n");
});

test('on a terminal the name of a place is inert', async () => {
  await using home = await createHome();
  const file = path.join(home.env['HOME'] as string, 'a\u001b]0;x\u0007.ndjson');
  await writeFile(file, '{"createdOn":"2026-11-02T00:00:00Z","eventType":"a","publishStatus":"SUCCESS"}\n');
  const terminal = startHooktrail(['events', 'stats', '--from', file], { env: home.env, terminal: 200 });
  expect((await terminal.finished).code).toBe(0);
  expect(terminal.screen).not.toContain('\u001b]0;');
  expect(terminal.screen).toContain('a\\u001b]0;x\\u0007.ndjson');
});

test('on a terminal names of types are inert, in every format', async () => {
  await using searching = await startSearching({ events: 1 });
  const name = 'a\u001b]0;x\u0007\u009b\u202eb';
  const body = JSON.stringify({ href: 'x', count: 1, items: [{ name }] });
  for (const format of [[], ['--json'], ['--csv'], ['--jq', '.types[].eventType']]) {
    searching.sandbox.control.fault('event-types', { kind: 'status', status: 200, body });
    const flags = ['--after', '2020-01-01', ...format];
    const terminal = searching.start(['events', 'stats', ...flags], { terminal: 80 });
    expect((await terminal.finished).code).toBe(0);
    expect(terminal.screen).not.toMatch(/\u001b\]|[\u0007\u0080-\u009f\u202e]/);
    if (format.length > 0) expect(terminal.screen).toContain('a\\u001b]0;x\\u0007\\u009b\\u202eb');
  }
});
