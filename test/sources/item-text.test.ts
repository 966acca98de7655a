import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { KeyedItems } from '../../src/items/items.ts';
import { isObjectText, itemsOfText } from '../../src/sources/item-text.ts';
import { sampleSize } from '../support/seed.ts';
import { itemOf } from '../support/shape.ts';

async function* inPieces(pieces: readonly (string | Buffer)[]): AsyncGenerator<Buffer> {
  for (const piece of pieces) yield Buffer.from(piece as string);
}

async function pagesOf(pieces: readonly (string | Buffer)[], file?: string): Promise<KeyedItems[]> {
  const pages: KeyedItems[] = [];
  for await (const items of itemsOfText(inPieces(pieces), 'the file', file)) pages.push(items);
  return pages;
}

async function read(pieces: readonly (string | Buffer)[]) {
  const pages = await pagesOf(pieces);
  return {
    texts: pages.flatMap((items) => items.texts().map(String)),
    keys: pages.flatMap(({ keys }) => [...keys]),
    isDoubtful: pages.some(({ hasDoubtful }) => hasDoubtful),
  };
}

const MARK = '\ufeff';
const [A, B] = ['a', 'b'].map((eventId) =>
  JSON.stringify(itemOf({ eventId, subscriptionId: 's', text: 'é{[,' })),
);

describe('items of a text', () => {
  test.each([
    ['one a line', `${A}\n${B}\n`],
    ['one a line, the last without an end', `${A}\r\n${B}`],
    ['one after the other', `${A}${B}`],
    ['a list', `[${A},${B}]`],
    ['a list with space', ` [\n ${A} ,\n\t${B}\r\n] \n`],
    ['texts that begin with a mark each', `${MARK}${A}\n${MARK}${B}\n`],
    ['a list that begins with a mark', `${MARK}[${A},${B}]`],
    ['lines between empty ones', `\n\n${A}\n \n${B}\n\n`],
  ])('are found in %s, wherever it is split', async (_, text) => {
    const bytes = Buffer.from(text);
    const whole = await read([bytes]);
    expect(whole).toMatchObject({ texts: [A, B], isDoubtful: false });
    expect(new Set(whole.keys).size).toBe(2);
    for (let at = 0; at <= bytes.length; at++)
      expect(await read([bytes.subarray(0, at), bytes.subarray(at)])).toEqual(whole);
    expect(await read([...bytes].map((byte) => Buffer.of(byte)))).toEqual(whole);
  });

  test('are the same in any pieces, and compact', async () => {
    const value = fc.jsonValue({ maxDepth: 2 });
    const items = fc.array(fc.dictionary(fc.string(), value), { maxLength: 5 });
    await fc.assert(
      fc.asyncProperty(items, fc.boolean(), fc.array(fc.nat(50)), async (objects, isPretty, lengths) => {
        const texts = objects.map((object) => JSON.stringify(object));
        const bytes = Buffer.from(
          objects.map((object) => JSON.stringify(object, null, isPretty ? 2 : 0)).join('\n'),
        );
        const pieces: Buffer[] = [];
        let at = 0;
        for (const length of lengths) {
          pieces.push(bytes.subarray(at, at + length));
          at += length;
        }
        expect((await read([...pieces, bytes.subarray(at)])).texts).toEqual(texts);
      }),
      { numRuns: sampleSize(20, 1000) },
    );
  });

  test('are none in a text of space, or in an empty list', async () => {
    for (const text of ['', ' \n', '[]', ' [ ] \n', MARK]) expect((await read([text])).texts).toEqual([]);
  });

  test('come as soon as their line has ended, whatever comes next', async () => {
    const came: string[] = [];
    async function* live() {
      for (const piece of [`${A}\n`, `${B}\n`]) {
        yield Buffer.from(piece);
        came.push('the next piece');
      }
    }
    for await (const items of itemsOfText(live(), 'the file')) came.push(...items.texts().map(String));
    expect(came).toEqual([A, 'the next piece', B, 'the next piece']);
  });

  test('come as soon as their line has ended, also after a long one that came in parts', async () => {
    const long = JSON.stringify({ eventId: 'long', text: 'x'.repeat(1000) });
    const came: string[] = [];
    async function* live() {
      for (const piece of [long.slice(0, 500), long.slice(500, 900), `${long.slice(900)}\n`, `${A}\n`]) {
        yield Buffer.from(piece);
        came.push('the next piece');
      }
    }
    for await (const items of itemsOfText(live(), 'the file')) came.push(...items.texts().map(String));
    expect(came).toEqual(['the next piece', 'the next piece', long, 'the next piece', A, 'the next piece']);
  });

  test('know where in their file they are, unless they are written with space', async () => {
    const text = `${A}\n ${B}\n`;
    const pages = await pagesOf([`${A}\n`, ` ${B}\n`], '~/events.ndjson');
    expect(pages.map(({ origin }) => origin)).toEqual([
      { file: '~/events.ndjson', offset: 0 },
      { file: '~/events.ndjson', offset: Buffer.byteLength(A as string) + 1 },
    ]);
    const [first, second] = pages as [KeyedItems, KeyedItems];
    const at = (second.origin?.offset ?? 0) + second.start(0);
    expect(
      Buffer.from(text)
        .subarray(at, at + (second.end(0) - second.start(0)))
        .toString(),
    ).toBe(B);
    expect(first.start(0)).toBe(0);
    const [pretty] = await pagesOf([JSON.stringify(JSON.parse(A as string), null, 2)], '~/events.ndjson');
    expect(pretty?.origin).toBeUndefined();
    expect((await pagesOf([A as string]))[0]?.origin).toBeUndefined();
  });

  test('without an id have no key, and those of several candidates are doubtful', async () => {
    const { keys } = await read([`{"x":1}\n${A}\n{"eventId":""}\n`]);
    expect(keys.map(Number.isNaN)).toEqual([true, false, true]);
    const doubtful = '{"one":{"eventId":"a"},"other":{"eventId":"b"}}';
    expect((await read([`${A}\n${doubtful}\n`])).isDoubtful).toBe(true);
    expect((await read([`${doubtful}\n${A}\n`])).isDoubtful).toBe(true);
  });
});

