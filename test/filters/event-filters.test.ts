import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { UsageError } from '../../src/errors.ts';
import { EventFilters, typeMatcher } from '../../src/filters/event-filters.ts';
import { eventFilters, type FilterFlags } from '../../src/filters/filter-flags.ts';
import { memberPath } from '../../src/items/field-path.ts';
import { Items } from '../../src/items/items.ts';
import { queryString } from '../../src/paging/event-query.ts';
import { askPage, readPage } from '../../src/paging/page.ts';
import { shellText } from '../../src/shell-words.ts';
import { byServiceClock } from '../../src/sources/service-clock.ts';
import { TimeZone, UTC } from '../../src/time/time-zone.ts';
import { createHome } from '../support/home.ts';

const NOW = Date.parse('2026-11-21T10:00:00Z');
const HOUR = 3_600_000;
const ID = '0f8fad5b-d9cb-469f-a165-70867728950e';
const OTHER = '7c9e6679-7425-40de-944b-e07fc1f90ae7';
const queries = (flags: FilterFlags) =>
  eventFilters(flags, NOW)
    .queries(NOW)
    .map((query) => queryString(query));

describe('filters', () => {
  test('with commas are lists, each value once', () => {
    expect(queries({ status: ['failed,Success'], type: ['a.b, c', 'a.b'] })).toEqual([
      'eq(publishStatus,FAILED)&eq(eventType,a.b)',
      'eq(publishStatus,FAILED)&eq(eventType,c)',
      'eq(publishStatus,SUCCESS)&eq(eventType,a.b)',
      'eq(publishStatus,SUCCESS)&eq(eventType,c)',
    ]);
    expect(queries({ type: ['a\\,b'] })).toEqual(['eq(eventType,a%2Cb)']);
    expect(queries({ subscription: [`${ID}, {${OTHER}}`] })).toEqual([
      `eq(subscriptionId,${ID})`,
      `eq(subscriptionId,${OTHER})`,
    ]);
    expect(queries({ id: [`event ${ID}, of today`, ID.toUpperCase()] })).toEqual([`eq(eventId,${ID})`]);
    expect(queries({ id: [`${ID},`] })).toEqual([`eq(eventId,${ID})`]);
  });

  test('with an id have no part that is left out without a word', () => {
    expect(() => queries({ id: [`${ID},0f8fad5b-d9cb`] })).toThrow(
      "--id: '0f8fad5b-d9cb' is not a GUID such as",
    );
    const filters = eventFilters({ subscription: [`${ID}, billing`] }, NOW);
    expect([filters.subscriptionIds, filters.subscriptionWords]).toEqual([[ID], ['billing']]);
    const stored = { subscription: [`${ID}, billing`], from: 'x' };
    const { nameWords } = eventFilters(stored, NOW, UTC, memberPath('customer'));
    expect(nameWords).toEqual(['billing', ID]);
    for (const text of ['', ' ', ',']) expect(() => queries({ id: [text] })).toThrow('is not a GUID');
  });

  test('convert back to words of a command line', () => {
    const filters = eventFilters({ after: '2h', failed: true, type: ["it's", 'a\\,b'] }, NOW);
    expect(shellText(filters.words('status'))).toBe(`--since 2h --type 'a\\,b' --type 'it'\\''s'`);
  });
});

describe("this machine's clock", () => {
  const baseUrl = new URL('https://events.example.com');
  const ask = async (flags: FilterFlags, skew: number) => {
    const asked: string[] = [];
    const doubts: string[] = [];
    const fetchPage = async (asking: URL) => {
      asked.push(asking.search);
      return { page: readPage(Buffer.from('{"items":[]}')), serviceTime: NOW };
    };
    const found = await byServiceClock(
      eventFilters(flags, NOW),
      { baseUrl, fetchPage },
      1,
      { now: () => NOW + skew },
      (doubt) => doubts.push(doubt),
    );
    await askPage(found.client, found.queries[0] as object, { start: 1, count: 1 });
    return { asked, doubts, queries: found.queries.map((query) => queryString(query)) };
  };

  test.each([
    [HOUR, 'ahead of'],
    [-HOUR, 'behind'],
  ])("wrong by %i ms hides nothing: spans ago count from the service's", async (skew, word) => {
    const { asked, doubts, queries } = await ask({ since: '15m' }, skew);
    expect(queries).toEqual(['gt(createdOn,2026-11-21T09:45:00Z)']);
    expect(asked).toHaveLength(2);
    expect(doubts).toEqual([
      `this machine's clock is 3600 s ${word} the service's: times are counted from the service's`,
    ]);
  });

  test('needs no request if it is right', async () => {
    const { asked, doubts } = await ask({ since: '15m' }, 900);
    expect(asked).toHaveLength(1);
    expect(doubts).toEqual([]);
  });

  test('is not checked if times are absolute', async () => {
    const { asked, queries } = await ask({ since: '2026-11-21', type: ['a'] }, HOUR);
    expect(queries).toEqual(['gt(createdOn,2026-11-21)&eq(eventType,a)']);
    expect(asked).toHaveLength(1);
  });
});

