import { describe, expect, test } from 'vitest';
import { EventSample } from '../../src/sample/event-sample.ts';
import { readFields } from '../../src/sample/sample-reader.ts';
import type { SampleTable } from '../../src/sample/sample-table.ts';
import {
  cellsOf,
  column,
  eventText,
  fieldAt,
  itemsOf,
  type Members,
  OTHER,
  pathsOf,
  tableOf,
  tableOfTexts,
  upTo,
  valuesOf,
} from './made-samples.ts';

const json = JSON.stringify;

/** Members by name: `a0`, `a1` and so on, from one number on. */
const named = (prefix: string, count: number, from = 0) =>
  Object.fromEntries(upTo(count).map((index) => [`${prefix}${from + index}`, 1]));

/** The paths of the fields that have no room for all of their members or elements. */
const overfull = ({ fields }: Pick<SampleTable, 'fields'>) =>
  fields.filter(({ isOverfull }) => isOverfull).map(({ path }) => path);

describe('the fields of events', () => {
  test('are their members at every depth, in the order in which they come', () => {
    const table = tableOf([
      { b: 1, o: { x: { y: 2 }, z: 3 } },
      { a: 4, o: { x: { y: 5 } }, b: 6 },
    ]);
    expect(pathsOf(table)).toEqual(['b', 'o', 'o.x', 'o.x.y', 'o.z', 'a']);
    expect(column(table, 'b')).toEqual(['1', '6']);
    expect(column(table, 'a')).toEqual([undefined, '4']);
    expect(column(table, 'o')).toEqual([OTHER, OTHER]);
    expect(column(table, 'o.x.y')).toEqual(['2', '5']);
    expect(column(table, 'o.z')).toEqual(['3', undefined]);
    expect(fieldAt(table, 'o.z').present).toBe(1);
    expect(table.fields.filter(({ isOverfull, isMap }) => isOverfull || isMap)).toEqual([]);
  });

  test('are found in whatever order an event has its members', () => {
    const table = tableOf([
      '"a":1,"b":2,"c":3,"ab":4',
      '"c":5,"ab":6,"a":7,"b":8',
      '"ab":9,"d":10,"b":11',
      '"b":12,"b2":13,"d":14',
    ]);
    expect(pathsOf(table)).toEqual(['a', 'b', 'c', 'ab', 'd', 'b2']);
    expect(column(table, 'a')).toEqual(['1', '7', undefined, undefined]);
    expect(column(table, 'b')).toEqual(['2', '8', '11', '12']);
    expect(column(table, 'c')).toEqual(['3', '5', undefined, undefined]);
    expect(column(table, 'ab')).toEqual(['4', '6', '9', undefined]);
    expect(column(table, 'd')).toEqual([undefined, undefined, '10', '14']);
    expect(column(table, 'b2')).toEqual([undefined, undefined, undefined, '13']);
  });

  test('have one name in every spelling', () => {
    const table = tableOf(['"name":1', '"n\\u0061me":2', '"größe":3', '"gr\\u00f6ße":4', '"a.b":5', '"":6']);
    expect(pathsOf(table)).toEqual(['name', 'größe', 'a\\.b', '""']);
    expect(column(table, 'name')).toEqual(['1', '2', undefined, undefined, undefined, undefined]);
    expect(column(table, 'größe').slice(2)).toEqual(['3', '4', undefined, undefined]);
  });

  test('are not the outcome and the time of the event, but members of these names further down', () => {
    const table = tableOf([
      { createdOn: '2026-11-20T00:00:00Z', publishDate: 1, data: { publishStatus: 'x', createdOn: 'y' } },
    ]);
    expect(pathsOf(table)).toEqual(['publishDate', 'data', 'data.publishStatus', 'data.createdOn']);
  });

  test('are missing where an item is empty or no object', () => {
    const table = tableOfTexts(
      ['{"a":1}', '{}', '[{"a":2}]', '7', '"{\\"a\\":3}"', '{"a":4}'],
      undefined,
      true,
    );
    expect(pathsOf(table)).toEqual(['a']);
    expect(column(table, 'a')).toEqual(['1', undefined, undefined, undefined, undefined, '4']);
  });

  test('reach 64 names deep', () => {
    const nested = (depth: number, inner: string) =>
      `${'{"a":'.repeat(depth - 1)}${inner}${'}'.repeat(depth - 1)}`;
    const table = tableOf([
      `"a":${nested(64, '7')}`,
      `"a":${nested(66, '8')},"b":1`,
      `"a":${nested(64, '{}')}`,
    ]);
    const deepest = Array<string>(64).fill('a').join('.');
    expect(pathsOf(table)).toHaveLength(65);
    expect(column(table, deepest)).toEqual(['7', OTHER, '{}']);
    expect(column(table, 'b')).toEqual([undefined, '1', undefined]);
    expect(overfull(table)).toEqual([deepest]);
  });
});

