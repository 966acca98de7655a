import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { type Advice, adviceText } from '../../src/advice.ts';
import { ServiceError } from '../../src/errors.ts';
import type { KeyedItems } from '../../src/items/items.ts';
import { JsonScanner } from '../../src/items/json-scanner.ts';
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

  test.each([1000, 920])(
    'come as soon as their line has ended, also after one of %i bytes that came in parts',
    async (length) => {
      const long = JSON.stringify({ eventId: 'long', text: 'x'.repeat(length) });
      const came: string[] = [];
      async function* live() {
        for (const piece of [long.slice(0, 500), long.slice(500, 900), `${long.slice(900)}\n`, `${A}\n`]) {
          yield Buffer.from(piece);
          came.push('the next piece');
        }
      }
      for await (const items of itemsOfText(live(), 'the file')) came.push(...items.texts().map(String));
      expect(came).toEqual(['the next piece', 'the next piece', long, 'the next piece', A, 'the next piece']);
    },
  );

  test('of a few bytes come before anything follows', async () => {
    const came: string[] = [];
    async function* live() {
      for (const piece of ['{}', '\n{}']) {
        yield Buffer.from(piece);
        came.push('the next piece');
      }
    }
    for await (const items of itemsOfText(live(), 'the file')) came.push(...items.texts().map(String));
    expect(came.slice(0, 2)).toEqual(['{}', 'the next piece']);
  });

  test('are all found where several end in one piece after a part', async () => {
    const { texts } = await read([`{"a":"${'x'.repeat(30)}`, '"}\n{"b":1}']);
    expect(texts).toEqual([`{"a":"${'x'.repeat(30)}"}`, '{"b":1}']);
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

describe('an object in many pieces is scanned in a time that grows with its length', () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  /** Returns the bytes that were looked at for objects, for each byte of the text. */
  async function lookedAt(pieces: readonly string[]): Promise<number> {
    const scan = vi.spyOn(JsonScanner.prototype, 'item');
    await read(pieces);
    const scanners = scan.mock.instances as readonly JsonScanner[];
    const bytes = scanners.reduce((sum, scanner) => sum + scanner.bytes.length, 0);
    return bytes / Buffer.byteLength(pieces.join(''));
  }
  const piecesOf = (text: string, size: number) =>
    Array.from({ length: Math.ceil(text.length / size) }, (_, at) => text.slice(at * size, (at + 1) * size));

  test('that split a line', async () => {
    const text = JSON.stringify({ eventId: 'x'.repeat(100_000) });
    expect(await lookedAt(piecesOf(text, 100))).toBeLessThan(4);
  });

  test('that are lines', async () => {
    const lines = Array.from({ length: 1_000 }, (_, at) => `"n${at}": ${'1'.repeat(90)},\n`);
    expect(await lookedAt(['{\n', ...lines, '"eventId":"a"}\n'])).toBeLessThan(7);
  });

  test('and the last line is not, before it has ended', async () => {
    const scan = vi.spyOn(JsonScanner.prototype, 'item');
    await read([`${A}\n${B?.slice(0, 9)}`, `${B?.slice(9)}\n`]);
    expect(scan).toHaveBeenCalledTimes(2);
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
    [
      'cut off within a mark',
      bytesOf(A as string, Buffer.from(MARK).subarray(0, 2)),
      'line 1: it is not a JSON object',
    ],
    ['of zeros after an item', `${A}\n\0`, 'line 2: it is not a JSON object'],
    ['of half a mark of UTF-16', bytesOf(Buffer.from([0xfe]), 'xx'), 'line 1: it is not a JSON object'],
    ['of the other half', bytesOf('x', Buffer.from([0xff]), 'x'), 'line 1: it is not a JSON object'],
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

  test('that is longer than any event', async () => {
    await expect(read([`${A}\n{"a":"`, 'x'.repeat(33 << 20)])).rejects.toThrow(
      'the file, line 2: it is longer than 32 MiB, which no event is',
    );
  });

  test('also after earlier pieces', async () => {
    await expect(read([`${A}\n`, `${A}\n`, `${A}\nx`])).rejects.toThrow(
      'the file, line 4: it is not a JSON object',
    );
  });

  test('and says what is read', async () => {
    const fault = await read(['x']).catch((error: unknown) => error as ServiceError);
    expect(fault).toBeInstanceOf(ServiceError);
    expect(adviceText((fault as ServiceError).next as Advice, {})).toBe(
      'events are read as JSON objects one after the other, as --ndjson prints them and `hooktrail events export` writes them, or as arrays of objects, as --json prints them; of a CSV, `hooktrail events get - < FILE` reads the ids and asks the service',
    );
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
