import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { EventKeys } from '../../src/ids/event-keys.ts';
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
