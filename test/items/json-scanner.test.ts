import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  JsonScanner,
  JsonSyntaxError,
  readEach,
  scalarEnd,
  scalarsText,
  someToken,
  startsWith,
  stringEnd,
  stringText,
  valueEnd,
  valueText,
} from '../../src/items/json-scanner.ts';
import { sampleSize } from '../support/seed.ts';

const scannerOf = (text: string) => new JsonScanner(Buffer.from(text));

/** The text up to the end of the value that begins it, or the fault. */
function scan(text: string): string {
  const scanner = scannerOf(text);
  try {
    return scanner.bytes.toString('utf8', 0, scanner.value(0));
  } catch (error) {
    if (error instanceof JsonSyntaxError) return error.message;
    throw error;
  }
}

describe('a value', () => {
  test.each([
    ...['0', '-0', '10', '-19.80', '1.05', '1E5', '1e-50', '1e+09', '0.5', '0e1', 'true', 'false', 'null'],
    ...['""', '" !#[]~\u007fé😀"', '"\\"\\\\\\/\\b\\f\\n\\r\\t\\u00aF\\u9A0f"'],
    ...['[]', '{}', '[ ]', '{ }', '[1,2]', '[ 1 , 2 ]', '{"a":1,"b":[{}]}', '{ "a" : [ 1 ] , "b" : { } }'],
    ...['[[],{"a":{"b":[]}},[{"c":0}]]', `${'['.repeat(64)}${']'.repeat(64)}`, '{"a":{"b":1},"c":2}'],
    ...[`${'['.repeat(200)}1${']'.repeat(200)}`, `${'[{"a":'.repeat(70)}1${'}]'.repeat(70)}`],
  ])('%s is read to its end, whatever follows', (text) => {
    expect(scan(text)).toBe(text);
    expect(scan(`${text},`)).toBe(text);
    expect(scan(`${text}]`)).toBe(text);
    expect(scan(`[${text}]}`)).toBe(`[${text}]`);
    expect(scan(`{"a":${text}}]`)).toBe(`{"a":${text}}`);
  });

  test.each([
    ['', 'the text ends where a value belongs at byte 0'],
    ['x', 'a value expected at byte 0'],
    ['.5', 'a value expected at byte 0'],
    ['+1', 'a value expected at byte 0'],
    ['/', 'a value expected at byte 0'],
    [':', 'a value expected at byte 0'],
    ['-', 'the text ends where a digit belongs at byte 1'],
    ['-a', 'a digit expected at byte 1'],
    ['1.', 'the text ends where a digit belongs at byte 2'],
    ['1.e5', 'a digit expected at byte 2'],
    ['1e', 'the text ends where a digit belongs at byte 2'],
    ['1e+', 'the text ends where a digit belongs at byte 3'],
    ['1E-x', 'a digit expected at byte 3'],
    ['tru', 'the text ends where true belongs at byte 3'],
    ['falze', 'false expected at byte 3'],
    ['nulx', 'null expected at byte 3'],
    ['"a', 'the text ends where the end of a string belongs at byte 2'],
    ['"a\u001f"', 'no raw control character expected at byte 2'],
    ['"\\x"', 'an escape expected at byte 2'],
    ['"\\', 'the text ends where an escape belongs at byte 2'],
    ['"\\u12g4"', 'four hex digits expected at byte 5'],
    ['"\\u123', 'the text ends where four hex digits belongs at byte 6'],
    ['"\\u123"', 'four hex digits expected at byte 6'],
    ['"\\ug000"', 'four hex digits expected at byte 3'],
    ['[1 2]', "',' or ']' expected at byte 3"],
    ['[1}', "',' or ']' expected at byte 2"],
    ['[1,]', 'a value expected at byte 3'],
    ['[1', "the text ends where ',' or ']' belongs at byte 2"],
    ['{"a":1 "b":2}', "',' or '}' expected at byte 7"],
    ['{"a":[1]]', "',' or '}' expected at byte 8"],
    ['[{"a":1]', "',' or '}' expected at byte 7"],
    ['{"a" 1}', "':' expected at byte 5"],
    ['[{"a" 1}]', "':' expected at byte 6"],
    ['{a:1}', 'a string expected at byte 1'],
    ['{"a":1,}', 'a string expected at byte 7'],
    ['[{"a":1,}]', 'a string expected at byte 8'],
    ['{"a":1,b:2}', 'a string expected at byte 7'],
    ['{"a":}', 'a value expected at byte 5'],
  ])('%s has a fault: %s', (text, fault) => expect(scan(text)).toBe(fault));

  test('a number ends before a second zero, and before what is no part of it', () => {
    expect(['01', '-01', '1.5.5', '1e5e5', '0x1', '1-1'].map(scan)).toEqual([
      '0',
      '-0',
      '1.5',
      '1e5',
      '0',
      '1',
    ]);
  });

  test('a fault has its name and the offset of its byte', () => {
    expect(() => scannerOf('[x').value(0)).toThrow(
      expect.objectContaining({ name: 'JsonSyntaxError', offset: 1 }),
    );
  });

  test('the scanner accepts exactly what JSON.parse accepts', () => {
    const mutated = fc
      .tuple(
        fc.jsonValue({ maxDepth: 6, stringUnit: 'binary' }),
        fc.nat(),
        fc.constantFrom('', ',', '}', ']', '"', '\\', '0', '-', '.', 'e', '\u0001', ' ', 'n', ':'),
      )
      .map(([value, at, text]) => {
        const json = JSON.stringify(value);
        const position = at % (json.length + 1);
        return json.slice(0, position) + text + json.slice(position + (at % 2));
      });
    fc.assert(
      fc.property(mutated, (text) => {
        expect(accepts(text)).toBe(parses(text));
      }),
      { numRuns: sampleSize(100, 3000) },
    );
  });
});