describe('the known fields of an event inside its record', () => {
  const withEvent = (event: string, before = '', after = '') =>
    `${before}"event":{"eventId":"e",${event}}${after}`;

  test('are those of the record, the rest stays inside', () => {
    const table = tableOf([withEvent('"eventType":"t","size":1')]);
    expect(pathsOf(table)).toEqual(['event', 'eventId', 'eventType', 'event.size']);
    expect(column(table, 'eventType')).toEqual(['"t"']);
    expect(column(table, 'event.size')).toEqual(['1']);
  });

  test('count where the record has none, or null, before or after the event', () => {
    const table = tableOf([
      withEvent('"eventType":"in"', '"eventType":"out",'),
      withEvent('"eventType":"in"', '"eventType":null,'),
      withEvent('"eventType":"in"', '', ',"eventType":"out"'),
      withEvent('"eventType":"in"', '', ',"eventType":null,"a":1'),
      withEvent('"eventType":"in"'),
      '"eventType":null,"a":2',
    ]);
    const [inside, out] = ['"in"', '"out"'];
    expect(column(table, 'eventType')).toEqual([out, inside, out, inside, inside, undefined]);
    expect(column(table, 'a')).toEqual([undefined, undefined, undefined, '1', undefined, '2']);
    expect(fieldAt(table, 'eventType').present).toBe(6);
  });

  test('but null counts in other fields of the record, if it is the last one', () => {
    const table = tableOf([
      withEvent('"eventType":"in"', '"a":1,"a":null,'),
      '"eventType":"x","eventType":null',
    ]);
    expect(column(table, 'a')).toEqual([undefined, undefined]);
    expect(column(table, 'eventType')).toEqual(['"in"', undefined]);
  });

  test('stay inside where the object is not the event', () => {
    const table = tableOf([
      { data: { eventType: 'a' } },
      { eventId: 'e', event: { eventId: 'f', eventType: 'b' } },
      { one: { eventId: 'e', eventType: 'c' }, two: { eventId: 'e', eventType: 'd' } },
      { event: { eventId: 'e', inner: { eventId: 'f', eventType: 'i' } } },
      { text: json({ eventId: 'e', eventType: 'g' }) },
    ]);
    expect(pathsOf(table)).not.toContain('eventType');
    expect(column(table, 'event.eventType')).toEqual([undefined, '"b"', undefined, undefined, undefined]);
    expect(column(table, 'event.inner.eventType')).toEqual([
      undefined,
      undefined,
      undefined,
      '"i"',
      undefined,
    ]);
    expect(column(table, 'text.eventType')).toEqual([undefined, undefined, undefined, undefined, '"g"']);
    expect(column(table, 'eventId')).toEqual([undefined, '"e"', undefined, '"e"', undefined]);
  });

  test('are read in their own way in each event, if only some have it inside', () => {
    const inside = { event: { eventId: 'e', eventType: 'in' } };
    const outside = { eventId: 'f', event: { eventType: 'out' } };
    const table = tableOf([inside, outside, inside, outside]);
    expect(column(table, 'eventType')).toEqual(['"in"', undefined, '"in"', undefined]);
    expect(column(table, 'event.eventType')).toEqual([undefined, '"out"', undefined, '"out"']);
  });
});

