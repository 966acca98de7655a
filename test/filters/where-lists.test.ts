import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { idsOf, type Searching, startSearching, valuesIn } from '../support/searching.ts';
import { textInShape } from '../support/shape.ts';

const id = (number: number) => `0000000${number}-0000-4000-8000-000000000000`;
const SUBSCRIPTION = '50b2863f-0d3c-4f6a-9d0e-0e9a3c1d2b4f';

/** Friday, Saturday and Sunday, a failure among them. */
const ORDERS = [
  {
    createdOn: '2026-11-20T08:30:00Z',
    publishStatus: 'FAILED',
    lines: [{ sku: 'A-7', qty: 3 }, { sku: 'B-1', qty: 12 }, { qty: 1 }],
    body: '{"order":{"currency":"EUR"}}',
    email: 'ann@harbour.example',
  },
  {
    createdOn: '2026-11-19T23:10:00Z',
    publishStatus: 'SUCCESS',
    lines: [
      { sku: 'B-1', qty: 2 },
      { sku: 'B-1', qty: 4 },
    ],
    body: '{"order":{"currency":"USD"}}',
    email: 'bo@mail.harbour.example',
  },
  {
    createdOn: '2026-11-18T05:00:00Z',
    publishStatus: 'SUCCESS',
    lines: [],
    body: 'none',
    email: null,
  },
].map((fields, index) => ({
  eventId: id(index + 1),
  eventType: 'order.placed',
  subscriptionId: SUBSCRIPTION,
  ...fields,
}));

let at: Searching;
let file: string;
beforeAll(async () => {
  at = await startSearching({ events: 0 });
  const lines = ORDERS.map((order) => textInShape(order));
  for (const [index, json] of lines.entries()) {
    const { eventId, eventType, subscriptionId, createdOn, publishStatus } = ORDERS[
      index
    ] as (typeof ORDERS)[number];
    at.control.addEvent({
      json,
      eventId,
      eventType,
      subscriptionId,
      createdOn,
      publishStatus: publishStatus as 'FAILED',
    });
  }
  file = path.join(at.env['HOME'] as string, 'orders.ndjson');
  await writeFile(file, `${lines.join('\n')}\n`);
});
afterAll(() => at[Symbol.asyncDispose]());

