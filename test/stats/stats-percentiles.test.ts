import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createHome } from '../support/home.ts';
import { hooktrail } from '../support/program.ts';
import { ndjsonOf, startSearching, valuesIn } from '../support/searching.ts';
import { pathOf, valueAt } from '../support/shape.ts';

let made = 0;
const event = (plan: string, ms: unknown, publishStatus = 'SUCCESS') => {
  const number = String(++made).padStart(12, '0');
  return {
    eventId: `00000000-0000-4000-8000-${number}`,
    eventType: 'document.signed',
    createdOn: `2026-11-01T00:00:${number.slice(-2)}Z`,
    publishStatus,
    subscriptionId: 's',
    ...(ms === undefined ? { plan } : { plan, took: { ms } }),
  };
};
const events = [
  event('gold', 1200),
  event('gold', '90.5'),
  event('gold', 3, 'FAILED'),
  event('free', 7),
  event('free', 'slow', 'FAILED'),
  event('free', undefined),
  event('none', null),
];

let home: Awaited<ReturnType<typeof createHome>>;
let file: string;
beforeAll(async () => {
  home = await createHome();
  file = path.join(home.folder, 'events.ndjson');
  await writeFile(file, ndjsonOf(events));
});
afterAll(() => home[Symbol.asyncDispose]());
const stats = (...args: string[]) =>
  hooktrail(['events', 'stats', '--percentiles', 'took.ms', ...args], { env: home.env });
const stored = (...args: string[]) => stats('--from', file, ...args);

