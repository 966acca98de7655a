import { describe, expect, test } from 'vitest';
import { EACH, type PathStep } from '../../src/items/field-path.ts';
import { isInside, SampleField } from '../../src/sample/sample-field.ts';
import {
  cellsOf,
  column,
  fieldAt,
  fieldOf,
  OTHER,
  pathsOf,
  tableOf,
  upTo,
  valuesOf,
} from './made-samples.ts';

const json = JSON.stringify;
/** The JSON of a text with this many bytes, of its quotes too. */
const textOfBytes = (bytes: number, letter = 'x') => json(letter.repeat(bytes - 2));

describe('the values of a field', () => {
  test('are those of its rows; a row without it or with null has none', () => {
    const field = fieldOf(['1', '"x"', 'null', '', '1', 'true']);
    expect(valuesOf(field, 6)).toEqual(['1', '"x"', undefined, undefined, '1', 'true']);
    expect(field.present).toBe(5);
    expect(field.cells).toBe(4);
    expect(field.path).toBe('a');
  });

  test('are one in every spelling', () => {
    const field = fieldOf(['1', '1.0', '10e-1', '"y"', '"\\u0079"', '1.0', '"\\u0079"', '"z"']);
    expect(valuesOf(field, 8)).toEqual(['1', '1', '1', '"y"', '"y"', '1', '"y"', '"z"']);
    expect(field.texts).toEqual(['null', 'null', '1', '"y"', '"z"']);
  });

  test('are kept of many rows', () => {
    const field = fieldOf(upTo(300).map((row) => (row % 3 === 2 ? '' : `"v${row % 7}"`)));
    expect(valuesOf(field, 300)).toEqual(
      upTo(300).map((row) => (row % 3 === 2 ? undefined : `"v${row % 7}"`)),
    );
    expect([field.rows.length, field.codes.length, field.present]).toEqual([200, 200, 200]);
  });

  test('tell how many bytes they have at most', () => {
    const table = tableOf(['"a":"xy"', '"a":"vwxyz"', '"a":1', '"b":{"c":[10]}', '"b":{"c":7}']);
    const bytes = ['a', 'b', 'b.c', 'b.c[]'].map((path) => fieldAt(table, path).mostBytes);
    expect(bytes).toEqual([7, 10, 4, 2]);
  });

  test('of more than 512 bytes are not compared', () => {
    const field = fieldOf([textOfBytes(512), textOfBytes(513)]);
    expect(valuesOf(field, 2)).toEqual([textOfBytes(512), OTHER]);
    expect(field.hasLongValue).toBe(true);
    expect(fieldOf([textOfBytes(512)]).hasLongValue).toBe(false);
  });
});

describe('of members with one name in an event', () => {
  test('the last one counts', () => {
    const table = tableOf(['"a":1,"a":2,"b":3', '"a":1', '"a":4,"a":null,"b":3,"b":3']);
    expect(column(table, 'b')).toEqual(['3', undefined, '3']);
    expect(fieldAt(table, 'b').present).toBe(2);
    expect(column(table, 'a')).toEqual(['2', '1', undefined]);
    expect(fieldAt(table, 'a').present).toBe(3);
  });

  test('null counts too if it is the last one', () => {
    const table = tableOf(['"o":{"a":1}', '"o":{"a":4,"a":null}', '"o":{"a":4,"a":null,"a":5}']);
    expect(column(table, 'o.a')).toEqual(['1', undefined, '5']);
    expect(fieldAt(table, 'o.a').present).toBe(3);
  });

  test('an object that is replaced leaves no members, of this event only', () => {
    const table = tableOf([
      '"a":{"b":1,"d":{"e":1}}',
      '"a":{"c":1},"a":2',
      '"a":{"b":{"x":1},"c":3},"a":{"c":4}',
    ]);
    expect(column(table, 'a')).toEqual([OTHER, '2', OTHER]);
    expect(column(table, 'a.b')).toEqual(['1', undefined, undefined]);
    expect(column(table, 'a.b.x')).toEqual([undefined, undefined, undefined]);
    expect(column(table, 'a.c')).toEqual([undefined, undefined, '4']);
    expect(column(table, 'a.d.e')).toEqual(['1', undefined, undefined]);
    expect(['a.b', 'a.b.x', 'a.c'].map((path) => fieldAt(table, path).present)).toEqual([1, 0, 1]);
  });

  test('a list that is replaced leaves no elements, not even those that come again', () => {
    const table = tableOf(['"a":[1,2],"a":[2,3,3]', '"a":[2],"a":7', '"a":[1],"a":[]']);
    expect(cellsOf(table, 'a[]')).toEqual([['2', '3'], [], []]);
    expect(column(table, 'a:length')).toEqual(['3', undefined, '0']);
    expect(fieldAt(table, 'a[]').present).toBe(1);
  });

  test('a long text that is replaced leaves no length', () => {
    const long = (bytes: number) => textOfBytes(bytes);
    const table = tableOf([
      `"a":${long(602)}`,
      `"a":${long(702)},"a":"abc"`,
      `"a":${long(802)},"a":${long(902)}`,
      `"a":${long(602)}`,
    ]);
    expect(column(table, 'a:length')).toEqual(['600', '3', '900', '600']);
    expect(fieldAt(table, 'a:length').texts.slice(2).toSorted()).toEqual(['3', '600', '900']);
  });
});