describe.each(['the service', 'a file'])('events of %s', (place) => {
  const events = (command: string, ...args: string[]) =>
    at.run(['events', command, '--since', '30d', ...args, ...(place === 'a file' ? ['--from', file] : [])]);
  const found = async (...conditions: string[]) => {
    const flags = conditions.flatMap((condition) => ['--where', condition]);
    const { code, stdout } = await events('search', '--ndjson', ...flags);
    expect(code).toBe(0);
    return idsOf(stdout).map((one) => Number(one[7]));
  };

  test('are found by any element, by texts that are JSON, and by what is derived', async () => {
    expect(await found('lines[].sku = B-1')).toEqual([1, 2]);
    expect(await found('lines[].sku != B-1')).toEqual([3]);
    expect(await found('lines[].sku = A-7', 'lines[].qty = 12')).toEqual([1]);
    expect(await found('lines[].sku in (A-7, C-1)')).toEqual([1]);
    expect(await found('!lines[].sku')).toEqual([3]);
    expect(await found('lines[].sku')).toEqual([1, 2]);
    expect(await found('lines:length = 0')).toEqual([3]);
    expect(await found('body.order.currency = USD')).toEqual([2]);
    expect(await found('email:domain ~ harbour')).toEqual([1, 2]);
    expect(await found('createdOn:weekday = thu')).toEqual([2]);
    expect(await found('createdOn:hour < 8')).toEqual([3]);
    expect(await found('item:size > 0')).toEqual([1, 2, 3]);
    const { stdout } = await events('count', '--where', 'lines[].qty > 3', '--timezone', 'Europe/Berlin');
    expect(stdout).toBe('2\n');
  });

  test('are found by what none of their values is', async () => {
    const list = path.join(at.env['HOME'] as string, 'by-hand.txt');
    await writeFile(list, 'A-7\r\nC-1\r\n');
    expect(await found('lines[].sku not in (A-7, C-1)')).toEqual([2, 3]);
    expect(await found(`lines[].sku NOT IN @${list}`)).toEqual([2, 3]);
    expect(await found('email not in (null)', 'lines[].sku not in (C-1)')).toEqual([1, 2]);
  });

  test('are counted in the group of each value, in the zone', async () => {
    const { stdout } = await events('stats', '--by', 'lines[].sku', '--json');
    const { total, groups } = JSON.parse(stdout);
    expect({
      total,
      groups: groups.map((one: { by: object; count: number }) => [one.by, one.count]),
    }).toEqual({
      total: 3,
      groups: [
        [{ 'lines[].sku': null }, 2],
        [{ 'lines[].sku': 'B-1' }, 2],
        [{ 'lines[].sku': 'A-7' }, 1],
      ],
    });
    const zone = ['--timezone', 'Europe/Berlin'];
    const hours = await events('stats', '--by', 'createdOn:weekday,createdOn:hour', '--ndjson', ...zone);
    expect(valuesIn(hours.stdout).map((one) => (one as { by: object }).by)).toEqual([
      { 'createdOn:weekday': 'Friday', 'createdOn:hour': 0 },
      { 'createdOn:weekday': 'Friday', 'createdOn:hour': 9 },
      { 'createdOn:weekday': 'Wednesday', 'createdOn:hour': 6 },
    ]);
  });

  test('say in the table that groups share events', async () => {
    const { stdout, stderr } = await events('stats', '--by', 'lines[].sku', '--limit', '1');
    const [heads, row, ...rest] = stdout.split('\n');
    expect({ heads, row, rest: rest.slice(0, 2), stderr }).toEqual({
      heads: expect.stringMatching(/^sku +events +failed +rate +share +first +last +example$/),
      row: expect.stringMatching(/^- +2 +1 +50\.0 % +66\.7 % +/),
      rest: ['2 other groups', 'events with several values are counted in several groups'],
      stderr: expect.any(String),
    });
  });

  test('have percentiles of all elements', async () => {
    const { stdout } = await events('stats', '--percentiles', 'lines[].qty', '--json');
    const { percentiles } = JSON.parse(stdout);
    expect(percentiles).toEqual({
      field: 'lines[].qty',
      without: 1,
      numbers: 5,
      p50: 3,
      p95: 12,
      p99: 12,
      most: 12,
    });
  });

  test('have a health by each value', async () => {
    const { stdout } = await events('health', '--by', 'lines[].sku', '--json');
    const rows = JSON.parse(stdout).map(
      ({
        value,
        failed,
        events: count,
        recent,
      }: {
        value: string;
        failed: number;
        events: number;
        recent: string;
      }) => [value, failed, count, recent],
    );
    expect(rows.toSorted()).toEqual([
      [null, 1, 2, 'FS'],
      ['A-7', 1, 1, 'F'],
      ['B-1', 1, 2, 'FS'],
    ]);
  });

  test('are printed with the list of values', async () => {
    const fields = [
      '--fields',
      'eventId,lines[].sku,lines[].qty,body.order.currency,createdOn:hour,email:domain',
    ];
    const values = [
      [id(1), ['A-7', 'B-1', null], [3, 12, 1], 'EUR', 8, 'harbour.example'],
      [id(2), ['B-1', 'B-1'], [2, 4], 'USD', 23, 'mail.harbour.example'],
      [id(3), [], [], null, 5, null],
    ];
    const json = await events('search', '--json', ...fields);
    expect(JSON.parse(json.stdout).map(Object.values)).toEqual(values);
    expect(Object.keys(JSON.parse(json.stdout)[0])).toEqual(fields[1]?.split(','));
    expect((await events('search', '--csv', ...fields)).stdout).toBe(
      [
        'eventId,lines[].sku,lines[].qty,body.order.currency,createdOn:hour,email:domain',
        `${id(1)},"[""A-7"",""B-1"",null]","[3,12,1]",EUR,8,harbour.example`,
        `${id(2)},"[""B-1"",""B-1""]","[2,4]",USD,23,mail.harbour.example`,
        `${id(3)},[],[],,5,`,
        '',
      ].join('\r\n'),
    );
    expect((await events('search', ...fields)).stdout).toBe(
      [
        'eventId                               sku      qty     currency  createdOn:hour  email:domain',
        `${id(1)}  A-7 B-1  3 12 1  EUR                    8  harbour.example`,
        `${id(2)}  B-1 B-1  2 4     USD                   23  mail.harbour.example`,
        `${id(3)}  []       []      -                      5  -`,
        '',
      ].join('\n'),
    );
    expect((await events('search', '--jq', '.[0]."lines[].sku"[0]', ...fields)).stdout).toBe('A-7\n');
    const there = await events(
      'search',
      '--ndjson',
      '--fields',
      'createdOn:hour',
      '--timezone',
      'Asia/Kolkata',
    );
    expect(valuesIn(there.stdout)).toEqual([14, 4, 10].map((hour) => ({ 'createdOn:hour': hour })));
  });

  test('leave a doubt that names the list', async () => {
    const { stderr } = await events(
      'search',
      '--where',
      'lines.sku = A-7',
      '--fields',
      'lines.*.qty,eventId',
    );
    expect(stderr).toContain(
      "warning: --where: no event has the field 'lines.sku'; did you mean lines[].sku? (3 events looked at)\n",
    );
    const picked = await events('search', '--fields', 'lines.*.qty,createdOn:minute');
    expect(picked.stderr).toContain(
      "warning: --fields: no event has the field 'lines.*.qty'; did you mean lines[].qty?\n",
    );
    expect(picked.stderr).toContain(
      "warning: --fields: no event has the field 'createdOn:minute'; of a field there are",
    );
    expect((await events('stats', '--by', 'lines.sku')).stderr).toContain(
      "warning: --by: no event has the field 'lines.sku'; did you mean lines[].sku?\n",
    );
  });
});