describe('JSON in a text', () => {
  test('is read as what it is, once', () => {
    const inner = json({ a: 1, t: json({ b: 2 }), l: [3] });
    const table = tableOf([{ t: inner, after: 5 }, { t: ' [ 4, "{}" ]' }, { t: '{' }, { t: '{"a":7}' }]);
    expect(pathsOf(table)).toEqual([
      't',
      't.a',
      't.t',
      't.l',
      't.l[]',
      't.l:length',
      'after',
      't[]',
      't:length',
    ]);
    expect(column(table, 't')).toEqual([OTHER, '[4,"{}"]', '"{"', OTHER]);
    expect(column(table, 't.a')).toEqual(['1', undefined, undefined, '7']);
    expect(column(table, 't.t')).toEqual([json(json({ b: 2 })), undefined, undefined, undefined]);
    expect(cellsOf(table, 't[]')).toEqual([[], ['4', '"{}"'], [], []]);
    expect(column(table, 'after')).toEqual(['5', undefined, undefined, undefined]);
  });

  test('is read in each of several texts', () => {
    const table = tableOf([{ a: '{"x":1}', b: '{"y":{"z":2}}', c: 3 }]);
    expect(pathsOf(table)).toEqual(['a', 'a.x', 'b', 'b.y', 'b.y.z', 'c']);
  });
});

describe('a list', () => {
  test('has a length, and is compared as a value if its elements are no objects or lists', () => {
    const table = tableOf([{ a: [1, 'x'] }, { a: [{ b: 1 }] }, { a: [1, [2]] }, { a: [] }, {}]);
    expect(column(table, 'a')).toEqual(['[1,"x"]', OTHER, OTHER, '[]', undefined]);
    expect(column(table, 'a:length')).toEqual(['2', '1', '2', '0', undefined]);
    expect(cellsOf(table, 'a[]')).toEqual([['1', '"x"'], [OTHER], ['1', '[2]'], [], []]);
    expect(cellsOf(table, 'a[][]')).toEqual([[], [], ['2'], [], []]);
    expect(pathsOf(table)).toEqual(['a', 'a[]', 'a:length', 'a[].b', 'a[][]', 'a[]:length']);
  });

  test('may be empty at first, and an empty object has no length', () => {
    const table = tableOf([{ a: [] }, { a: [1] }, { a: {} }]);
    expect(column(table, 'a')).toEqual(['[]', '[1]', '{}']);
    expect(column(table, 'a:length')).toEqual([undefined, '1', undefined]);
  });

  test('has null where an element lacks a field that another one has', () => {
    const table = tableOf([
      { a: [{ b: 1, c: { d: 1 } }, { c: { d: 2 } }] },
      { a: [{ b: 1 }, { b: 1 }] },
      { a: [{ b: 1 }, { b: 1 }, {}] },
      { a: [{ b: null }, { b: 2 }] },
      { a: [{ c: { d: 1 } }, { c: { d: 1 } }, { c: { e: 1 } }] },
      { a: [{ c: 1 }] },
      { a: [{ b: 3 }, 7] },
    ]);
    expect(cellsOf(table, 'a[].b')).toEqual([
      ['1', 'null'],
      ['1'],
      ['1', 'null'],
      ['2', 'null'],
      [],
      [],
      ['3', 'null'],
    ]);
    expect(cellsOf(table, 'a[].c.d')).toEqual([['1', '2'], [], [], [], ['1', 'null'], [], []]);
    expect(cellsOf(table, 'a[].c.e')[4]).toEqual(['1', 'null']);
    expect(cellsOf(table, 'a[]')).toEqual([
      [OTHER],
      [OTHER],
      [OTHER, '{}'],
      [OTHER],
      [OTHER],
      [OTHER],
      [OTHER, '7'],
    ]);
  });

  test('of null alone lacks nothing, and null beside a value is a lack', () => {
    const table = tableOf([{ a: [null, null] }, { a: [1, null] }, { a: [1] }]);
    expect(cellsOf(table, 'a[]')).toEqual([[], ['1', 'null'], ['1']]);
    expect(column(table, 'a:length')).toEqual(['2', '2', '1']);
    expect(fieldAt(table, 'a[]').present).toBe(2);
  });

  test('in a list counts as a part of it', () => {
    const table = tableOf([{ a: [{ l: [{ x: 1 }, {}] }, { l: [{ x: 2 }] }] }, { a: [[1, null], [2]] }]);
    expect(cellsOf(table, 'a[].l[].x')).toEqual([['1', '2'], []]);
    expect(cellsOf(table, 'a[].l:length')).toEqual([['2', '1'], []]);
    expect(cellsOf(table, 'a[][]')).toEqual([[], ['1', '2']]);
  });

  test('is compared up to its 10,000th element', () => {
    const elements = (count: number) =>
      `[${upTo(count)
        .map((index) => (index < 9999 ? 1 : index))
        .join()}]`;
    const table = tableOf([`"a":${elements(10_000)}`, `"b":${elements(10_002)},"c":1`]);
    expect(overfull(table)).toEqual(['b']);
    expect(cellsOf(table, 'a[]')[0]).toEqual(['1', '9999']);
    expect(cellsOf(table, 'b[]')[1]).toEqual(['1', '9999']);
    expect(column(table, 'b:length')).toEqual([undefined, '10002']);
    expect(column(table, 'c')).toEqual([undefined, '1']);
  });
});