describe('of a field with nearly as many values as events', () => {
  const ids = (count: number) => upTo(count).map((index) => `"id-${index}"`);
  const others = (count: number) => Array<string>(count).fill(OTHER);
  /** So many ids of two events, after so many of one. */
  const repeated = (count: number, again: number) => [...ids(count), ...ids(again)];

  test('no value is compared, from 20 values on', () => {
    const few = fieldOf(ids(19));
    expect([few.isUncompared, valuesOf(few, 19)]).toEqual([false, ids(19)]);
    const many = fieldOf(ids(20));
    expect([many.isUncompared, valuesOf(many, 20)]).toEqual([true, others(20)]);
    expect(many.texts).toEqual(['null', 'null']);
    expect([many.hasOnlyLimits, many.hasLongValue]).toEqual([false, false]);
  });

  test('no value is compared, if more than nine of ten differ', () => {
    expect(fieldOf(repeated(27, 2)).isUncompared).toBe(true);
    expect(fieldOf(repeated(27, 3)).isUncompared).toBe(false);
    expect(valuesOf(fieldOf(repeated(27, 3)), 30)).toEqual(repeated(27, 3));
  });

  test('an event with null counts as one with another value, one without the field does not', () => {
    expect(fieldOf([...ids(20), ...Array<string>(5).fill('null')]).isUncompared).toBe(false);
    expect(fieldOf([...ids(20), ...Array<string>(5).fill('')]).isUncompared).toBe(true);
  });

  test('in a list, elements are what differs', () => {
    const lists = (values: number) =>
      fieldAt(tableOf(upTo(20).map((row) => ({ a: [`v${row}`, `v${(row + 20) % values}`] }))), 'a[]');
    expect(lists(25).isUncompared).toBe(false);
    expect(lists(40).isUncompared).toBe(true);
  });

  test('a value of ten events is compared', () => {
    for (const [count, expected] of [
      [9, OTHER],
      [10, '""'],
    ] as const) {
      const field = fieldOf([...ids(100), ...Array<string>(count).fill('""')]);
      expect(field.isUncompared).toBe(true);
      expect(valuesOf(field, 100 + count)).toEqual([...others(100), ...Array<string>(count).fill(expected)]);
      expect(field.texts.slice(2)).toEqual(count === 10 ? ['""'] : []);
    }
  });

  test('a value is compared if one of 200 events has it', () => {
    const textAt = (row: number) => {
      if (row % 200 === 1) return 'N/A';
      return row % 200 === 3 && row > 200 ? '-' : `id-${row}`;
    };
    const values = upTo(2400).map((row) => json(textAt(row)));
    const field = fieldOf(values);
    expect(field.texts.slice(2)).toEqual(['"N/A"']);
    expect(valuesOf(field, 2400)).toEqual(values.map((value) => (value === '"N/A"' ? value : OTHER)));
  });

  describe('limits are compared', () => {
    const numbers = upTo(19).map((index) => String(index + 1));

    test.each([
      '0',
      '-5',
      '"7.5"',
      '"0.25"',
      '-0.25',
      '123456789012345678',
      '-123456789012345678',
      '12.3456789012345',
      '"0.12345678901234"',
      '10.5',
    ])('if all are numbers, as %s beside others', (value) => {
      const field = fieldOf([...numbers, value]);
      expect([field.hasOnlyLimits, field.isUncompared]).toEqual([true, false]);
      expect(valuesOf(field, 20)).toEqual([...numbers, value]);
      expect(field.prose).toBeUndefined();
    });

    test.each([
      '"x"',
      '""',
      '"07"',
      '"00.5"',
      '"-"',
      '"1."',
      '".5"',
      '"5 "',
      '" 5"',
      '"a5"',
      '"1e5"',
      '1e400',
      '1234567890123456789',
      '"12.34567890123456"',
      'true',
      '"1,5"',
      '"2026-11-20T00:00:00Z"',
    ])('but not with %s beside numbers', (value) => {
      const field = fieldOf([...numbers, value]);
      expect([field.hasOnlyLimits, field.isUncompared]).toEqual([false, true]);
    });

    test('if all are times', () => {
      const times = upTo(20).map((day) => `"2026-11-${day + 10}T00:00:00Z"`);
      expect(fieldOf(times)).toMatchObject({ hasOnlyLimits: true, isUncompared: false });
      expect(valuesOf(fieldOf(times), 20)).toEqual(times);
      expect(fieldOf([...times.slice(1), '"soon"'])).toMatchObject({
        hasOnlyLimits: false,
        isUncompared: true,
      });
    });

    test('but not of values of which each is often there', () => {
      expect(fieldOf([...numbers, ...numbers]).hasOnlyLimits).toBe(false);
    });
  });

  describe('all texts are kept', () => {
    const messages = (textOf: (index: number) => string) =>
      fieldOf(upTo(20).map((index) => json(textOf(index))));

    test.each<(index: number) => string>([
      (index) => `order ${index} refused`,
      (index) => `${index} items are left`,
      (index) => `no ${index}`,
      (index) => `é ${index} größer als`,
    ])('if they are sentences: %s', (textOf) => {
      const field = messages(textOf);
      const { texts = [], codes = [] } = field.prose ?? {};
      expect([...codes].map((code) => texts[code])).toEqual(upTo(20).map((index) => json(textOf(index))));
      expect(field.isUncompared).toBe(true);
      expect(field.texts).toEqual(['null', 'null']);
    });

    test.each<(index: number) => string>([
      (index) => `order-${index}`,
      (index) => `${index} Street`,
      (index) => `x ${index} y`,
      (index) => `order${index}  refused`,
      (index) => ` ${index}`,
    ])('but not if they are no sentences: %s', (textOf) => {
      const field = messages(textOf);
      expect([field.isUncompared, field.prose]).toEqual([true, undefined]);
    });

    test('but not if they are compared', () => {
      const few = upTo(19).map((index) => `"order ${index} refused"`);
      expect(fieldOf(few).prose).toBeUndefined();
    });
  });
});

