import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { UsageError } from '../../src/errors.ts';
import { distinctIds, EventFilters, isTypedFilters, typeMatcher } from '../../src/filters/event-filters.ts';
import { eventFilters, type FilterFlags } from '../../src/filters/filter-flags.ts';
import { memberPath, parseFieldPath } from '../../src/items/field-path.ts';
import { parseCondition } from '../../src/items/item-conditions.ts';
import { Items } from '../../src/items/items.ts';
import { queryString } from '../../src/paging/event-query.ts';
import { askPage, readPage } from '../../src/paging/page.ts';
import { shellText } from '../../src/shell-words.ts';
import { byServiceClock } from '../../src/sources/service-clock.ts';
import { TimeZone, UTC } from '../../src/time/time-zone.ts';
import { advising } from '../support/advice.ts';
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

describe('the parts of filters', () => {
  test('are lists, empty without a flag', () => {
    const { subscriptionIds, eventIds, statuses, eventTypes, onlyStatus } = new EventFilters();
    expect([subscriptionIds, eventIds, statuses, eventTypes, onlyStatus]).toEqual([
      [],
      [],
      [],
      [],
      undefined,
    ]);
    const given = eventFilters({ subscription: [ID], id: [OTHER], status: ['failed'], type: ['a'] }, NOW);
    expect([given.subscriptionIds, given.eventIds, given.statuses, given.eventTypes]).toEqual([
      [ID],
      [OTHER],
      ['FAILED'],
      ['a'],
    ]);
    expect(given.onlyStatus).toBe('FAILED');
    expect(eventFilters({ status: ['failed,success'] }, NOW).onlyStatus).toBeUndefined();
  });

  test.each([
    [{}, false],
    [{ since: '2026-11-01' }, false],
    [{ since: '2h' }, true],
    [{ since: '2026-11-01', until: 'yesterday' }, true],
  ])('%j count from now: %s', (flags, expected) => {
    expect(eventFilters(flags, NOW).isRelative).toBe(expected);
  });

  test('are replaced one by one', () => {
    const filters = eventFilters({ since: '2h', failed: true, type: ['a'] }, NOW);
    expect(filters.withStatuses('SUCCESS').statuses).toEqual(['SUCCESS']);
    expect(filters.withStatuses().statuses).toEqual([]);
    const { eventTypes, statuses, typePatterns } = filters.withTypes(['x.a', 'x.b'], ['x.*']);
    expect([eventTypes, statuses, typePatterns]).toEqual([['x.a', 'x.b'], ['FAILED'], ['x.*']]);
    expect(filters.withoutTimes().texts()).toEqual(['--status FAILED', '--type a']);
    const words = new EventFilters({ subscriptionWords: ['billing'] });
    const { subscriptionIds, subscriptionWords } = words.withSubscriptions([ID, OTHER, ID.toUpperCase()]);
    expect([[...subscriptionIds].sort(), subscriptionWords]).toEqual([[ID, OTHER], []]);
  });

  test('an id that is there in two cases is one', () => {
    expect(distinctIds(['b', 'a', 'A'])).toEqual(['b', 'a']);
    expect(distinctIds([])).toEqual([]);
  });

  test.each([
    [{}, true],
    [{ after: '7d', type: ['a', 'b'] }, true],
    [{ type: ['a', 7] }, false],
    [{ after: 7 }, false],
    [{ after: null }, false],
    [[], false],
    [null, false],
    ['text', false],
  ])('%j were once typed: %s', (value, expected) => {
    expect(isTypedFilters(value)).toBe(expected);
  });

  test('of one value are constant in all that is found', () => {
    const constant = (flags: FilterFlags) => [...eventFilters(flags, NOW).constantFields];
    expect(constant({})).toEqual([]);
    expect(constant({ since: '2h', failed: true })).toEqual(['publishStatus']);
    expect(constant({ failed: true, type: ['a', 'b'] })).toEqual(['publishStatus']);
    expect(constant({ status: ['failed,success'], type: ['a'] })).toEqual(['eventType']);
  });
});

describe('queries', () => {
  test('are one for each combination, within other times too', () => {
    const filters = eventFilters({ since: '2h', status: ['failed,success'], type: ['a', 'b'] }, NOW);
    expect(filters.queries(NOW)).toHaveLength(4);
    const within = filters.queriesWithin({ before: undefined, after: filters.queries(NOW - HOUR)[0].after });
    expect(within.map((query) => queryString(query))).toEqual(
      ['FAILED', 'SUCCESS'].flatMap((status) =>
        ['a', 'b'].map(
          (type) => `gt(createdOn,2026-11-21T07:00:00Z)&eq(publishStatus,${status})&eq(eventType,${type})`,
        ),
      ),
    );
  });

  test('wait until a word for a subscription is an id', () => {
    expect(() => new EventFilters({ subscriptionWords: ['billing'] }).queries(NOW)).toThrow(
      expect.objectContaining({
        message: "--subscription: 'billing' is not a GUID such as 0f8fad5b-d9cb-469f-a165-70867728950e",
        next: advising('`hooktrail subscriptions` lists the subscriptions with their ids'),
      }),
    );
  });

  test.each([
    ['2026-11-20', '2026-11-20', 'for the whole day: --until 2026-11-21'],
    ['2026-11-20', '2026-11-19', undefined],
    ['2026-11-20T08:00:00Z', '2026-11-20T08:00:00Z', undefined],
  ])('from %s until %s leave no time', (since, until, next) => {
    expect(() => queries({ since, until })).toThrow(
      expect.objectContaining({
        message: `--since ${since} and --until ${until} leave no time between them: nothing can match`,
        next,
      }),
    );
  });
});