describe('an object whose names are ids', () => {
  const HALF = 32;
  /** Events with objects of the names that are given for each. */
  const objects = (count: number, namesOf: (row: number) => readonly string[]): object[] =>
    upTo(count).map((row) => ({ m: Object.fromEntries(namesOf(row).map((name) => [name, row % 3])) }));
  const isMap = (events: readonly Members[], path = 'm') => fieldAt(tableOf(events), path).isMap;

  test('is a list of its values', () => {
    const table = tableOf([...objects(64, (row) => [`k${row}`, `l${row}`]), { m: {} }, { m: { x: null } }]);
    expect(pathsOf(table).toSorted()).toEqual(['m', 'm:length', 'm[]']);
    expect(fieldAt(table, 'm').isMap).toBe(true);
    expect(fieldAt(table, 'm[]').isMap).toBe(false);
    expect(column(table, 'm')).toEqual([...Array<string>(64).fill(OTHER), '{}', OTHER]);
    expect(cellsOf(table, 'm[]')).toEqual([...upTo(64).map((row) => [`${row % 3}`]), [], []]);
    expect(column(table, 'm:length')).toEqual([...Array<string>(64).fill('2'), '0', '1']);
  });

  test('is one from its 64th object on', () => {
    expect(isMap(objects(64, (row) => [`k${row}`]))).toBe(true);
    expect(isMap(objects(63, (row) => [`k${row}`]))).toBe(false);
    expect(isMap([...objects(63, (row) => [`k${row}`]), { m: {} }, { m: 1 }])).toBe(false);
  });

  test('is one if four of five names in the second half of its first 64 objects are new', () => {
    /** Five names in each object, so many of which are new. */
    const names = (row: number, fresh: number) =>
      upTo(5).map((index) => (index < fresh ? `k${row}-${index}` : `o${index}`));
    expect(isMap(objects(64, (row) => names(row, row < HALF ? 0 : 4)))).toBe(true);
    const olds = (row: number, fresh: number) => (row === 0 ? [...names(row, 0)] : names(row, fresh));
    expect(isMap(objects(64, (row) => olds(row, 4)))).toBe(true);
    expect(isMap(objects(64, (row) => olds(row, row === HALF ? 3 : 4)))).toBe(false);
    expect(isMap(objects(64, (row) => olds(row, row < HALF ? 5 : 0)))).toBe(false);
    expect(isMap(objects(64, (row) => olds(row, row === HALF - 1 ? 0 : 4)))).toBe(true);
  });

  test('is none because of what comes after them', () => {
    expect(isMap(objects(200, (row) => (row < 64 ? ['a', 'b'] : [`k${row}`])))).toBe(false);
  });

  test('may be an element, a value of another one or in a list', () => {
    const events = upTo(64).map((row) => ({
      outer: { [`k${row}`]: { [`l${row}`]: row % 2, [`n${row}`]: row % 2 } },
      list: [{ [`p${row}`]: { a: 1 } }],
      o: { m: { [`q${row}`]: [1] } },
    }));
    const table = tableOf(events);
    expect(new Set(pathsOf(table))).toEqual(
      new Set([
        ...['outer', 'outer[]', 'outer:length', 'outer[][]', 'outer[]:length'],
        ...['list', 'list[]', 'list:length', 'list[][]', 'list[]:length', 'list[][].a'],
        ...['o', 'o.m', 'o.m[]', 'o.m:length', 'o.m[][]', 'o.m[]:length'],
      ]),
    );
    expect(column(table, 'outer[]:length')).toEqual(Array<string>(64).fill('2'));
    const maps = table.fields.filter((field) => field.isMap).map(({ path }) => path);
    expect(maps.toSorted()).toEqual(['list[]', 'o.m', 'outer', 'outer[]']);
  });

  test('has null where a value lacks a field that another one has', () => {
    const table = tableOf(
      upTo(64).map((row) => ({ m: { [`k${row}`]: { a: 1 }, [`l${row}`]: row % 2 ? {} : { a: 1 } } })),
    );
    expect(cellsOf(table, 'm[].a')).toEqual(upTo(64).map((row) => (row % 2 ? ['1', 'null'] : ['1'])));
  });

  test('is never the record itself or the event in it', () => {
    const events = upTo(70).map((row) => ({
      ...named(`k${row}-`, 10),
      event: { eventId: 'e', ...named(`l${row}-`, 10) },
    }));
    const table = tableOf(events);
    expect(table.fields.filter((field) => field.isMap)).toEqual([]);
    expect(pathsOf(table)).toHaveLength(2 + 70 * 20);
  });

  test('is compared up to its 10,000th value', () => {
    const many = objects(64, (row) => [`k${row}`]);
    const table = tableOf([...many, { m: named('x', 10_000) }, { n: 1 }]);
    expect(overfull(table)).toEqual([]);
    expect(overfull(tableOf([...many, { m: named('x', 10_001) }]))).toEqual(['m']);
  });
});

