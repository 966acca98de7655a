import { describe, expect, test } from 'vitest';
import { Items } from '../../src/items/items.ts';
import { ComparisonTable } from '../../src/outcomes/comparison-table.ts';
import { bareText } from '../../src/outcomes/value-texts.ts';

function tableOf(items: readonly object[], only?: readonly string[]) {
  const table = new ComparisonTable(only);
  table.add(Items.of(items.map((item) => Buffer.from(JSON.stringify(item)))));
  table.finish();
  /** The values of a field by row; undefined if the table has no such field. */
  const valuesOf = (path: string) => {
    const field = table.fields.find(({ steps }) => steps.join('.') === path);
    return (
      field &&
      [...field.codesByRow(table.rows).slice(0, table.rows)].map((code) =>
        bareText(field.texts[code] as string),
      )
    );
  };
  return { table, valuesOf };
}

const flat = (id: string, type: string, publishStatus = 'FAILED') => ({
  ...{ eventId: id, eventType: type, subscriptionId: 's', publishStatus, createdOn: '2026-11-01T00:00:00Z' },
});
const published = (id: string, type: string, publishStatus = 'FAILED') => {
  const { eventId, eventType, ...record } = flat(id, type, publishStatus);
  return { ...record, eventData: { eventId, eventType, body: { country: 'CH' } } };
};

describe('known fields of events that are compared', () => {
  test('are one column, whichever shape their items have', () => {
    const { table, valuesOf } = tableOf([
      published('a', 'x'),
      flat('b', 'y', 'SUCCESS'),
      published('c', 'z'),
    ]);
    expect([table.rows, table.failed, table.untold]).toEqual([3, 2, 0]);
    expect(valuesOf('eventType')).toEqual(['x', 'y', 'z']);
    expect(valuesOf('eventId')).toEqual(['a', 'b', 'c']);
    expect(valuesOf('eventData.eventType')).toBeUndefined();
    expect(valuesOf('eventData.body.country')).toEqual(['CH', 'null', 'CH']);
  });

  test('are those at the top where an object of the item names another event', () => {
    const cause = { cause: { eventId: 'other', eventType: 'not its type' } };
    const { valuesOf } = tableOf([
      { cause: { eventId: 'c', eventType: 'x' }, publishStatus: 'FAILED' },
      { ...cause, ...flat('a', 'y') },
      { ...flat('b', 'z'), ...cause },
      { ...cause, eventId: 'd', publishStatus: 'FAILED' },
    ]);
    expect(valuesOf('eventType')).toEqual(['x', 'y', 'z', 'null']);
    expect(valuesOf('cause.eventType')).toEqual(['null', 'not its type', 'not its type', 'not its type']);
  });

  test('are those at the top though nobody can read them, but for null', () => {
    const dated = (createdOn: unknown) => ({
      ...{ createdOn, publishStatus: 'FAILED' },
      eventData: { eventId: 'a', createdOn: '2026-11-01T00:00:00.50Z' },
    });
    const { table } = tableOf([dated(null), dated(''), dated('2026-11-02T10:00:00+01:00'), dated(17)]);
    const { times } = table;
    const known = [0, 1, 2, 3].map((row) => (times.isKnown(row) ? times.at(row).text : undefined));
    expect(known).toEqual(['2026-11-01T00:00:00.50Z', undefined, '2026-11-02T09:00:00Z', undefined]);
    expect(times.unknown).toBe(2);
  });

  test('are those at the top alone where two members could be the event', () => {
    const one = { eventId: 'a', eventType: 'x' };
    const { valuesOf } = tableOf([
      { publishStatus: 'FAILED', one },
      { publishStatus: 'FAILED', one, other: { eventId: 'b', eventType: 'y' } },
    ]);
    expect(valuesOf('eventType')).toEqual(['x', 'null']);
    expect(valuesOf('other.eventType')).toEqual(['null', 'y']);
  });

  test('are found in the event where outcome and time are there too, and the top has null', () => {
    const inner = {
      eventId: 'a',
      publishStatus: 'FAILED',
      createdOn: '2026-11-01T00:00:00Z',
      eventType: 'x',
    };
    const { table, valuesOf } = tableOf([
      { record: inner },
      { eventType: null, record: inner },
      { record: inner, eventType: null },
      { record: inner, eventType: 'top' },
      { eventType: 'top', record: inner },
    ]);
    expect([table.rows, table.failed, table.times.unknown]).toEqual([5, 5, 0]);
    expect(valuesOf('eventType')).toEqual(['x', 'x', 'x', 'top', 'top']);
  });

  test('are kept by a table of few fields, and nothing else is', () => {
    const { table, valuesOf } = tableOf(
      [published('a', 'x'), flat('b', 'y'), published('c', 'x')],
      ['eventType'],
    );
    expect(valuesOf('eventType')).toEqual(['x', 'y', 'x']);
    expect(
      table.fields.map(({ steps }) => steps.join('.')).filter((path) => /body|subscription/.test(path)),
    ).toEqual([]);
    expect(table.outcomesOf('eventType')).toEqual([
      { value: 'x', total: 2, failed: 2 },
      { value: 'y', total: 1, failed: 1 },
    ]);
  });

  test.each(['at the top', 'in one object'])('are found behind 2,000 other fields %s', (place) => {
    const others = Object.fromEntries(Array.from({ length: 2000 }, (_, index) => [`a${index}`, index]));
    const wide = place === 'at the top' ? others : { a: { b: others, c: others } };
    const { table, valuesOf } = tableOf([
      { ...wide, ...flat('a', 'x') },
      { ...wide, ...published('b', 'y') },
    ]);
    expect([table.rows, table.failed, table.untold, table.times.unknown]).toEqual([2, 2, 0, 0]);
    expect([valuesOf('eventType'), valuesOf('subscriptionId')]).toEqual([
      ['x', 'y'],
      ['s', 's'],
    ]);
  });
});