describe('filters that begin in the future', () => {
  const later = (ms: number) => eventFilters({ since: new Date(NOW + ms).toISOString() }, NOW);

  test('are told apart by more than the second that a clock may lack', () => {
    expect([later(1000), later(1001)].map((filters) => filters.seemsToBeginLater(NOW))).toEqual([
      false,
      true,
    ]);
    later(1000).requirePastStart(NOW);
    new EventFilters().requirePastStart(NOW);
  });

  test.each<[FilterFlags, string, string]>([
    [{ since: '2026-11-22' }, '--since: 2026-11-22', 'give a time in the past, such as --since 2h'],
    [
      { since: 'today 23:00' },
      '--since: 2026-11-21T23:00:00Z',
      "for the day before, write --since 'yesterday 23:00'",
    ],
    [
      { since: '23:00' },
      '--since: 2026-11-21T23:00:00Z',
      "for the day before, write --since 'yesterday 23:00'",
    ],
    [{ day: '2026-11-23' }, '--day: 2026-11-23', 'give a time in the past, such as --day yesterday'],
  ])('as by %j are refused with what to write', (flags, start, next) => {
    expect(() => eventFilters(flags, NOW).requirePastStart(NOW + 400, "this machine's")).toThrow(
      expect.objectContaining({
        message: `${start} is in the future: this machine's time is 2026-11-21T10:00:00Z`,
        next,
      }),
    );
    expect(() => eventFilters(flags, NOW).requirePastStart(NOW)).toThrow("the service's time is");
  });
});

describe('filters that are shown', () => {
  const shown = (flags: FilterFlags, ...without: string[]) => eventFilters(flags, NOW).words(...without);

  test('have their values in order, and what was typed for types', () => {
    expect(eventFilters({ type: ['b', 'a'], where: ['z', 'y'], grep: ['t', 's'] }, NOW).typed()).toEqual({
      type: ['a', 'b'],
      where: ['y', 'z'],
      grep: ['s', 't'],
    });
    const patterns = new EventFilters().withTypes(['x.a', 'x.b'], ['x.*']);
    expect(patterns.typed()).toEqual({ type: ['x.*'] });
    const words = new EventFilters({
      values: { subscriptionId: [ID] },
      subscriptionWords: ['billing'],
      nameWords: ['Acme'],
      marketplaces: ['2', '1'],
    });
    expect(words.typed()).toEqual({ subscription: [ID, 'Acme', 'billing'], marketplace: ['2,1'] });
  });

  test('have a day or a month as it was typed, unless their times are replaced', () => {
    expect(eventFilters({ day: '2026-11-20', failed: true }, NOW).texts()).toEqual([
      '--day 2026-11-20',
      '--status FAILED',
    ]);
    expect(shown({ day: '2026-11-20' })).toEqual(['--day', '2026-11-20']);
    const times = ['--since', '2026-11-19T23:59:59.9999999Z', '--until', '2026-11-21T00:00:00Z'];
    expect(shown({ day: '2026-11-20' }, 'status', 'since')).toEqual(times.slice(2));
    expect(shown({ day: '2026-11-20' }, 'until')).toEqual(times.slice(0, 2));
    expect(shown({ month: '2026-10' })).toEqual(['--month', '2026-10']);
  });

  test('leave out what is named, and escape the commas of texts alone', () => {
    expect(shown({ since: '2h', failed: true, type: ['a\\,b'] }, 'since', 'type')).toEqual([
      '--status',
      'FAILED',
    ]);
    expect(shown({ type: ['a\\,b'], where: ['x in (a, b)'], grep: ['c,d'] })).toEqual([
      ...['--type', 'a\\,b'],
      ...['--where', 'x in (a, b)'],
      ...['--grep', 'c,d'],
    ]);
  });
});

describe('filters of this program', () => {
  const nameField = parseFieldPath('customer', 'name-field');
  const texts = ['a', 'b', 'c'].map((customer, at) => ({
    customer,
    eventId: customer,
    headers: { marketplaceIds: [String(at % 2)] },
  }));
  const items = Items.of(texts.map((item) => Buffer.from(JSON.stringify(item))));
  const kept = (parts: ConstructorParameters<typeof EventFilters>[0]) => {
    const filters = new EventFilters(parts);
    const keep = filters.createKeep();
    expect(filters.runHere).toBe(keep !== undefined);
    const found = keep?.(items);
    return (
      found && {
        ids: [...found.values()].map((item) => (item as { eventId: string }).eventId),
        doubts: keep?.doubts(),
      }
    );
  };

  test('keep what each of them keeps, and doubt what any of them doubts', () => {
    const conditions = [parseCondition('eventId != c', '--where', 0)];
    expect(kept({ conditions })).toEqual({ ids: ['a', 'b'], doubts: [] });
    expect(kept({ grepTexts: ['b'] })?.ids).toEqual(['b']);
    expect(kept({ marketplaces: ['0'] })?.ids).toEqual(['a', 'c']);
    expect(kept({ nameField, nameWords: ['c'] })?.ids).toEqual(['c']);
    expect(kept({ marketplaces: ['0'], conditions })?.ids).toEqual(['a']);
    const both = kept({ marketplaces: ['7'], nameField, nameWords: ['x'], conditions });
    expect(both?.doubts?.[0]).toContain('--marketplace: no event is of');
    expect(both?.ids).toEqual([]);
    expect(kept({ marketplaces: ['7'], hasDoubts: false })).toEqual({ ids: [], doubts: [] });
  });

  test('need a field for a name, and a name for the field', () => {
    expect(kept({ nameField })).toBeUndefined();
    expect(kept({ nameWords: ['a'] })).toBeUndefined();
  });
});
