import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MISSING } from '../../src/items/field-cursor.ts';
import {
  EACH,
  type FieldPath,
  fieldPath,
  type PathStep,
  parseFieldPath,
} from '../../src/items/field-path.ts';
import { FieldReader, type UseValue } from '../../src/items/field-reader.ts';
import { TimeZone, UTC } from '../../src/time/time-zone.ts';
import { sampleSize } from '../support/seed.ts';

const GONE = Symbol('no value');

function collected(read: (use: UseValue) => void): unknown[] {
  const values: unknown[] = [];
  read((bytes, start, end) => {
    values.push(start === MISSING ? GONE : JSON.parse(bytes.toString('utf8', start, end)));
  });
  return values;
}

/** Reads an item with a reader of this path alone. */
function read(item: string, path: FieldPath, zone = UTC) {
  const reader = new FieldReader([path], zone);
  // Something stands around it, as on a page.
  const bytes = Buffer.from(`[${item}]`);
  expect(reader.read(bytes, 1)).toBe(bytes.length - 1);
  return {
    each: collected((use) => reader.each(0, use)),
    whole: collected((use) => reader.whole(0, use))[0],
    has: reader.has(0),
  };
}

const readAs = (item: unknown, path: string, zone = UTC) =>
  read(JSON.stringify(item), parseFieldPath(path, '--by'), zone);
const each = (item: unknown, path: string, zone = UTC) => readAs(item, path, zone).each;
const whole = (item: unknown, path: string) => readAs(item, path).whole;

describe('a path through every element of a list', () => {
  const order = { lines: [{ sku: 'A', tags: ['x', 'y'] }, {}, { sku: null, tags: [] }, { sku: 'A' }] };

  test('leads to a value in each, and to none in an element without it', () => {
    expect(readAs(order, 'lines[].sku')).toEqual({
      each: ['A', GONE, null, 'A'],
      whole: ['A', null, null, 'A'],
      has: true,
    });
    expect(each(order, 'lines[].tags[]')).toEqual(['x', 'y']);
    expect(each(order, 'lines[].tags')).toEqual([['x', 'y'], GONE, [], GONE]);
    expect(each(order, 'lines[].tags.1')).toEqual(['y', GONE, GONE, GONE]);
    expect(each({ ids: [1, 'b', null, { a: 1 }, [2]] }, 'ids[]')).toEqual([1, 'b', null, { a: 1 }, [2]]);
    expect(each({ m: [[1, 2], 3, [[4]]] }, 'm[][]')).toEqual([1, 2, [4]]);
  });

  test('is null for a list that is not there, and empty for one without elements', () => {
    for (const nothing of [{}, { lines: null }, { lines: 'A' }, { lines: 7 }])
      expect(readAs(nothing, 'lines[].sku')).toEqual({ each: [GONE], whole: GONE, has: false });
    expect(readAs({ lines: [] }, 'lines[].sku')).toEqual({ each: [GONE], whole: [], has: false });
    expect(readAs({ lines: [{}] }, 'lines[].tags[]')).toEqual({ each: [GONE], whole: [], has: false });
  });

  test('goes through the values of a map, the last of each name', () => {
    expect(each({ lines: { a: { sku: 1 }, b: { sku: 2 } } }, 'lines[].sku')).toEqual([1, 2]);
    const twice = '{"lines":{"a":{"sku":1},"b":{"sku":2},"\\u0061":{"sku":3}}}';
    expect(read(twice, parseFieldPath('lines[].sku', '--by')).each).toEqual([3, 2]);
    expect(readAs({ lines: {} }, 'lines[]').whole).toEqual([]);
  });

  test('a member of the literal name wins, in each item anew', () => {
    expect(whole({ 'ids[]': 'literal', ids: [1] }, 'ids[]')).toBe('literal');
    expect(whole({ 'lines[]': { sku: null }, lines: [{ sku: 1 }] }, 'lines[].sku')).toBe(null);
    expect(whole({ 'lines[]': {}, lines: [{ sku: 1 }] }, 'lines[].sku')).toEqual([1]);
    expect(whole({ 'ids[]': 'literal', ids: [1] }, 'ids\\[\\]')).toBe('literal');
    expect(whole({ ids: [1] }, 'ids\\[\\]')).toBe(GONE);
  });

  test('a list of 100,000 elements, and one 100,000 levels deep, are read', () => {
    expect(each({ ids: Array.from({ length: 100_000 }, (_, id) => id) }, 'ids[]')).toHaveLength(100_000);
    const deep = `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`;
    const reader = new FieldReader([parseFieldPath('a[][][]', '--by')], UTC);
    const bytes = Buffer.from(deep);
    expect(reader.read(bytes, 0)).toBe(bytes.length);
    expect(reader.has(0)).toBe(true);
  });
});

