import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readPage } from '../../src/events/page.ts';
import { JsonSyntaxError } from '../../src/json/json-scanner.ts';

const texts = (body: string | Buffer) => {
  const items = readPage(Buffer.from(body)).items;
  return items.texts().map(String);
};

const anyJson = fc.jsonValue({ maxDepth: 6, stringUnit: 'binary' });

describe('the items of a page', () => {
  test('keep their exact bytes: big integers, decimals, huge exponents, duplicate keys, order, escapes', () => {
    const items = [
      '{"n":9007199254740993,"d":1.10,"e":1e400,"neg":-0,"E":1E+2}',
      '{"b":1,"a":2,"b":3}',
      '{"text":"\\u00e9\\/\\n\\"}{][,:\\\\","\\ud800":"é😀"}',
      '[]',
      '"a string, {not} an object"',
      'null',
      'true',
      '-12.5e-3',
    ];
    expect(texts(`{"items":[${items.join(',')}],"count":8}`)).toEqual(items);
  });

  test('lose white space between tokens, but not inside strings', () => {
    const page =
      '\ufeff \n{ "items" : [ \t{ "a b" : " c\\" d " ,\r\n "e" : [ 1 , 2 ] } , { } ] , "next" : null }\n';
    expect(texts(page)).toEqual(['{"a b":" c\\" d ","e":[1,2]}', '{}']);
  });

  test('are the same values whether the page is pretty-printed or not', () => {
    fc.assert(
      fc.property(
        fc.array(anyJson, { maxLength: 5 }),
        fc.constantFrom(undefined, 1, '\t'),
        (items, indent) => {
          const page = JSON.stringify({ href: 'x', items, count: items.length }, null, indent);
          expect(texts(page)).toEqual(items.map((item) => JSON.stringify(item)));
        },
      ),
      { numRuns: 1000 },
    );
  });

  test('may nest to any depth', () => {
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    expect(texts(`{"items":[${deep}]}`)).toEqual([deep]);
  });

  test('is a collection by its members: an error with status 200 is not', () => {
    const isCollection = (text: string) => readPage(Buffer.from(text)).isCollection;
    expect(isCollection('{"code":"x.y","message":"m"}')).toBe(false);
    for (const items of ['{"0":{}}', '"x"', '1', 'false'])
      expect(isCollection(`{"href":"x","count":1,"items":${items}}`)).toBe(false);
    for (const text of ['{}', '{"items":[]}', '{"items":null}', '{"count":0,"message":"m"}']) {
      expect(isCollection(text)).toBe(true);
    }
  });

  test.each(['{}', '{"items":[]}', '{"items":null}', '{"count":3}'])('%s has no items', (page) =>
    expect(texts(page)).toEqual([]),
  );
});

describe('the rest of a page', () => {
  test('count and next are read wherever they are', () => {
    expect(
      readPage(Buffer.from('{"next":"/a?limit(2,1)","items":[1],"first":null,"count":7}')),
    ).toMatchObject({
      count: 7,
      next: '/a?limit(2,1)',
    });
  });

  test.each([
    ['{"items":[]}', undefined, undefined],
    ['{"count":"12","next":""}', 12, null],
    ['{"count":1.5,"next":5}', undefined, null],
    ['{"count":-1,"next":null}', undefined, null],
    ['{"count":null}', undefined, undefined],
  ])('%s is accepted without them', (page, count, next) => {
    expect(readPage(Buffer.from(page))).toMatchObject({ count, next });
  });
});

describe('invalid JSON', () => {
  test.each([
    '',
    '[]',
    'null',
    '{"items":[1,]}',
    '{"items":[01]}',
    '{"items":[.5]}',
    '{"items":["\t"]}',
    '{"items":["\\x"]}',
    '{"items":["\\u12g4"]}',
    '{"items":[tru]}',
    '{"items":[{"a"}]}',
    '{"items":[{a:1}]}',
    '{"items":[1}',
    '{"items":[1]} x',
    '{"items":[1]',
    '{"items":[1],}',
  ])('%s is refused with the place of the fault', (page) => {
    expect(() => readPage(Buffer.from(page))).toThrow(JsonSyntaxError);
  });

  test('a page cut at any byte is refused', () => {
    const page = Buffer.from('{"count":2,"items":[{"a":"é\\n","b":[1.5e3,true]},{"c":null}],"next":null}');
    for (let length = 0; length < page.length; length++) {
      expect(() => readPage(page.subarray(0, length)), `cut at ${length}`).toThrow(JsonSyntaxError);
    }
    expect(readPage(page).items.count).toBe(2);
  });

  test('bytes that are not UTF-8 are refused', () => {
    expect(() => readPage(Buffer.from([...Buffer.from('{"items":["'), 0xff, ...Buffer.from('"]}')]))).toThrow(
      /UTF-8/,
    );
  });
});