describe('values that conditions take for the same are one', () => {
  test('a number or a literal, and texts of it', () => {
    const field = fieldOf(['1', '"1"', '"1.0"', 'true', '"true"', '2', '"x"', '"3"', '"3.0"', '"True"']);
    expect(valuesOf(field, 10)).toEqual([
      '1',
      '1',
      '1',
      'true',
      'true',
      '2',
      '"x"',
      '"3"',
      '"3.0"',
      '"True"',
    ]);
    expect(valuesOf(fieldOf(['"1"', '1', 'true']), 3)).toEqual(['1', '1', 'true']);
  });

  test('texts are not, unless a number is among the values', () => {
    expect(valuesOf(fieldOf(['"1"', '"1.0"', '2']), 3)).toEqual(['"1"', '"1.0"', '2']);
    expect(valuesOf(fieldOf(['"1"', '"1.0"']), 2)).toEqual(['"1"', '"1.0"']);
  });

  test('types and ids in any case, but no other texts', () => {
    const names = ['order.paid', 'Order.Paid', 'ORDER.PAID', 'order.sent'];
    const table = tableOf(
      names.map((name) => ({
        eventType: name,
        subscriptionId: name,
        region: name,
        data: { eventType: name },
        eventId: { region: name },
      })),
    );
    for (const path of ['eventType', 'subscriptionId']) {
      const codes = [...fieldAt(table, path).codesByRow(4)];
      expect([new Set(codes.slice(0, 3)).size, new Set(codes).size]).toEqual([1, 2]);
    }
    for (const path of ['region', 'data.eventType', 'eventId.region'])
      expect(column(table, path)).toEqual(names.map((name) => json(name)));
  });
});