function accepts(text: string): boolean {
  const scanner = scannerOf(text);
  try {
    return scanner.space(scanner.value(scanner.space(0))) === scanner.bytes.length;
  } catch (error) {
    if (error instanceof JsonSyntaxError) return false;
    throw error;
  }
}

function parses(text: string): boolean {
  try {
    JSON.parse(Buffer.from(text).toString());
    return true;
  } catch {
    return false;
  }
}

describe('white space', () => {
  test.each([
    ['1', 0, false],
    ['', 0, false],
    [' \n\r\t1', 4, true],
    [' ', 1, true],
    ['\u000b1', 0, false],
    [' \u000b', 1, true],
    ['\u00001', 0, false],
  ])('of %j ends at %i', (text, end, isSpaced) => {
    const scanner = scannerOf(text);
    expect([scanner.space(0), scanner.spaced]).toEqual([end, isSpaced]);
  });

  test('is noticed between tokens, and not inside strings', () => {
    for (const [text, isSpaced] of [
      ['{"a b":[" ",1]}', false],
      ['{"a": 1}', true],
      ['{"a" :1}', true],
      ['[1 ,2]', true],
      ['[1, 2]', true],
      ['[ ]', true],
      ['{"a":{ }}', true],
    ] as const) {
      const scanner = scannerOf(text);
      scanner.value(0);
      expect([text, scanner.spaced]).toEqual([text, isSpaced]);
    }
  });
});

test.each([
  ['{"eventId":1}', '1'],
  ['{"a":2,"eventId":1}', '1'],
  ['{"a":{"eventId":2},"b":3}', undefined],
  ['{"a":{"b":3,"eventId":2}}', undefined],
  ['{"a":[{"eventId":2}],"b":[0]}', undefined],
  ['{"event":2,"eventIds":3,"eventIx":4,"e":5}', undefined],
  ['{"\\u0065ventId":1}', '1'],
  ['{"event\\u0049d":1}', '1'],
  ['{"event\\u0049d2":1,"\\u0066ventId":2}', undefined],
  ['{"eventId\\u0020":1}', undefined],
  ['{"EventId":1,"":2}', undefined],
  ['{"eventId":1,"eventId":2}', '2'],
])('the eventId of %s is %s', (text, id) => {
  const { top } = itemScanned(text);
  expect(top.eventId === 0 ? undefined : text[top.eventId]).toBe(id);
});

const itemScanned = (text: string) => {
  const scanner = scannerOf(text);
  expect(scanner.item(0)).toBe(text.length);
  return scanner;
};