describe('ids in very many fields', () => {
  const ROWS = 520;
  /** The values that are kept of a field of ids, before the last event is known. */
  function keptOfEach(fields: number): number[] {
    const table = new ComparisonTable();
    for (let row = 0; row < ROWS; row++) {
      const ids = Object.fromEntries(Array.from({ length: fields }, (_, field) => [`id${field}`, `v${row}`]));
      table.add(Items.of([Buffer.from(JSON.stringify({ ...flat('a', 'x'), ids }))]));
    }
    const isOfIds = ({ steps }: { steps: readonly unknown[] }) => steps.length === 2;
    return table.fields.filter(isOfIds).map(({ texts }) => texts.length - 2);
  }

  test('are given up after a few hundred where memory needs it, and of few fields all are kept', () => {
    expect(new Set(keptOfEach(20))).toEqual(new Set([ROWS]));
    expect(keptOfEach(400)).toContain(0);
  });
});

describe('fields that few of many events have', () => {
  const ROWS = 40_000;
  const valueAt = {
    rare: (row: number) => (row % 100 === 7 ? `v${row % 3}` : undefined),
    /** At first in none, and from then on in every event. */
    late: (row: number) => (row < 10_000 ? undefined : row % 5),
    /** At first in every event, and from then on in few. */
    early: (row: number) => (row < 6000 || row % 50 === 0 ? row % 7 === 0 : undefined),
    nothing: (row: number) => (row % 200 === 0 ? null : undefined),
    number: (row: number) => (row % 20 === 1 ? row + 0.5 : undefined),
  };
  const table = new ComparisonTable();
  for (let row = 0; row < ROWS; row += 500) {
    const items = Array.from({ length: 500 }, (_, index) => {
      const own = Object.entries(valueAt).map(([name, of]) => [name, of(row + index)] as const);
      const body = Object.fromEntries(own.filter(([, value]) => value !== undefined));
      return { ...flat('a', 'x', (row + index) % 100 === 7 ? 'FAILED' : 'SUCCESS'), body };
    });
    table.add(Items.of(items.map((item) => Buffer.from(JSON.stringify(item)))));
  }
  table.finish();
  const fieldOf = (name: string) => {
    const field = table.fields.find(({ steps, derivation }) => steps[1] === name && !derivation);
    if (!field) throw new Error(name);
    return field;
  };

  test.each(['rare', 'late', 'early', 'nothing'] as const)('%s has the value of each event', (name) => {
    const field = fieldOf(name);
    const codes = field.codesByRow(ROWS);
    const wrong = Array.from({ length: ROWS }, (_, row) => row).filter(
      (row) => field.texts[codes[row] as number] !== JSON.stringify(valueAt[name](row) ?? null),
    );
    expect(wrong).toEqual([]);
  });

  test('are kept in cells where that takes less memory, and in columns again where it does not', () => {
    const isInCells = (name: string) => fieldOf(name).cellRows !== undefined;
    expect(Object.keys(valueAt).filter(isInCells)).toEqual(['rare', 'early', 'nothing', 'number']);
    expect(fieldOf('rare').byteLength).toBeLessThan(ROWS / 10);
  });

  test('are counted by the outcome of each event, with those that lack them', () => {
    const { failed, others } = table.countCodes(fieldOf('rare'));
    const failures = Array.from({ length: ROWS }, (_, row) => row).filter((row) => row % 100 === 7);
    expect([failed[0], others[0]]).toEqual([0, ROWS - failures.length]);
    const ofValue = (value: string) => failures.filter((row) => valueAt.rare(row) === value).length;
    expect([...failed.slice(2)]).toEqual(
      fieldOf('rare')
        .texts.slice(2)
        .map((text) => ofValue(bareText(text))),
    );
  });

  test('have their numbers in cells too', () => {
    const { numbers, cellRows, cells } = fieldOf('number');
    const found = numbers ?? new Float64Array(0);
    const wrong = Array.from({ length: cells }, (_, cell) => cell).filter(
      (cell) => found[cell] !== (cellRows?.[cell] ?? 0) + 0.5,
    );
    expect([cells, wrong]).toEqual([ROWS / 20, []]);
  });

  test('a name that an object has twice counts once, with the last value', () => {
    const twice = new ComparisonTable();
    for (let row = 0; row < 20_000; row++) {
      const body = row % 1000 === 0 ? '"twice":"a","twice":"b"' : '';
      const status = '"publishStatus":"FAILED","createdOn":"2026-11-01T00:00:00Z"';
      twice.add(Items.of([Buffer.from(`{"eventId":"e",${status},"body":{${body}}}`)]));
    }
    twice.finish();
    const field = twice.fields.find(({ steps }) => steps[1] === 'twice');
    expect([field?.cellRows !== undefined, field?.present, field?.cells]).toEqual([true, 20, 20]);
    const codes = field?.codesByRow(20_000) ?? [];
    expect(field?.texts[codes[19_000] as number]).toBe('"b"');
  });
});