describe('a text that is not of items names its line', () => {
  const NO_UTF_8 = Buffer.from([0x22, 0xff, 0x22]);
  const bytesOf = (...parts: (string | Buffer)[]) =>
    Buffer.concat(parts.map((part) => Buffer.from(part as string)));

  test.each<[string, string | Buffer, string]>([
    ['cut off', `${A}\n{"half`, 'line 2: it is cut off'],
    ['of a list that is not closed', `[${A},\n${B}`, 'line 2: the array is not closed'],
    ['of a list that ends in a comma', `[${A},`, 'line 1: the array is not closed'],
    ['of a list that has just begun', '[', 'line 1: the array is not closed'],
    ['of a list with two commas', `[${A},,${B}]`, 'line 1: it is not a JSON object'],
    ['of a list without commas', `[${A}\n${B}]`, "line 2: ',' or ']' expected"],
    ['followed by something', `[${A}]\nx`, 'line 2: something follows the array'],
    ['followed by an object', `[${A}]\n\n${B}`, 'line 3: something follows the array'],
    ['of objects before a list', `${A}\n[${B}]`, 'line 2: it is not a JSON object'],
    ['of other values', '1', 'line 1: it is not a JSON object'],
    ['of other values in a list', `[\n1]`, 'line 2: it is not a JSON object'],
    ['with a fault', `${A}\n\n{"a":tru}\n${B}`, 'line 3: it is not JSON'],
    ['with a fault in a later line of an item', `${A}\n{\n"a":x}\n`, 'line 2: it is not JSON'],
    ['not UTF-8', bytesOf(`${A}\n{"a":`, NO_UTF_8, '}\n', B as string), 'line 2: it is not UTF-8'],
    ['not UTF-8 in its first item', bytesOf('{"a":', NO_UTF_8, `}\n${A}\n`), 'line 1: it is not UTF-8'],
  ])('%s', async (_, text, message) => {
    for (const pieces of [[text], [...Buffer.from(text as string)].map((byte) => Buffer.of(byte))])
      await expect(read(pieces)).rejects.toThrow(`the file, ${message}`);
  });

  test.each<[string, string | Buffer, string]>([
    [
      'of UTF-16',
      Buffer.from(`${MARK}${A}`, 'utf16le'),
      'line 1: it is UTF-16, which Windows PowerShell makes of it with >; use --output-file',
    ],
    [
      'of the other UTF-16',
      bytesOf(Buffer.from([0xfe, 0xff]), 'x'),
      'line 1: it is UTF-16; write it as UTF-8',
    ],
    ['of bytes', bytesOf('PK', Buffer.from([3, 4, 0])), 'line 1: it is not text; unpack it first'],
  ])('%s, by its first piece', async (_, text, message) => {
    await expect(read([text])).rejects.toThrow(`the file, ${message}`);
  });

  test('also after earlier pieces', async () => {
    await expect(read([`${A}\n`, `${A}\n`, `${A}\nx`])).rejects.toThrow(
      'the file, line 4: it is not a JSON object',
    );
  });

  test('and says what is read', async () => {
    await expect(read(['x'])).rejects.toMatchObject({
      name: 'ServiceError',
      next: expect.toSatisfy((next) =>
        String(next).startsWith('events are read as JSON objects one after the other'),
      ),
    });
  });
});

test.each([
  ['{"a":1}', true],
  [' \n[ {', true],
  ['[[{}', true],
  ['{', true],
  ['{GUID}', false],
  ['{ 0f8fad5b', false],
  ['a{', false],
  ['[1]', false],
  ['', false],
])('%j begins an object: %s', (start, expected) => {
  expect(isObjectText(start)).toBe(expected);
});