test.each([
  ['{"subscriptionId":"s","eventData":{"eventId":"e","subscriptionId":"t"}}', 1, 's', 'e', 't'],
  ['{"eventData":{"headers":{"eventId":"h"},"eventId":"e"},"other":{"id":1}}', 1, undefined, 'e', undefined],
  ['{"eventData":{"event\\u0049d":"e"}}', 1, undefined, 'e', undefined],
  ['{"a":{"eventId":"e"},"b":{"eventId":"f"}}', 2, undefined, 'f', undefined],
  ['{"a":{"eventId":5},"b":{},"c":{"subscriptionId":"s"}}', 0, undefined, undefined, undefined],
  ['{"a":[{"eventId":"e"}],"b":"eventId"}', 0, undefined, undefined, undefined],
  ['[{"eventId":"e"},{"a":{"eventId":"f"}}]', 0, undefined, undefined, undefined],
  ['{"a":{"eventId":"e","b":{"eventId":"f"}},"c":[1]}', 1, undefined, 'e', undefined],
])('the members of %s that are events are %i', (text, holders, topSubscription, id, subscription) => {
  const { top, holder, holders: found } = itemScanned(text);
  const at = (offset: number) => (offset === 0 ? undefined : text[offset + 1]);
  expect([found, at(top.subscriptionId)]).toEqual([holders, topSubscription]);
  if (holders === 0) return;
  expect([at(holder.eventId), at(holder.subscriptionId)]).toEqual([id, subscription]);
  expect(text.slice(holder.start, holder.start + 2)).toBe('{"');
});

test('the members of an item are forgotten at the next', () => {
  const [first, second] = ['{"eventId":"e","a":{"eventId":"f"}}', '{"b":{"eventId":"g"}}'];
  const scanner = scannerOf(first + second);
  const members = () => [scanner.top.eventId, scanner.holders, scanner.bytes[scanner.holder.eventId + 1]];
  const end = scanner.item(0);
  expect(members()).toEqual([first.indexOf('"e"'), 1, 'f'.charCodeAt(0)]);
  scanner.item(end);
  expect(members()).toEqual([0, 1, 'g'.charCodeAt(0)]);
});

/** The texts of the values in a list or an object, and the rest after it. */
function inner(text: string, isValid: boolean) {
  const scanner = scannerOf(text);
  const { bytes } = scanner;
  const values: string[] = [];
  const isObject = text.startsWith('{');
  const read = (at: number) => {
    const start = isObject ? scanner.key(at) : at;
    const end = scanner.value(start);
    values.push(bytes.toString('utf8', start, end));
    return end;
  };
  const end = isValid ? readEach(bytes, 0, read) : scanner.each(0, read);
  return { values, rest: text.slice(end) };
}

describe('the members of an object, and the elements of a list,', () => {
  test.each([
    ['[],', [], ','],
    ['{}]', [], ']'],
    ['[1]}', ['1'], '}'],
    ['[[],{"a":"]"},null],', ['[]', '{"a":"]"}', 'null'], ','],
    ['{"a":1,"b}":{},"c":[2,3]}}', ['1', '{}', '[2,3]'], '}'],
  ])('of %s are read in order', (text, values, rest) => {
    expect(inner(text, true)).toEqual({ values, rest });
    expect(inner(text, false)).toEqual({ values, rest });
  });

  test('are read across white space', () => {
    expect(inner('[ 1 , [ ] ] ', false)).toEqual({ values: ['1', '[ ]'], rest: ' ' });
    expect(inner('{ "a" : 1 , "b" : 2 }', false)).toEqual({ values: ['1', '2'], rest: '' });
    expect(inner('[ ]', false)).toEqual({ values: [], rest: '' });
  });

  test.each([
    ['[1 2]', "',' or ']' expected at byte 3"],
    ['[1}', "',' or ']' expected at byte 2"],
    ['{"a":1]', "',' or '}' expected at byte 6"],
    ['{"a":1', "the text ends where ',' or '}' belongs at byte 6"],
  ])('of %s are a fault', (text, message) => {
    expect(() => inner(text, false)).toThrow(message);
  });
});