describe('a path into a text that is JSON', () => {
  const inside = { order: { currency: 'EUR', lines: [{ sku: 'A' }, { sku: 'B' }] }, n: 1.5 };

  test.each([
    ['compact', JSON.stringify(inside)],
    ['indented', `\n${JSON.stringify(inside, undefined, 2)} `],
    ['after a space', ` ${JSON.stringify(inside)}`],
  ])('goes on to any depth, %s', (_, body) => {
    expect(whole({ body }, 'body.order.currency')).toBe('EUR');
    expect(whole({ body }, 'body.order.lines.1.sku')).toBe('B');
    expect(whole({ body }, 'body.order.lines[].sku')).toEqual(['A', 'B']);
    expect(whole({ body }, 'body.order')).toEqual(inside.order);
    expect(whole({ body }, 'body.order.lines:length')).toBe(2);
    expect(whole({ body }, 'body')).toBe(body);
    expect(whole({ list: [{ body }, { body: 'none' }] }, 'list[].body.n')).toEqual([1.5, null]);
  });

  test('is the list itself', () => {
    const body = JSON.stringify([{ sku: 'A' }, { sku: 'B' }]);
    expect(whole({ body }, 'body[].sku')).toEqual(['A', 'B']);
    expect(whole({ body }, 'body.1.sku')).toBe('B');
    expect(whole({ body: '[]' }, 'body[].sku')).toEqual([]);
  });

  test('stops at a text inside the text', () => {
    const body = JSON.stringify({ message: JSON.stringify({ id: 1 }), list: [JSON.stringify([1])] });
    expect(whole({ body }, 'body.message')).toBe('{"id":1}');
    expect(whole({ body }, 'body.message.id')).toBe(GONE);
    expect(whole({ body }, 'body.message[]')).toBe(GONE);
    expect(whole({ body }, 'body.list[][]')).toEqual([]);
    expect(whole({ body: '["[1]"]' }, 'body[][]')).toEqual([]);
    expect(whole({ body: '[{"m":"{\\"id\\":1}"}]' }, 'body[].m.id')).toEqual([null]);
    expect(whole({ list: [{ body }] }, 'list[].body.list[][]')).toEqual([]);
    expect(whole({ list: [{ tags: ['[1,2]'] }] }, 'list[].tags[][]')).toEqual([1, 2]);
    expect(whole({ list: [body, '[1]', 'x'] }, 'list[].message')).toEqual(['{"id":1}', null, null]);
  });

  test.each([
    '{',
    '{"a":1',
    '{"a":1} x',
    ' 1',
    ' "a"',
    ' [1',
    '[1',
    'a',
    '',
    ' ',
    '{a:1}',
    '"a"',
    '1',
    'null',
    '\\u007b',
  ])('leads nowhere in the text %j', (body) => {
    expect(whole({ body }, 'body.a')).toBe(GONE);
    expect(whole({ body }, 'body[]')).toBe(GONE);
  });

  test('the last member of a name counts, whichever of them is a text', () => {
    const path = parseFieldPath('body.a', '--by');
    expect(read('{"body":"{\\"a\\":1}","body":{"a":2}}', path).whole).toBe(2);
    expect(read('{"body":{"a":2},"body":"{\\"a\\":1}"}', path).whole).toBe(1);
    expect(read('{"body":"{\\"a\\":1}","body":"x"}', path).whole).toBe(GONE);
    expect(read('{"body":"{\\"a\\":1}","body":null}', path).whole).toBe(GONE);
  });

  test('one reader tells values on the page from values in a text', () => {
    const reader = new FieldReader(
      ['eventId', 'eventData.body.a', 'subscriptionId'].map((text) => parseFieldPath(text, '--by')),
      UTC,
    );
    const items = [
      { eventId: 'one', eventData: { body: '{"a":"in a text"}' }, subscriptionId: 's' },
      { eventId: 'two', eventData: { body: { a: 'on the page' } }, subscriptionId: 't' },
      { subscriptionId: 'u', eventData: { eventId: 'three', body: '{"eventId":"x","a":"in another"}' } },
    ];
    const found = items.map((item) => {
      reader.read(Buffer.from(JSON.stringify(item)), 0);
      return [0, 1, 2].map((field) => collected((use) => reader.whole(field, use))[0]);
    });
    expect(found).toEqual([
      ['one', 'in a text', 's'],
      ['two', 'on the page', 't'],
      ['three', 'in another', 'u'],
    ]);
  });
});