test('every event of a field with more values than one or two bytes can number is counted', () => {
  const fieldOf = (values: number, textOf: (value: number) => string) => {
    const table = new ComparisonTable();
    const texts = Array.from({ length: 2 * values }, (_, index) => `{"v":${textOf(index >> 1)}}`);
    table.add(Items.of(texts.map((text) => Buffer.from(text))), true);
    table.finish();
    const [field] = table.fields;
    return { field, codes: field?.codes.subarray(0, table.rows) };
  };
  for (const values of [253, 254, 255, 65_533]) {
    const { codes } = fieldOf(values, (value) => `"v${value}"`);
    expect(codes?.every((code, row) => code === 2 + (row >> 1))).toBe(true);
  }
  const texts = fieldOf(65_534, (value) => `"v${value}"`);
  expect(texts.field?.isUncompared).toBe(true);
  expect(texts.codes?.every((code) => code === 1)).toBe(true);
  const { field, codes } = fieldOf(65_534, (value) => `${value}.5`);
  expect(field?.isUncompared).toBe(false);
  expect(codes?.every((code, row) => code === 1 && field?.numbers?.[row] === (row >> 1) + 0.5)).toBe(true);
});

test('members of an event that made room for others take no values any more', () => {
  const members = (name: string, count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`${name}${index}`, 'x']));
  const withMembers = (publishStatus: string, more: object) => {
    const { eventData, ...item } = published('a', 'order.shipped', publishStatus);
    return Items.of([Buffer.from(JSON.stringify({ ...item, eventData: { ...eventData, ...more } }))]);
  };
  const table = new ComparisonTable();
  const rare = members('rare', 3900);
  table.add(withMembers('SUCCESS', rare));
  const before = [...table.fields];
  table.add(withMembers('FAILED', members('frequent', 500)));
  const dropped = before.filter((field) => !table.fields.includes(field));
  expect(dropped.length).toBeGreaterThan(400);
  table.add(withMembers('SUCCESS', rare));
  expect(dropped.filter(({ present }) => present > 1)).toEqual([]);
});

test('columns hold the same whatever part of all events they are told that they have', () => {
  const item = (index: number) => {
    const rare = index % 12 === 0 ? { rare: index % 5, note: `n${index % 7}` } : {};
    const later = index > 80_000 ? { later: 'yes' } : {};
    return { publishStatus: index % 9 ? 'SUCCESS' : 'FAILED', body: { id: `i${index}`, ...rare, ...later } };
  };
  const pages = Array.from({ length: 50 }, (_, page) =>
    Items.of(
      Array.from({ length: 2000 }, (_, index) => Buffer.from(JSON.stringify(item(2000 * page + index)))),
    ),
  );
  const countsOf = (shareOf: (page: number) => number | undefined) => {
    const table = new ComparisonTable();
    for (const [page, items] of pages.entries()) table.add(items, undefined, shareOf(page + 1));
    table.finish();
    return table.fields.map((field) => [field.steps, field.texts, table.countCodes(field)]);
  };
  const counts = countsOf(() => undefined);
  for (const shareOf of [(page: number) => page / 50, () => 0.001, () => 1, () => 0])
    expect(countsOf(shareOf)).toEqual(counts);
});