describe('the domains of addresses are a field', () => {
  const domainsOf = (values: readonly string[]) => {
    const table = tableOf(values.map((value) => `"a":${value}`));
    return pathsOf(table).includes('a:domain') ? column(table, 'a:domain') : undefined;
  };

  test('if there are several, and no more than half as many as addresses', () => {
    expect(domainsOf(['"a@x.example"', '"b@x.example"', '"c@Y.example"', '"https://y.example/"'])).toEqual([
      '"x.example"',
      '"x.example"',
      '"y.example"',
      '"y.example"',
    ]);
    expect(domainsOf(['"a@x.example"', '"b@x.example"', '"c@y.example"'])).toBeUndefined();
    expect(domainsOf(['"a@x.example"', '"b@x.example"', '"c@x.example"', '"d@x.example"'])).toBeUndefined();
  });

  test('beside texts without a domain, but not numbers', () => {
    const addresses = ['"a@x.example"', '"b@x.example"', '"c@y.example"'];
    expect(domainsOf([...addresses, '"none"'])).toEqual([
      '"x.example"',
      '"x.example"',
      '"y.example"',
      undefined,
    ]);
    expect(domainsOf([...addresses, '1', '2', '3', 'true'])).toBeUndefined();
    expect(domainsOf(['"a@x.example"', '"b"', '"c"', '"d"'])).toBeUndefined();
  });

  test('and long texts have none', () => {
    const long = json(`a@${'x'.repeat(600)}.example`);
    const values = ['"a@x.example"', long, '"b@x.example"', '"c@y.example"', '"d@y.example"'];
    expect(domainsOf(values)).toEqual([
      '"x.example"',
      undefined,
      '"x.example"',
      '"y.example"',
      '"y.example"',
    ]);
  });

  test('of elements too', () => {
    const table = tableOf([
      { a: ['a@x.example', 'b@x.example'] },
      { a: ['c@y.example', 'd@x.example', 7] },
      { a: ['e@y.example'] },
    ]);
    expect(cellsOf(table, 'a[]:domain')).toEqual([
      ['"x.example"'],
      ['"y.example"', '"x.example"'],
      ['"y.example"'],
    ]);
  });

  test('unless they come after 2,048 other texts', () => {
    const addresses = ['"a@x.example"', '"b@y.example"', '"c@x.example"'];
    const others = (count: number) => upTo(count).map((index) => `"other ${index}"`);
    expect(domainsOf([...others(2047), ...addresses])).toBeUndefined();
    expect(domainsOf([...others(2046), ...addresses])?.slice(-3)).toEqual([
      '"x.example"',
      '"y.example"',
      '"x.example"',
    ]);
  });

  test('and have no field of their own', () => {
    const addresses = upTo(120).map((index) => `"${index}@${'x'.repeat(1 + (index % 30))}.example"`);
    const table = tableOf(addresses.map((address) => `"a":${address}`));
    expect(pathsOf(table).filter((path) => path.startsWith('a'))).toEqual(['a', 'a:length', 'a:domain']);
  });
});

