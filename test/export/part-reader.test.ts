import { readdirSync } from 'node:fs';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import type { Part } from '../../src/export/export-part.ts';
import { PIECE_BYTES } from '../../src/export/part-formats.ts';
import { readPart } from '../../src/export/part-reader.ts';
import { PartWriter } from '../../src/export/part-writer.ts';
import { Items } from '../../src/items/items.ts';
import { knownInstant } from '../../src/time/instant.ts';

/** Items of all sizes up to more than is read at once; the bytes of the longest do not repeat. */
const TEXTS = [1, 40, PIECE_BYTES / 3, 7, PIECE_BYTES - 20, PIECE_BYTES * 2, 900, PIECE_BYTES, 3].map(
  (length, index) => {
    const words = Array.from({ length: Math.ceil(length / 6) }, (_, at) => ((at * 7919) % 99_991) + index);
    return JSON.stringify({ eventId: `${index}`, note: words.join('-').slice(0, length) });
  },
);

/** A part that holds them. */
async function writePart(file: string): Promise<{ directory: string; part: Part }> {
  const directory = await mkdtemp(path.join(tmpdir(), 'part-'));
  const writer = await PartWriter.create(directory, { file });
  for (const text of TEXTS) await writer.add(Items.of([Buffer.from(text)]));
  const held = await writer.commit();
  const slice = { file, query: 0, after: null, before: knownInstant(0) };
  const read = { held, counted: held.events, ofAnyStatus: null };
  return { directory, part: { ...slice, expected: null, read, isSettled: false } };
}

async function textsIn(directory: string, part: Part, texts: string[] = []): Promise<string[]> {
  for await (const items of readPart(directory, part)) texts.push(...items.texts().map(String));
  return texts;
}

const FILES = ['part-000001.ndjson', 'part-000001.ndjson.gz', 'part-000001.parquet'];

test.each(FILES)('%s is read by pieces as it was written', async (file) => {
  const { directory, part } = await writePart(file);
  expect(await textsIn(directory, part)).toEqual(TEXTS);
});

test.each(FILES)('of %s with a changed byte at its end no event is read', async (file) => {
  const { directory, part } = await writePart(file);
  const place = path.join(directory, file);
  const bytes = await readFile(place);
  bytes.writeUInt8((bytes.at(-2) as number) ^ 1, bytes.length - 2);
  await writeFile(place, bytes);
  const texts: string[] = [];
  await expect(textsIn(directory, part, texts)).rejects.toThrow(`${place} was changed: its checksum differs`);
  expect(texts).toEqual([]);
});

test.runIf(process.platform === 'linux')('a reader that stops early leaves no file open', async () => {
  const { directory, part } = await writePart('part-000001.ndjson.gz');
  const open = () => readdirSync('/proc/self/fd').length;
  const before = open();
  for (let times = 0; times < 5; times++) for await (const _ of readPart(directory, part)) break;
  await expect.poll(open).toBeLessThanOrEqual(before);
});