test('names and scalars are read until one is wanted, with the punctuation between them', () => {
  const bytes = Buffer.from('{"a":[1,"b,"],"c":null}');
  const read = (wanted: string) => {
    const tokens: string[] = [];
    let punctuation = '';
    const use = (at: number, to: number) => {
      tokens.push(bytes.toString('utf8', at, to));
      return tokens.at(-1) === wanted;
    };
    const isFound = someToken(bytes, 0, bytes.length, use, (byte) => {
      punctuation += String.fromCharCode(byte);
    });
    return { isFound, tokens, punctuation };
  };
  const tokens = ['"a"', '1', '"b,"', '"c"', 'null'];
  expect(read('')).toEqual({ isFound: false, tokens, punctuation: '{:[,],:}' });
  expect(read('"b,"')).toEqual({ isFound: true, tokens: tokens.slice(0, 3), punctuation: '{:[,' });
  expect(someToken(bytes, 0, bytes.length, () => false)).toBe(false);
});

describe('in a valid item', () => {
  test.each([
    ['ab', 0, true],
    ['ab', 2, true],
    ['', 4, true],
    ['ba', 2, false],
    ['abc', 2, false],
  ])('%j stands at offset %i: %s', (text, at, expected) =>
    expect(startsWith(Buffer.from('abab'), at, Buffer.from(text))).toBe(expected),
  );

  test.each([
    ['"a"', 3],
    ['"\\"",1', 4],
    ['"a\\\\",1', 5],
    ['""x', 2],
  ])('the string that begins %s ends at %i', (text, end) =>
    expect(stringEnd(Buffer.from(text), 0)).toBe(end),
  );

  test('a string of any length ends at its quote, wherever backslashes and escaped quotes are', () => {
    const part = fc.oneof(fc.constantFrom('\\', '"', 'a'.repeat(40)), fc.string());
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
        const json = JSON.stringify(parts.join(''));
        expect(stringEnd(Buffer.from(`${json}:"b"`), 0)).toBe(Buffer.byteLength(json));
      }),
    );
  });

  test.each([
    ['1,2', 1],
    ['-1.5e3}', 6],
    ['true]', 4],
    ['null', 4],
    ['12 ', 2],
    ['12\n', 2],
    ['1', 1],
  ])('the scalar that begins %s ends at %i', (text, end) => {
    expect(scalarEnd(Buffer.from(text), 0)).toBe(end);
    expect(valueEnd(Buffer.from(text), 0)).toBe(end);
  });

  test.each([
    '"}"',
    '{}',
    '[]',
    '{"a":"}","b":[{}]}',
    '["]",[[1]],{"c":"\\""}]',
    '[[],[]]',
    '{"a":{},"b":{}}',
  ])('%s ends before what follows it', (text) => {
    expect(valueEnd(Buffer.from(`${text},1]}`), 0)).toBe(text.length);
    expect(valueEnd(Buffer.from(`[${text}]`), 1)).toBe(text.length + 1);
  });

  const all = (text: string) => [Buffer.from(text), 0, Buffer.byteLength(text)] as const;

  test.each([
    ['"a\\u00e9\\n"', 'aé\n'],
    ['""', ''],
    ['null', ''],
    ['1.10', '1.10'],
    ['{"a":1}', '{"a":1}'],
    ['true', 'true'],
  ])('%s is %j in a cell', (text, cell) => {
    expect(valueText(...all(text))).toBe(cell);
    if (text.startsWith('"')) expect(stringText(...all(text))).toBe(cell);
  });

  test.each([
    ['{"status":503,"text":"Service Unavailable"}', '503 Service Unavailable'],
    ['["a",["b",{"c":true}],null,-1.5]', 'a b true -1.5'],
    ['{"a":{"b":"x:y"},"c":[]}', 'x:y'],
    ['{}', '{}'],
    ['[]', '[]'],
    ['{"a":null}', '-'],
    ['[[]]', '-'],
    ['null', '-'],
    ['"a\\"b"', 'a"b'],
    ['12', '12'],
    ['false', 'false'],
  ])('%s is %s for people', (text, shown) => {
    expect(scalarsText(...all(text), 1000)).toBe(shown);
    const inside = Buffer.from(`[1,${text},2]`);
    expect(scalarsText(inside, 3, inside.length - 3, 1000)).toBe(shown);
  });

  test('what people see of a list ends soon after so many characters', () => {
    expect(scalarsText(...all('["abc","def","ghi","jkl"]'), 7)).toBe('abc def');
    expect(scalarsText(...all('["abc","def","ghi","jkl"]'), 8)).toBe('abc def ghi');
  });
});
