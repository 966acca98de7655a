import { closeSync, openSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { RECORD_BYTES, readRecords, recordLine } from '../../src/webhooks/journal-records.ts';
import { forEachTest } from '../support/each-test.ts';
import { createHome } from '../support/home.ts';

const home = forEachTest(createHome);

/** The records in a file with this text, and what is no record. */
async function recordsIn(text: string) {
  const file = path.join(home.folder, 'records');
  await writeFile(file, text);
  const fd = openSync(file, 'r');
  try {
    const { ids, damaged, end } = readRecords(fd);
    return { records: [...ids], damaged, end };
  } finally {
    closeSync(fd);
  }
}

const KEY = '0f8fad5bd9cb469fa16570867728950e';
const OTHER = '7c9e66797425440de944be07fc1f90ae';
const SECONDS = 1_795_176_000;
const RECORD = `${KEY} ${SECONDS}\n`;
/** The bytes that are read at once. */
const PIECE_BYTES = 4 * 1024 * 1024;

test('a record is a line with the key and the seconds, and is read as it was written', async () => {
  expect(recordLine([KEY, SECONDS])).toBe(RECORD);
  expect(RECORD).toHaveLength(RECORD_BYTES);
  expect(await recordsIn(RECORD + recordLine([OTHER, 0]))).toEqual({
    records: [
      [KEY, SECONDS],
      [OTHER, 0],
    ],
    damaged: 0,
    end: RECORD_BYTES + OTHER.length + 3,
  });
});

test('of a key that stands twice the last seconds count', async () => {
  const { records } = await recordsIn(`${KEY} 7\n${OTHER} 8\n${KEY} 9\n`);
  expect(records).toEqual([
    [KEY, 9],
    [OTHER, 8],
  ]);
});

test('an empty file has no records', async () => {
  expect(await recordsIn('')).toEqual({ records: [], damaged: 0, end: 0 });
});

test.each([
  ['a comment', '# hooktrail journal\n'],
  ['a comment that ends as a record does', `# ${RECORD}`],
  ['an empty line', '\n'],
  ['an empty line that ends with CR LF', '\r\n'],
])('%s is neither a record nor damage', async (_, line) => {
  expect(await recordsIn(line + RECORD)).toEqual({
    records: [[KEY, SECONDS]],
    damaged: 0,
    end: line.length + RECORD_BYTES,
  });
});

test.each([
  ['that ends with CR LF', `${KEY} 7\r\n`],
  ['of twelve digits of seconds, which are as many as there may be', `${KEY} 000000000007\n`],
  ['behind the beginning of an earlier one', `${OTHER.slice(0, 9)}${KEY} 7\n`],
  ['behind an earlier one that lacks its line end', `${OTHER} 17${KEY} 7\n`],
])('a record %s is one', async (_, line) => {
  expect(await recordsIn(line)).toEqual({ records: [[KEY, 7]], damaged: 0, end: line.length });
});

test.each([
  ['of text', 'a line of my own'],
  ['of a return alone before the last one', '\r\r'],
  ['without seconds', `${KEY} `],
  ['without a space', `${KEY}x7`],
  ['with a tab in place of the space', `${KEY}\t7`],
  ['of digits alone', '1234567'],
  ['with a character before 0 among the seconds', `${KEY} 17/6`],
  ['with a character behind 9 among the seconds', `${KEY} 17:6`],
  ['of thirteen digits of seconds', `${KEY} 0000000000007`],
  ['with a key that is too short', `${KEY.slice(1)} 7`],
  ['with a key in capitals', `${KEY.toUpperCase()} 7`],
  ['with a letter beyond f in its key', `${KEY.slice(1)}g 7`],
  ['that goes on behind the seconds', `${KEY} 7 `],
])('a line %s is damage that hides no record', async (_, line) => {
  expect(await recordsIn(`${line}\n${OTHER} 8\n${line}\n`)).toEqual({
    records: [[OTHER, 8]],
    damaged: 2,
    end: 2 * line.length + OTHER.length + 5,
  });
});

describe('what stands behind the last line end', () => {
  test.each([KEY, `${KEY} 7`, `${KEY} 7\r`, 'torn', '#'])('is no line yet: %j', async (torn) => {
    expect(await recordsIn(`${OTHER} 8\n${torn}`)).toEqual({
      records: [[OTHER, 8]],
      damaged: 0,
      end: OTHER.length + 3,
    });
  });

  test('is no line either after a read that held others in the same place', async () => {
    const first = `${RECORD.repeat(PIECE_BYTES / RECORD_BYTES)}#`.padEnd(PIECE_BYTES - 1, '.');
    const torn = recordLine([OTHER, SECONDS]).slice(0, -1);
    expect(await recordsIn(`${first}\n${torn}`)).toEqual({
      records: [[KEY, SECONDS]],
      damaged: 0,
      end: PIECE_BYTES,
    });
  });
});

describe('beyond the bytes that are read at once', () => {
  test.each([-RECORD_BYTES, -RECORD_BYTES + 1, -33, -1, 0])(
    'a record that begins %i bytes from their end is one',
    async (from) => {
      const start = PIECE_BYTES + from;
      const before = `${'#'.padEnd(start - 1, '.')}\n`;
      expect(await recordsIn(`${before}${RECORD}${OTHER} 8\n`)).toEqual({
        records: [
          [KEY, SECONDS],
          [OTHER, 8],
        ],
        damaged: 0,
        end: start + RECORD_BYTES + OTHER.length + 3,
      });
    },
  );

  test('a longer line is one, and hides nothing behind it', async () => {
    const line = `${'x'.repeat(PIECE_BYTES + 10)}${RECORD}`;
    expect(await recordsIn(`${line}${OTHER} 8\n`)).toEqual({
      records: [
        [KEY, SECONDS],
        [OTHER, 8],
      ],
      damaged: 0,
      end: line.length + OTHER.length + 3,
    });
  });
});
