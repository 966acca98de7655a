import { createHash } from 'node:crypto';
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { EventKeys, eventKey, isHexDigit, KEY_CHARACTERS, readGuid } from '../../src/ids/event-keys.ts';
import { readRecords } from '../../src/webhooks/journal-records.ts';

const keyOf = (number: number) => number.toString(16).padStart(32, '0');

test('keys are kept as a Map keeps them, in the order in which they came', () => {
  const key = fc.oneof(
    fc.nat(40).map(keyOf),
    fc.nat(40).map((number) => keyOf(number).split('').reverse().join('')),
    fc.stringMatching(/^[0-9a-f]{32}$/),
  );
  const change = fc.tuple(key, fc.nat(10), fc.constantFrom('set', 'has', 'forget', 'reserve'));
  fc.assert(
    fc.property(fc.array(change, { maxLength: 200 }), (changes) => {
      const keys = new EventKeys();
      const map = new Map<string, number>();
      for (const [one, seconds, what] of changes) {
        if (what === 'set') {
          keys.set(one, seconds);
          map.set(one, seconds);
        } else if (what === 'forget') {
          keys.forgetBefore(seconds);
          for (const [known, at] of map) if (at < seconds) map.delete(known);
        } else if (what === 'reserve') keys.reserve(100 * seconds);
        expect([keys.has(one), keys.size]).toEqual([map.has(one), map.size]);
      }
      expect([...keys]).toEqual([...map]);
    }),
  );
});

test('many keys that count up, or differ in their last digits alone, are all found', () => {
  const keys = new EventKeys();
  for (let number = 0; number < 50_000; number++) keys.set(keyOf(number), number);
  expect(keys.size).toBe(50_000);
  for (let number = 0; number < 50_000; number += 997)
    expect([keys.has(keyOf(number)), keys.has(keyOf(number + 50_000))]).toEqual([true, false]);
});

test('a known key keeps its rank when its number changes, and numbers end at 2^32 - 1', () => {
  const keys = new EventKeys();
  for (const number of [1, 2]) keys.set(keyOf(number), number);
  keys.set(keyOf(1), 2 ** 32 - 1);
  keys.set(keyOf(2), 2 ** 40);
  expect([...keys]).toEqual([
    [keyOf(1), 2 ** 32 - 1],
    [keyOf(2), 2 ** 32 - 1],
  ]);
  expect([keys.get(keyOf(2)), keys.get(keyOf(3))]).toEqual([2 ** 32 - 1, undefined]);
});

const GUID = '0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9';

test('keys that are not forgotten are found as before', () => {
  const keys = new EventKeys();
  for (const number of [1, 2, 3, 4]) keys.set(keyOf(number), number);
  keys.forgetBefore(3);
  for (const number of [3, 4]) {
    expect(keys.get(keyOf(number))).toBe(number);
    keys.set(keyOf(number), 5);
  }
  expect([...keys]).toEqual([
    [keyOf(3), 5],
    [keyOf(4), 5],
  ]);
});

test('keys are counted, given as text or as words', () => {
  const keys = new EventKeys();
  const words = new Uint32Array(4);
  readGuid(Buffer.from(GUID), 0, GUID.length, words);
  keys.count(keyOf(1));
  keys.count(words);
  keys.count(eventKey(GUID));
  expect([...keys]).toEqual([
    [keyOf(1), 1],
    [eventKey(GUID), 2],
  ]);
});

test('a key is read from the digits at an offset, in lower case alone', () => {
  const keys = new EventKeys();
  const key = eventKey(GUID);
  expect(keys.setFrom(Buffer.from(`x${key} `), 1, 7)).toBe(true);
  expect([...keys]).toEqual([[key, 7]]);
  for (const text of [key.toUpperCase(), `${key.slice(0, 31)}g`, `-${key.slice(1)}`])
    expect(keys.setFrom(Buffer.from(text), 0, 8)).toBe(false);
  expect([...keys]).toEqual([[key, 7]]);
});

test.each([GUID, GUID.toUpperCase(), GUID.replaceAll('-', '')])('the key of %s is its digits', (id) => {
  expect(eventKey(id)).toBe('0a1b2c3d4e5f60718293a4b5c6d7e8f9');
});