describe('the lengths of texts are a field', () => {
  /** As many texts, with as many lengths. */
  const texts = (count: number, lengths: number) =>
    upTo(count).map((index) => json(`${index}`.padStart(4, '0').padEnd(4 + (index % lengths), 'é')));
  const lengthsOf = (values: readonly string[]) => {
    const table = tableOf(values.map((value) => `"a":${value}`));
    return pathsOf(table).includes('a:length') ? column(table, 'a:length') : undefined;
  };

  test('of 50 texts on', () => {
    expect(lengthsOf(texts(50, 10))).toEqual(upTo(50).map((index) => String(4 + (index % 10))));
    expect(lengthsOf(texts(49, 10))).toBeUndefined();
    expect(lengthsOf([...texts(49, 10), '1', '2'])).toBeUndefined();
  });

  test('with ten lengths on, and no more than half as many as texts', () => {
    expect(lengthsOf(texts(60, 9))).toBeUndefined();
    expect(lengthsOf(texts(50, 25))).toBeDefined();
    expect(lengthsOf(texts(50, 26))).toBeUndefined();
  });

  test('if a text is too long to be compared, unless all are as long', () => {
    expect(lengthsOf(['"ab"', textOfBytes(602), textOfBytes(602, 'y'), '7', textOfBytes(702)])).toEqual([
      '2',
      '600',
      '600',
      undefined,
      '700',
    ]);
    expect(lengthsOf([textOfBytes(602), textOfBytes(602, 'y')])).toBeUndefined();
  });

  test('but not that of a list which is too long to be compared', () => {
    const list = upTo(300);
    const table = tableOf([{ o: { a: list } }, { o: { a: 'ab' } }, { o: { a: 'abc' } }]);
    expect(fieldAt(table, 'o.a').hasLongValue).toBe(true);
    expect(column(table, 'o.a')).toEqual([OTHER, '"ab"', '"abc"']);
    expect(column(table, 'o.a:length')).toEqual(['300', undefined, undefined]);
  });

  test('and that of a list is a field of its own', () => {
    const table = tableOf([`"a":${textOfBytes(602)}`, '"a":[1,2]', `"a":${textOfBytes(702)}`]);
    const lengths = table.fields.filter(({ path }) => path === 'a:length');
    expect(lengths.map((field) => valuesOf(field, 3))).toEqual([
      [undefined, '2', undefined],
      ['600', undefined, '700'],
    ]);
  });

  test('with all of several long texts in a list', () => {
    const long = (length: number) => 'x'.repeat(length);
    const table = tableOf([
      { a: ['ab', long(600), long(700)] },
      { a: [long(800)] },
      { a: ['abc'] },
      { a: [long(600), 'ab', long(900)] },
    ]);
    const cells = cellsOf(table, 'a[]:length').map((lengths) => lengths.toSorted());
    expect(cells).toEqual([['2', '600', '700'], ['800'], ['3'], ['2', '600', '900']]);
    expect(cellsOf(table, 'a[]')).toEqual([['"ab"', OTHER], [OTHER], ['"abc"'], [OTHER, '"ab"']]);
  });
});

test('a field in a list has each value once in a row, and the last one in place of all', () => {
  const table = tableOf([{ a: [1, 2, 1] }, { a: [2, 1, 2] }, {}, { a: [1] }]);
  expect(cellsOf(table, 'a[]')).toEqual([['1', '2'], ['2', '1'], [], ['1']]);
  expect(column(table, 'a[]')).toEqual(['2', '1', undefined, '1']);
  expect(fieldAt(table, 'a[]').isInList).toBe(true);
  expect(fieldAt(table, 'a').isInList).toBe(false);
});

test('a field is inside another if its path goes on from there', () => {
  const field = (...steps: readonly PathStep[]) => new SampleField(steps);
  const inside = (inner: SampleField, outer: SampleField) => isInside(inner, outer);
  expect(inside(field('a', 'b'), field('a'))).toBe(true);
  expect(inside(field('a', EACH, 'b'), field('a', EACH))).toBe(true);
  expect(inside(field('a', EACH), field('a'))).toBe(true);
  expect(inside(field('a'), field('a'))).toBe(false);
  expect(inside(field('a'), field('a', 'b'))).toBe(false);
  expect(inside(field('b', 'a'), field('a'))).toBe(false);
  expect(inside(field('a', 'c', 'd'), field('a', 'b'))).toBe(false);
  expect(inside(new SampleField(['a'], 'length'), field('a'))).toBe(true);
  expect(inside(new SampleField(['a', 'b'], 'length'), field('a'))).toBe(true);
  expect(inside(field('a', 'b'), new SampleField(['a'], 'length'))).toBe(false);
});