describe('of more fields than there is room for', () => {
  const FULL = 4000;

  /** The fields as they are read, which is all that matters here. */
  const read = (events: readonly Members[], hasFailed: (row: number) => boolean = () => true) => {
    const sample = new EventSample();
    sample.add(itemsOf(events.map((members, row) => eventText(members, hasFailed(row)))), undefined);
    const failures = Uint8Array.from(events, (_, row) => Number(hasFailed(row)));
    const fields = readFields(() => sample.readSampled(), failures);
    return { fields, paths: pathsOf({ fields }), rows: events.length };
  };
  type Read = ReturnType<typeof read>;
  const counted = ({ paths }: Read, prefix: string) => paths.filter((path) => path.startsWith(prefix)).length;
  const columnOf = ({ fields, paths, rows }: Read, path: string) => {
    const field = fields[paths.indexOf(path)];
    return field && valuesOf(field, rows);
  };

  test('4,000 are compared, of which those of the event that is read are not dropped', () => {
    const wide = { ...named('b', FULL), eventType: 'x' };
    const table = read([{ data: named('a', 10) }, { data: { in: wide } }]);
    expect(table.fields).toHaveLength(FULL);
    expect([counted(table, 'data.a'), counted(table, 'data.in.b')]).toEqual([0, FULL - 2]);
    expect(table.paths).not.toContain('data.in.eventType');
    expect(overfull(table)).toEqual(['data', 'data.in']);
  });

  test('a quarter is dropped for another one: that in the fewest failures, then in the fewest events', () => {
    const events = [
      { data: named('f', 500) },
      { top: 1, data: { o: { er: 1 }, l: [1], eventType: 'x', ...named('e', 1000) } },
      { data: named('e', 1000) },
      { data: named('d', 1000) },
      { data: named('g', FULL - 2508) },
      { data: { late: 1 } },
      { data: { late: 2, d0: 1, d999: { x: 1 }, ...named('f', 500) } },
    ];
    const table = read(events, (row) => row === 0);
    expect(columnOf(table, 'data.late')?.slice(5)).toEqual(['1', '2']);
    expect(['f', 'd', 'e', 'g'].map((prefix) => counted(table, `data.${prefix}`))).toEqual([
      500,
      0,
      1001,
      FULL - 2508,
    ]);
    // Objects and lists stay, with what is in them; so do known fields, and those of the record.
    expect(table.paths).toEqual(
      expect.arrayContaining(['data.o', 'data.o.er', 'data.l', 'data.l[]', 'data.l:length']),
    );
    expect(table.paths).toEqual(expect.arrayContaining(['top', 'data.eventType']));
    expect(overfull(table)).toEqual(['data']);
  });

  test('fields of the record and its known fields always have it', () => {
    const table = read([
      { data: named('a', FULL - 1) },
      { top: 1, data: { eventType: 'x' } },
      { ...named('top', 2000), data: {} },
    ]);
    expect(table.fields).toHaveLength(FULL + 2 + 2000);
    expect(columnOf(table, 'data.eventType')).toEqual([undefined, '"x"', undefined]);
    expect(overfull(table)).toEqual([]);
  });

  test.each(['', '"eventId":"e",'])('what was dropped does not come back, in an object with %s', (id) => {
    const inner = (members: object) => `"data":{${id}${json(members).slice(1)}`;
    const table = read([
      inner(named('a', FULL - (id === '' ? 1 : 2))),
      inner({ late: 1 }),
      inner({ late: 2, a0: { x: 1 }, a3000: 1 }),
    ]);
    expect(overfull(table)).toEqual(['data']);
    expect(table.fields).toHaveLength(FULL - 1000 + 1);
    expect(counted(table, 'data.a0')).toBe(0);
    expect(columnOf(table, 'data.a3000')).toEqual(['1', undefined, '1']);
    expect(columnOf(table, 'data.late')).toEqual([undefined, '1', '2']);
  });

  test('an object that has lost more than 1,000 members gets no new ones', () => {
    const table = read([
      { data: named('a', FULL - 1) },
      { data: { late: 1 } },
      { data: named('b', 999) },
      { data: { last: 1 } },
      { data: { more: 1 }, other: { x: 1 } },
    ]);
    // 1,000 were dropped for the first one, which is not too many; then others for the last one.
    expect(table.paths).toEqual(expect.arrayContaining(['data.late', 'data.b998', 'other.x']));
    expect(columnOf(table, 'data.last')).toBeUndefined();
    expect(columnOf(table, 'data.more')).toBeUndefined();
  });

  test('a list has none for its elements, and counts as overfull', () => {
    const table = read([{ data: named('a', FULL - 2), list: [1, 2], o: [] }, { list: [3] }]);
    expect(overfull(table)).toEqual(['list']);
    expect(columnOf(table, 'list')).toEqual(['[1,2]', '[3]']);
    expect(table.paths).not.toContain('list[]');
  });

  test('names that are ids are no map, if there is none for its values', () => {
    const objects = (name: string) => upTo(64).map((row) => ({ [name]: { [`k${row}`]: 1 } }));
    // Of the second one all names just have room.
    const { fields, paths } = read([{ data: named('a', FULL - 69) }, ...objects('m'), ...objects('n')]);
    expect(['m', 'n'].map((path) => fields[paths.indexOf(path)]?.isMap)).toEqual([true, false]);
    expect(fields).toHaveLength(FULL);
  });
});