test('filters as typed mean the same in another zone', () => {
  const zone = new TimeZone('Europe/Berlin');
  const typed = (flags: FilterFlags) => eventFilters(flags, NOW, zone).typed();
  expect(typed({ since: '2026-11-01', until: '2026-11-02 08:00Z' })).toEqual({
    after: '2026-10-31T23:00:00Z',
    before: '2026-11-02T08:00Z',
  });
  expect(typed({ since: '2h', failed: true })).toEqual({ after: '2h', status: ['FAILED'] });
  expect(typed({ since: 'yesterday' })).toEqual({ after: 'yesterday', timezone: 'Europe/Berlin' });
  expect(typed({ where: ['createdOn > 2026-11-01'] })).toEqual({
    where: ['createdOn > 2026-11-01'],
    timezone: 'Europe/Berlin',
  });
  expect(eventFilters({ since: 'yesterday', timezone: 'Europe/Berlin' }, NOW, zone).words()).toEqual([
    ...['--since', 'yesterday', '--timezone', 'Europe/Berlin'],
  ]);
  // A saved zone is the next command's too.
  expect(eventFilters({ since: 'yesterday' }, NOW, zone).words()).toEqual(['--since', 'yesterday']);
});

test('--marketplace all goes into next steps where the line has it, and a saved choice never does', () => {
  const words = (parts: ConstructorParameters<typeof EventFilters>[0]) => new EventFilters(parts).words();
  expect(words({ marketplaceChoice: 'line' })).toEqual(['--marketplace', 'all']);
  expect(words({ marketplaceChoice: 'line', marketplaces: ['1', '2'] })).toEqual(['--marketplace', '1,2']);
  expect(words({ marketplaceChoice: 'settings', marketplaces: ['1'] })).toEqual([]);
});

test('--where takes values from the lines of a file, with a byte order mark and CR LF or without', async () => {
  await using home = await createHome();
  const file = path.join(home.folder, 'orders.txt');
  await writeFile(file, '\ufeffa-1\r\nb, 2\r\n\r\nc-3');
  const keep = eventFilters({ where: [`order in @${file}`] }, NOW).createKeep();
  const items = ['a-1', 'b, 2', 'b', 'c-3', ''].map((order) => Buffer.from(JSON.stringify({ order })));
  expect(keep?.(Items.of(items)).count).toBe(3);
  expect(() => eventFilters({ where: [`order in @${file}.not`] }, NOW)).toThrow(
    /^--where: @.*cannot be read/,
  );
  for (const empty of ['', '\r\n', '\ufeff \n']) {
    await writeFile(file, empty);
    expect(() => eventFilters({ where: [`order in @${file}`] }, NOW)).toThrow(
      new UsageError(`--where: @${file} holds no value`, { next: 'give it one value a line' }),
    );
  }
});

test('a condition on an hour or a weekday, or on one of several times, means its zone', () => {
  const berlin = new TimeZone('Europe/Berlin');
  const zoneOf = (condition: string) => eventFilters({ where: [condition] }, NOW, berlin).typed()['timezone'];
  for (const condition of ['createdOn:hour = 3', 'a.b:weekday = mon', 'createdOn in (2026-11-20 08:00)'])
    expect(zoneOf(condition)).toBe('Europe/Berlin');
  for (const condition of ['lines:length = 3', 'email:domain = a.example', 'lines[].sku'])
    expect(zoneOf(condition)).toBeUndefined();
});

test('filters run here if the service cannot filter so, and each function that applies them begins anew', () => {
  for (const flags of [{}, { failed: true as const }, { since: '2h', type: ['a'] }]) {
    const filters = eventFilters(flags, NOW);
    expect([filters.runHere, filters.createKeep()]).toEqual([false, undefined]);
  }
  for (const flags of [{ where: ['a = 1'] }, { grep: ['a'] }]) {
    const filters = eventFilters(flags, NOW);
    expect(filters.runHere).toBe(true);
    expect(filters.createKeep()).not.toBe(filters.createKeep());
  }
});

test.each([
  ['order.*', ['order.created', 'ORDER.', 'order.a\nb'], ['order', 'x.order.a']],
  ['*.paid', ['order.paid', '.PAID'], ['order.paid.late', 'paid']],
  ['a*b*c', ['abc', 'aXbYc', 'abbcc'], ['acb', 'ab', 'bc']],
  ['a*a', ['aa', 'aba'], ['a']],
  ['*', ['', 'x'], []],
  ['order.paid', ['Order.Paid'], ['order-paid', 'order.paid2']],
])('--type %s stands for %j and not for %j', (type, names, others) => {
  const isOfType = typeMatcher(type);
  expect([names.map(isOfType), others.map(isOfType)]).toEqual([
    names.map(() => true),
    others.map(() => false),
  ]);
});

test('--type with very many stars is compared in a time that grows with the name', () => {
  expect(typeMatcher(`${'a*'.repeat(50)}b`)('a'.repeat(100_000))).toBe(false);
});