describe('a name in an item', () => {
  test('is read however its characters are written', () => {
    const name = 'a"b\\é';
    const path = fieldPath([name, 'c']);
    for (const written of [JSON.stringify(name), '"\\u0061\\"b\\u005c\\u00e9"'])
      expect(read(`{"x":0,${written}:{"d":1,"\\u0063":2}}`, path).whole).toBe(2);
  });

  test('is read in any order, among many paths and members whose names begin alike', () => {
    const names = ['a', 'ab', 'abc', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
    for (const count of [3, 8, 9, 10]) {
      const paths = names.slice(0, count).flatMap((name) => [fieldPath([name]), fieldPath(['in', name])]);
      const reader = new FieldReader(paths, UTC);
      for (const order of [names, names.toReversed(), ['x', 'abcd', ...names.toSorted().reverse()]]) {
        const members = Object.fromEntries(order.map((name) => [name, name]));
        reader.read(Buffer.from(JSON.stringify({ ...members, in: members })), 0);
        const found = paths.map((_, field) => collected((use) => reader.whole(field, use))[0]);
        expect(found).toEqual(names.slice(0, count).flatMap((name) => [name, name]));
      }
    }
  });
});

test('the characters of a value are those of a text on the page', () => {
  const paths = ['a', 'eventId', 'body.a', 'a:length', 'list[]'].map((text) => parseFieldPath(text, '--by'));
  const reader = new FieldReader(paths, UTC);
  const textsIn = (item: string) => {
    const bytes = Buffer.from(`"${item}`);
    reader.read(bytes, 1);
    return paths.map((_, field) => reader.text(field));
  };
  expect(textsIn('{"a":"\\u00e9\\n","d":{"eventId":"e"},"body":{"a":"b"}}')).toEqual([
    'é\n',
    'e',
    'b',
    undefined,
    undefined,
  ]);
  expect(textsIn('{"a":1,"eventId":null,"body":"{\\"a\\":\\"b\\"}","a:length":"l","list":["x"]}')).toEqual([
    undefined,
    undefined,
    undefined,
    'l',
    undefined,
  ]);
  expect(textsIn('{}')).toEqual(paths.map(() => undefined));
});

describe('members that no path shows', () => {
  const othersOf = (item: unknown, ...paths: readonly string[]) => {
    const others: string[] = [];
    const reader = new FieldReader(
      paths.map((text) => parseFieldPath(text, '--by')),
      UTC,
      (bytes, start, end) => others.push(bytes.toString('utf8', start, end)),
    );
    reader.read(Buffer.from(JSON.stringify(item)), 0);
    return others;
  };

  test('are those with a value, on the way to others only if they are not objects', () => {
    const item = { a: 1, b: { c: 1, d: 2, e: null }, f: null, g: { h: 1 }, i: [] };
    expect(othersOf(item, 'a', 'b.c')).toEqual(['"d"', '"g"', '"i"']);
    expect(othersOf({ b: 7, a: 1 }, 'a', 'b.c')).toEqual(['"b"']);
    expect(othersOf({ b: { c: 1 } }, 'b', 'b.c')).toEqual([]);
    expect(othersOf(item, 'a', 'b', 'g', 'i')).toEqual([]);
    expect(othersOf({ body: '{"a":1,"b":2}' }, 'body', 'body.a')).toEqual([]);
    expect(othersOf({ eventId: 'e', createdOn: 'c' }, 'createdOn')).toEqual(['"eventId"']);
  });
});

describe('an item that is a text', () => {
  const createdOn = '2026-11-20T12:00:00Z';
  const paths = ['eventId', 'note', 'at:delay'].map((text) => parseFieldPath(text, '--by'));
  const valuesIn = (reader: FieldReader, item: unknown) => {
    const bytes = Buffer.from(`[${JSON.stringify(item)}]`);
    expect(reader.read(bytes, 1)).toBe(bytes.length - 1);
    return paths.map((_, field) => collected((use) => reader.whole(field, use))[0]);
  };

  test.each([...Array(12).keys()])('has no event in a member, with a note of %i quotes', (length) => {
    const note = '"'.repeat(length);
    const event = { at: createdOn, eventId: 'e', createdOn };
    const reader = new FieldReader(paths, UTC);
    for (const item of [
      { note, d: event },
      { d: event, note },
      { note, ...event },
    ]) {
      expect(valuesIn(reader, JSON.stringify(item))[1]).toBe(note);
      expect(valuesIn(reader, { d: event, at: createdOn })).toEqual(['e', GONE, 0]);
    }
    expect(valuesIn(reader, JSON.stringify({ d: event, note }))).toEqual([GONE, note, GONE]);
  });
});

describe('what is derived of a field', () => {
  test('the size of the item in bytes, without white space between tokens', () => {
    const item = { id: 'é€😀', a: [1, 2] };
    expect(whole(item, 'item:size')).toBe(Buffer.byteLength(JSON.stringify(item)));
    expect(whole({ 'item:size': 'literal' }, 'item:size')).toBe('literal');
    expect(whole({ item: [1, 2] }, 'item:length')).toBe(2);
  });

  test.each([
    [['a', 'b', 'c'], 3],
    [[], 0],
    [[[1, 2], { a: [3, 4] }, 'x,y'], 3],
    [{ a: 1, b: [2, 3] }, 2],
    [{}, 0],
    ['', 0],
    ['naïve 😀 "', 9],
    ['[1,2,3]', 7],
    [12, GONE],
    [true, GONE],
    [null, GONE],
  ])('the length of %j', (value, length) => {
    expect(whole({ value }, 'value:length')).toBe(length);
  });

  test.each([
    ['ann@Mail.Harbour.example', 'mail.harbour.example'],
    ['Ann Lee <ann.lee@harbour.example>', 'harbour.example'],
    ['mailto:ann@harbour.example?subject=x', 'harbour.example'],
    ['https://Hooks.harbour.example:8443/in/a@b?x=//c', 'hooks.harbour.example'],
    ['https://user:p@ss@harbour.example/', 'harbour.example'],
    ['amqp://harbour.example', 'harbour.example'],
    ['http://[::1]:80/', '[::1]'],
    ['harbour.example', GONE],
    ['@ann', GONE],
    ['a@b@c', GONE],
    ['ann@', GONE],
    ['see https://harbour.example', GONE],
    [['ann@harbour.example'], GONE],
    ['write to ann@harbour.example', GONE],
    ['', GONE],
    [7, GONE],
  ])('the domain of %j', (value, domain) => {
    expect(whole({ value }, 'value:domain')).toBe(domain);
  });

  const berlin = new TimeZone('Europe/Berlin');
  test.each([
    ['2026-11-20T23:30:00Z', 23, 'Friday', 0, 'Saturday'],
    ['2026-11-20T00:00:00.0000001Z', 0, 'Friday', 1, 'Friday'],
    ['2026-07-05T22:59:59.999Z', 22, 'Sunday', 0, 'Monday'],
    ['2026-11-20T01:30:00+02:00', 23, 'Thursday', 0, 'Friday'],
    // A wall clock's.
    ['2026-11-20', 0, 'Friday', 0, 'Friday'],
    ['2026-11-20 23:30:00', 23, 'Friday', 23, 'Friday'],
    ['2026-11-20 23:30:00+00', 23, 'Friday', 0, 'Saturday'],
    ['2026-02-30T00:00:00Z', GONE, GONE, GONE, GONE],
    ['2026-11', GONE, GONE, GONE, GONE],
    ['noon', GONE, GONE, GONE, GONE],
    [1_795_000_000, GONE, GONE, GONE, GONE],
  ])('the hour and the weekday of %j, in UTC and in Berlin', (createdOn, hour, weekday, there, dayThere) => {
    const item = { createdOn };
    expect(each(item, 'createdOn:hour')).toEqual([hour]);
    expect(each(item, 'createdOn:weekday')).toEqual([weekday]);
    expect(each(item, 'createdOn:hour', berlin)).toEqual([there]);
    expect(each(item, 'createdOn:weekday', berlin)).toEqual([dayThere]);
  });

  const createdOn = '2026-11-20T12:00:01.3Z';
  test.each([
    ['2026-11-20T12:00:00Z', createdOn, 1300],
    ['2026-11-20T14:00:00.1+02:00', createdOn, 1200],
    ['2026-11-20T12:00:01.1Z', createdOn, 200],
    ['2026-11-20T12:00:02.5Z', createdOn, -1200],
    ['2026-11-20T12:00:01.2999999Z', createdOn, 0.0001],
    ['2026-11-19T12:00:00Z', '2026-11-20T12:00:00', 86_400_000],
    // The clock of these may be any.
    ['2026-11-20T12:00:00', createdOn, GONE],
    ['2026-11-20', createdOn, GONE],
    ['soon', createdOn, GONE],
    [1_795_000_000, createdOn, GONE],
    ['2026-11-20T12:00:00Z', 'soon', GONE],
    ['2026-11-20T12:00:00Z', null, GONE],
    ['2026-11-20T12:00:00Z', 1_795_000_000, GONE],
    ['2026-11-20T12:00:00Z', undefined, GONE],
  ])('the milliseconds from %j to the creation at %j', (sentOn, createdOn, delay) => {
    expect(whole({ sentOn, createdOn }, 'sentOn:delay')).toBe(delay);
    expect(whole({ createdOn, d: { eventId: 'e', sentOn } }, 'd.sentOn:delay')).toBe(delay);
    expect(whole({ d: { eventId: 'e', createdOn }, sentOn }, 'sentOn:delay')).toBe(delay);
    const inList = delay === GONE ? null : delay;
    expect(whole({ createdOn, tries: [{ sentOn }, {}] }, 'tries[].sentOn:delay')).toEqual([inList, null]);
    expect(whole({ createdOn, body: JSON.stringify({ sentOn }) }, 'body.sentOn:delay')).toBe(delay);
  });

  test('of each element, of a known field by its short name, and never of a literal name', () => {
    expect(whole({ ids: ['a', 'bcd', 4] }, 'ids[]:length')).toEqual([1, 3, null]);
    const record = { eventData: { eventId: 'abc', createdOn: '2026-11-20T08:30:00Z' } };
    expect(whole(record, 'createdOn:hour')).toBe(8);
    expect(whole(record, 'eventData.createdOn:hour')).toBe(8);
    expect(whole(record, 'eventId:length')).toBe(3);
    expect(whole({ 'a:length': 'literal', a: 'bc' }, 'a:length')).toBe('literal');
    expect(whole({ a: { 'b:length': null, b: 'c' } }, 'a.b:length')).toBe(null);
    expect(whole({ a: 'bc' }, 'a\\:length')).toBe(GONE);
  });

  test('a long text has its domain in linear time', () => {
    for (const text of [
      '<'.repeat(200_000),
      'a'.repeat(200_000),
      '@'.repeat(200_000),
      `x://${'@'.repeat(200_000)}`,
    ])
      expect(whole({ text }, 'text:domain')).toBe(GONE);
  });
});

/** What a path means, said over parsed values. */
function oracle(value: unknown, steps: readonly PathStep[]): unknown[] {
  const [step, ...rest] = steps;
  if (step === undefined) return [value];
  if (step === EACH) {
    if (typeof value !== 'object' || value === null) return [];
    return Object.values(value).flatMap((inner) => oracle(inner, rest));
  }
  const isIndex = /^(0|[1-9]\d*)$/.test(step);
  const isThere =
    typeof value === 'object' &&
    value !== null &&
    Object.hasOwn(value, step) &&
    (!Array.isArray(value) || isIndex);
  if (isThere) return oracle((value as Record<string, unknown>)[step], rest);
  // Behind it an element has no value; a list that is not there has no elements.
  return rest.includes(EACH) ? [] : [GONE];
}

test('reads what a naive walk over the parsed item finds', () => {
  const name = fc.constantFrom('a', 'b', '0', '1', 'a b', '"');
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 5, withCrossShrink: true },
      fc.constantFrom(null, true, 0, 1.5, '', 'a', 'x,y]}"'),
      fc.array(tie('value'), { maxLength: 4 }),
      fc.dictionary(name, tie('value'), { maxKeys: 4 }),
    ),
  }));
  const steps = fc.array(fc.oneof(name, fc.constant(EACH)), { maxLength: 4 });
  fc.assert(
    fc.property(fc.dictionary(name, value, { maxKeys: 4 }), name, steps, (item, first, others) => {
      // JavaScript lists a member of a number's name before others.
      const sorted = (found: unknown[]) =>
        found.map((one) => (one === GONE ? 'none' : JSON.stringify(one))).sort();
      const path = [first, ...others];
      const expected = oracle(item, path);
      const { each: found } = read(JSON.stringify(item), fieldPath(path));
      expect(sorted(found)).toEqual(sorted(expected.length === 0 ? [GONE] : expected));
    }),
    { numRuns: sampleSize(200, 2000) },
  );
});