test.each([
  ['order 7', 'utf8'],
  ['é', 'utf8'],
  [`${GUID}x`, 'utf8'],
  [`${GUID.replaceAll('-', '')}0`, 'utf8'],
  [GUID.replace('-', ''), 'utf8'],
  // UTF-8 has no bytes for half of a pair.
  ['\ud800', 'utf16le'],
  ['\udc00', 'utf16le'],
] as const)('the key of %j is the beginning of its SHA-256', (id, encoding) => {
  const digest = createHash('sha256').update(Buffer.from(id, encoding)).digest('hex');
  expect(eventKey(id)).toBe(digest.slice(0, KEY_CHARACTERS));
});

const WORDS = [0x0a1b2c3d, 0x4e5f6071, 0x8293a4b5, 0xc6d7e8f9];

test.each<[string, number | undefined]>([
  [GUID, 36],
  [GUID.toUpperCase(), 36],
  [GUID.replaceAll('-', ''), 32],
  [`${GUID},`, 36],
  [`${GUID.replaceAll('-', '')}0`, 32],
  [GUID.slice(0, -1), undefined],
  [GUID.replaceAll('-', '').slice(0, -1), undefined],
  [GUID.replace('f9', 'fg'), undefined],
  [GUID.replace('-4e5f', '4e5f-'), undefined],
  [GUID.replace('-6071', '6071-'), undefined],
  [GUID.replaceAll('-', ' '), undefined],
  [GUID.replace('6071-', '6071'), undefined],
  [`${GUID.slice(0, 34)}-f`, undefined],
  ['', undefined],
])('the GUID at the start of %s ends at %s', (text, after) => {
  const words = new Uint32Array(4);
  const bytes = Buffer.from(`::${text}`);
  expect(readGuid(bytes, 2, bytes.length, words)).toBe(after === undefined ? undefined : after + 2);
  if (after === undefined) return;
  expect([...words]).toEqual(WORDS);
  // An event and a list of ids have one key for it.
  expect(eventKey(text.slice(0, after))).toBe(eventKey(GUID));
});

test('a GUID is not read beyond the end that is given', () => {
  const bytes = Buffer.from(GUID);
  expect(readGuid(bytes, 0, 35, new Uint32Array(4))).toBeUndefined();
});

test('hexadecimal digits are told from other bytes', () => {
  const digits = Array.from({ length: 256 }, (_, byte) => byte).filter(isHexDigit);
  expect(String.fromCharCode(...digits)).toBe('0123456789ABCDEFabcdef');
});

/** The records of a file with this content. */
async function recordsIn(content: string | Buffer) {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'hooktrail-records-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = path.join(folder, 'events.journal');
  await writeFile(file, content);
  const handle = await open(file);
  try {
    const { ids, damaged, end } = readRecords(handle.fd);
    return { ids: [...ids], damaged, end };
  } finally {
    await handle.close();
  }
}

test('lines that end with CR LF are read', async () => {
  const text = `# hooktrail journal\r\n${keyOf(1)} 7\r\n\r\n${keyOf(2)} 8\r\n`;
  expect(await recordsIn(text)).toEqual({
    ids: [
      [keyOf(1), 7],
      [keyOf(2), 8],
    ],
    damaged: 0,
    end: text.length,
  });
});

test('a file of several pieces is read to its last whole line, also a line that is longer than a piece', async () => {
  const lines = Array.from({ length: 80_000 }, (_, number) => `${keyOf(number)} 1795176000\n`);
  const long = `# ${'x'.repeat(9_000_000)}\n`;
  const whole = lines.slice(0, 40_000).join('') + long + lines.slice(40_000).join('');
  const { ids, damaged, end } = await recordsIn(`${whole}${keyOf(7)} 17`);
  expect([ids.length, ids[0], ids.at(-1), damaged, end]).toEqual([
    80_000,
    [keyOf(0), 1795176000],
    [keyOf(79_999), 1795176000],
    0,
    whole.length,
  ]);
});

test.each([
  ['x', 1],
  [`${keyOf(1)}`, 1],
  [`${keyOf(1)} `, 1],
  [`${keyOf(1)}  7`, 1],
  [`${keyOf(1).replace('1', 'A')} 7`, 1],
  [`torn${keyOf(1)} 7`, 0],
  ['', 0],
  ['# any', 0],
])('of the line %j are damaged: %i', async (line, damaged) => {
  expect((await recordsIn(`${line}\n`)).damaged).toBe(damaged);
});