describe('events stats --percentiles', () => {
  test('is a row for all events, which says how many have no number', async () => {
    expect(await stored()).toEqual({
      code: 0,
      stderr: '',
      stdout: [
        'events  failed    rate  p50    p95    p99    max  first                 last                  example',
        '     7       2  28.6 %    7  1,200  1,200  1,200  2026-11-01 00:00:01Z  2026-11-01 00:00:07Z  00000000-0000-4000-8000-000000000001',
        '3 of 7 events without a number in took.ms',
        '',
      ].join('\n'),
    });
  });

  test('is by group with --by, and then says those of all too', async () => {
    expect((await stored('--by', 'plan', '--limit', '2')).stdout.split('\n')).toEqual([
      'plan  events  failed    rate   share   p50    p95    p99    max  first                 last                  example',
      'free       3       1  33.3 %  42.9 %     7      7      7      7  2026-11-01 00:00:04Z  2026-11-01 00:00:06Z  00000000-0000-4000-8000-000000000004',
      'gold       3       1  33.3 %  42.9 %  90.5  1,200  1,200  1,200  2026-11-01 00:00:01Z  2026-11-01 00:00:03Z  00000000-0000-4000-8000-000000000001',
      '1 other group: 1 event (14.3 %)',
      'took.ms of all: p50 7, p95 1,200, p99 1,200, max 1,200',
      '3 of 7 events without a number in took.ms',
      '',
    ]);
  });

  test('--json has the numbers of all events and of each group; a group without any has null', async () => {
    const { stdout } = await stored('--by', 'plan', '--json');
    const value = JSON.parse(stdout);
    expect(value.total).toBe(7);
    expect(value.percentiles).toEqual({
      field: 'took.ms',
      without: 3,
      numbers: 4,
      p50: 7,
      p95: 1200,
      p99: 1200,
      most: 1200,
    });
    expect(value.groups[1]).toEqual({
      by: { plan: 'gold' },
      count: 3,
      failed: 1,
      failureRate: 1 / 3,
      share: 3 / 7,
      numbers: 3,
      p50: 90.5,
      p95: 1200,
      p99: 1200,
      most: 1200,
      first: '2026-11-01T00:00:01Z',
      last: '2026-11-01T00:00:03Z',
      example: '00000000-0000-4000-8000-000000000001',
    });
    expect(value.groups[2]).toMatchObject({ numbers: 0, p50: null, p95: null, p99: null, most: null });
    const lines = valuesIn((await stored('--by', 'plan', '--ndjson')).stdout);
    expect(lines).toEqual(value.groups);
    expect(JSON.parse((await stored('--json')).stdout)).toMatchObject({
      percentiles: value.percentiles,
      groups: [{ by: {}, count: 7, numbers: 4, p50: 7 }],
      others: { groups: 0, count: 0 },
    });
  });

  test('--csv has a column for each, and Markdown says how many are without', async () => {
    expect((await stored('--by', 'plan', '--csv')).stdout.split('\r\n').slice(0, 4)).toEqual([
      'plan,count,failed,failureRate,share,numbers,p50,p95,p99,most,first,last,example',
      `free,3,1,${1 / 3},${3 / 7},1,7,7,7,7,2026-11-01T00:00:04Z,2026-11-01T00:00:06Z,00000000-0000-4000-8000-000000000004`,
      `gold,3,1,${1 / 3},${3 / 7},3,90.5,1200,1200,1200,2026-11-01T00:00:01Z,2026-11-01T00:00:03Z,00000000-0000-4000-8000-000000000001`,
      `none,1,0,0,${1 / 7},0,,,,,2026-11-01T00:00:07Z,2026-11-01T00:00:07Z,00000000-0000-4000-8000-000000000007`,
    ]);
    expect((await stored('--csv', '--csv-bom')).stdout).toBe(
      `\ufeffcount,failed,failureRate,share,numbers,p50,p95,p99,most,first,last,example\r\n7,2,${2 / 7},1,4,7,1200,1200,1200,2026-11-01T00:00:01Z,2026-11-01T00:00:07Z,00000000-0000-4000-8000-000000000001\r\n`,
    );
    expect((await stored('-o', 'markdown')).stdout.split('\n')).toEqual([
      '| events | failed | rate | p50 | p95 | p99 | max | first | last | example |',
      '| ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- | --- | --- |',
      '| 7 | 2 | 28.6 % | 7 | 1,200 | 1,200 | 1,200 | 2026-11-01T00:00:01Z | 2026-11-01T00:00:07Z | 00000000-0000-4000-8000-000000000001 |',
      '',
      `*7 events; from ${file}; 3 of 7 events without a number in took.ms: \`hooktrail events stats --percentiles took.ms --from ${file} -o markdown\`*`,
      '',
    ]);
  });

  test('every digit of a number is kept, in tables and in JSON', async () => {
    const amounts = ['123456789012345679', '"123456789012345677"', '123456789012345678', '0.10'];
    const exact = path.join(home.folder, 'amounts.ndjson');
    await writeFile(exact, amounts.map((amount) => `{"amount":${amount}}\n`).join(''));
    const args = ['events', 'stats', '--percentiles', 'amount', '--from', exact];
    const { stdout } = await hooktrail(args, { env: home.env });
    expect(stdout).toContain('123,456,789,012,345,677  123,456,789,012,345,679');
    const json = JSON.parse((await hooktrail([...args, '--json'], { env: home.env })).stdout);
    expect(json.percentiles).toMatchObject({
      numbers: 4,
      without: 0,
      p50: '123456789012345677',
      most: '123456789012345679',
    });
  });

  test('goes with --buckets, a row for each part of the time', async () => {
    const days = ['--since', '2026-10-31 12:00', '--until', '2026-11-02', '--buckets', 'day'];
    expect((await stored(...days)).stdout).toBe(
      [
        'UTC           events  failed  p50    p95    p99    max',
        '10-31 (part)       0       0    -      -      -      -',
        '11-01              7       2    7  1,200  1,200  1,200',
        'took.ms of all: p50 7, p95 1,200, p99 1,200, max 1,200',
        '3 of 7 events without a number in took.ms',
        'created after 2026-10-31T12:00Z and before 2026-11-02',
        '',
      ].join('\n'),
    );
    const { buckets } = JSON.parse((await stored('--buckets', 'hour', '--json')).stdout);
    expect(buckets).toEqual([
      {
        ...{ from: '2026-11-01T00:00:00.999Z', to: '2026-11-01T00:00:08Z', partial: false },
        ...{ count: 7, failed: 2, numbers: 4, p50: 7, p95: 1200, p99: 1200, most: 1200 },
      },
    ]);
    expect((await stored(...days, '--csv')).stdout).toBe(
      [
        'from,to,count,failed,numbers,p50,p95,p99,most,partial',
        '2026-10-31T12:00:00Z,2026-11-01T00:00:00Z,0,0,0,,,,,true',
        '2026-11-01T00:00:00Z,2026-11-02T00:00:00Z,7,2,4,7,1200,1200,1200,false',
        '',
      ].join('\r\n'),
    );
  });

  test('a field that no event has, or none as a number, is a warning', async () => {
    const misspelt = ['events', 'stats', '--percentiles', 'took.mss', '--from', file];
    expect(await hooktrail(misspelt, { env: home.env })).toMatchObject({
      code: 0,
      stderr: "warning: --percentiles: no event has the field 'took.mss'; did you mean took.ms?\n",
    });
    const text = ['events', 'stats', '--percentiles', 'plan', '--from', file];
    const { stdout, stderr } = await hooktrail(text, { env: home.env });
    expect(stderr).toBe('warning: --percentiles: no event has a number in plan\n');
    expect(stdout).toContain('7 of 7 events without a number in plan\n');
  });

  test('says that nothing matches', async () => {
    expect(await stored('--where', 'plan = gold', '--since', '2026-11-02')).toMatchObject({
      code: 0,
      stdout: 'no events match\ncreated after 2026-11-02 and before 2026-11-20T12:00:01Z\n',
    });
  });

  test.each([
    [
      ['--buckets', 'dy'],
      "--buckets: invalid value 'dy': must be hour, day, week or a whole number from 1 to 500",
    ],
    [['--limit', '3'], '--limit needs --by: the fields to group by'],
  ])('%j is refused', async (flags, message) => {
    const { code, stderr } = await stored(...flags);
    expect({ code, stderr: stderr.split('\n')[0] }).toEqual({ code: 2, stderr: `error: ${message}` });
  });

  test('over the service has the numbers of a search', async () => {
    await using searching = await startSearching({ events: 300 });
    const field = pathOf('amount.value');
    const filters = ['--since', '30d', '--where', field];
    const args = ['events', 'stats', '--percentiles', field, ...filters];
    const { percentiles } = JSON.parse((await searching.run([...args, '--json'])).stdout);
    const found = valuesIn((await searching.search('--ndjson', ...filters)).stdout);
    const numbers = found.map((item) => Number(valueAt(item, 'amount.value'))).sort((a, b) => a - b);
    expect(numbers.length).toBeGreaterThan(5);
    const at = (percent: number) => numbers[Math.ceil((percent * numbers.length) / 100) - 1];
    expect(percentiles).toEqual({
      field,
      without: 0,
      numbers: numbers.length,
      ...{ p50: at(50), p95: at(95), p99: at(99), most: at(100) },
    });
  });
});
