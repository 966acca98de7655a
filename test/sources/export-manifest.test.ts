import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { UsageError } from '../../src/errors.ts';
import {
  checkNothingLost,
  type Manifest,
  partQuery,
  readManifest,
  writeManifest,
} from '../../src/sources/export-manifest.ts';
import { filesOf, lossOf, type Part, type Written } from '../../src/sources/export-part.ts';
import { readPart } from '../../src/sources/part-reader.ts';
import { NO_DAY_FOLDER } from '../../src/sources/partitions.ts';
import { type Instant, parseInstant } from '../../src/time/instant.ts';

const time = (text: string) => parseInstant(text) as Instant;

const MANIFEST: Manifest = {
  format: 'hooktrail-export',
  version: 1,
  hooktrail: '0.1.0',
  service: 'https://events.example.com/',
  filters: { after: '7d', type: ['a.b'] },
  gzip: false,
  pin: time('2026-11-20T12:00:01Z'),
  overlapFrom: null,
  queries: [{ after: time('2026-11-13T12:00:00Z'), before: time('2026-11-20T12:00:01Z'), eventType: 'a.b' }],
  startedAt: '2026-11-20T12:00:00.000Z',
  finishedAt: null,
  events: null,
  parts: [
    {
      file: 'part-000001.ndjson',
      query: 0,
      after: null,
      before: time('2026-11-20T12:00:01Z'),
      content: {
        state: 'lost',
        original: { held: { events: 4, bytes: 100, sha256: 'a' }, counted: null, ofAnyStatus: null },
        now: { state: 'planned', expected: 3, isRepair: true },
      },
    },
  ],
};

/** The same with a folder for each day. */
const PARTITIONED: Manifest = {
  ...MANIFEST,
  version: 2,
  partition: 'day',
  parts: [
    {
      ...(MANIFEST.parts[0] as Part),
      file: 'date=2026-11-20/part-000001.ndjson',
      content: {
        state: 'lost',
        original: { held: { events: 4, bytes: 100, sha256: 'a' }, counted: 3, ofAnyStatus: 5 },
        now: {
          state: 'settled',
          held: {
            events: 3,
            bytes: 80,
            sha256: 'c',
            strays: [{ file: `${NO_DAY_FOLDER}/part-000001.ndjson`, events: 1, bytes: 40, sha256: 'b' }],
          },
          counted: 3,
          ofAnyStatus: 5,
        },
      },
    },
  ],
};

const PARQUET: Manifest = {
  ...MANIFEST,
  version: 3,
  fileFormat: 'parquet',
  parts: [{ ...(MANIFEST.parts[0] as Part), file: 'part-000001.parquet' }],
};

const folder = () => mkdtemp(path.join(tmpdir(), 'manifest-'));

describe('the manifest of an export', () => {
  test.each([MANIFEST, PARTITIONED, PARQUET])('reads back as it was written', async (manifest) => {
    const directory = await folder();
    expect(await readManifest(directory)).toBeUndefined();
    await writeManifest(directory, manifest);
    expect(await readManifest(directory)).toEqual(manifest);
  });

  const texts = ['x', '', '../../x'];
  const textsOrList = ['x', '', [], '../../x'];
  const numberOrNull = [null, 7];
  const accepted = {
    hooktrail: texts,
    service: texts,
    filters: [{}],
    'filters.after': [...textsOrList, 'absent'],
    'filters.type': [...textsOrList, 'absent'],
    'filters.type.0': texts,
    gzip: [true],
    overlapFrom: [null, 'absent'],
    'queries.0.after': ['absent'],
    'queries.0.eventType': [...texts, 'absent'],
    startedAt: texts,
    finishedAt: [null],
    events: numberOrNull,
    parts: [[]],
    'parts.0.after': [null],
    'parts.0.events': numberOrNull,
    'parts.0.counted': numberOrNull,
    'parts.0.ofAnyStatus': numberOrNull,
    'parts.0.bytes': numberOrNull,
    'parts.0.sha256': [null, ...texts],
    'parts.0.settled': [true, 'absent'],
    'parts.0.lost': ['absent'],
    'parts.0.lost.events': [7],
    'parts.0.lost.bytes': [7],
    'parts.0.lost.sha256': texts,
  };
  test.each([
    ['', MANIFEST, accepted],
    [
      'with partitions ',
      PARTITIONED,
      {
        ...accepted,
        // Its strays hold one.
        'parts.0.events': [7],
        'parts.0.strays': [[], 'absent'],
        'parts.0.strays.0.bytes': [7],
        'parts.0.strays.0.sha256': texts,
      },
    ],
  ])(
    '%sthat is damaged anywhere is an error that names it, and never reads as another export',
    async (_, whole, readable) => {
      const directory = await folder();
      const file = path.join(directory, 'manifest.json');
      const damage = [null, 7, -1, 1.5, 'x', '', true, [], [null], {}, '../../x', undefined];
      await writeManifest(directory, whole);
      const text = await readFile(file, 'utf8');
      const found: Record<string, unknown[]> = {};
      for (const at of placesIn(JSON.parse(text))) {
        for (const value of damage) {
          const manifest: Record<string, unknown> = JSON.parse(text);
          let holder = manifest;
          for (const step of at.slice(0, -1)) holder = holder[step] as Record<string, unknown>;
          holder[at.at(-1) as string] = value;
          await writeFile(file, JSON.stringify(manifest));
          const read = await readManifest(directory).catch((error) => error);
          if (read instanceof Error) {
            expect(read).toBeInstanceOf(UsageError);
            expect(read.message).toContain(`${file} `);
            continue;
          }
          const place = at.join('.');
          found[place] = [...(found[place] ?? []), value === undefined ? 'absent' : value];
          // An accepted manifest is usable.
          for (const part of read.parts) {
            partQuery(read, part);
            for (const one of filesOf(part)) expect(one.file).toMatch(/^(date=[-\w]+\/)?part-\d+\.ndjson$/);
          }
          if (read.parts[0] && lossOf(read.parts[0]))
            expect(() => checkNothingLost(directory, read)).toThrow(/lacks .* that it held before/);
        }
      }
      expect(found).toEqual(readable);
    },
  );

  test.each(['pin', 'overlapFrom', 'queries.0.after', 'queries.0.before', 'parts.0.after', 'parts.0.before'])(
    'with a text that is no time as %s is damaged: without that bound it would be another export',
    async (place) => {
      const directory = await folder();
      const manifest = JSON.parse(JSON.stringify(MANIFEST));
      const steps = place.split('.');
      const last = steps.pop() as string;
      steps.reduce((holder, step) => holder[step], manifest)[last] = '2026-13-20T12:00:01Z';
      const file = path.join(directory, 'manifest.json');
      await writeFile(file, JSON.stringify(manifest));
      await expect(readManifest(directory)).rejects.toThrow(`${file} is damaged`);
    },
  );

  test.each([
    [MANIFEST, 'part-1.ndjson'],
    [MANIFEST, 'part-000001.ndjson.tmp'],
    [MANIFEST, '/part-000001.ndjson'],
    [MANIFEST, '../part-000001.ndjson'],
    [MANIFEST, 'date=2026-11-20/part-000001.ndjson'],
    [PARTITIONED, 'part-000001.ndjson'],
    [PARTITIONED, '/part-000001.ndjson'],
    [PARTITIONED, '../part-000001.ndjson'],
    [PARTITIONED, 'date=../part-000001.ndjson'],
    [PARTITIONED, 'date=2026-11-20/../part-000001.ndjson'],
    [PARTITIONED, '../date=2026-11-20/part-000001.ndjson'],
    [PARTITIONED, 'date=2026-11-20\\part-000001.ndjson'],
    [PARTITIONED, 'date=2026-11-20/manifest.json'],
    [PARTITIONED, 'day=2026-11-20/part-000001.ndjson'],
    [PARTITIONED, 'date=2026-11-20\n/part-000001.ndjson'],
    [PARTITIONED, 'date=2026-11-20/part-000001.ndjson\n'],
  ])('with a part of another form is damaged: it could lead anywhere (%#: %s)', async (manifest, name) => {
    const directory = await folder();
    const file = path.join(directory, 'manifest.json');
    await writeManifest(directory, manifest);
    const saved = JSON.parse(await readFile(file, 'utf8'));
    const [part] = saved.parts;
    const stray = { events: 1, bytes: 1, sha256: 'a' };
    const forms = [
      { ...part, file: name },
      { ...part, strays: [{ ...stray, file: name }] },
      { ...part, lost: { ...stray, strays: [{ ...stray, file: name }] } },
    ];
    for (const one of forms) {
      await writeFile(file, JSON.stringify({ ...saved, parts: [one] }));
      await expect(readManifest(directory)).rejects.toThrow(`${file} is damaged`);
    }
  });

  test.each([
    [{ ...PARTITIONED, version: 1 }, 'is damaged'],
    [{ ...MANIFEST, version: 2 }, 'is damaged'],
    [{ ...PARTITIONED, version: 3 }, 'is damaged'],
    [{ ...MANIFEST, version: 3 }, 'is damaged'],
    [{ ...MANIFEST, version: 3, fileFormat: 'parquet' }, 'is damaged'],
    [{ ...PARQUET, version: 1 }, 'is damaged'],
    [{ ...PARQUET, gzip: true }, 'is damaged'],
    [{ ...PARQUET, fileFormat: 'orc' }, 'is damaged'],
    [{ ...PARTITIONED, version: 4 }, 'was written by a newer version of hooktrail'],
    [{ ...MANIFEST, version: 4 }, 'was written by a newer version of hooktrail'],
    [{ ...PARTITIONED, partition: 'hour' }, 'is damaged'],
  ])('of another version is not misread (%#)', async (manifest, why) => {
    const directory = await folder();
    await writeManifest(directory, manifest as Manifest);
    await expect(readManifest(directory)).rejects.toThrow(`${path.join(directory, 'manifest.json')} ${why}`);
  });

  test.each([
    '',
    'null',
    '7',
    '[]',
    '{"format":"hooktrail-export"',
    '{"format":"hooktrail-export","version":1}',
  ])('that is %j is an error that names it', async (text) => {
    const directory = await folder();
    const file = path.join(directory, 'manifest.json');
    await writeFile(file, text);
    await expect(readManifest(directory)).rejects.toThrow(file);
    expect(await readFile(file, 'utf8')).toBe(text);
  });
});

test('a part that an update has replaced since the manifest was read is not damaged', async () => {
  const directory = await folder();
  const slice = MANIFEST.parts[0] as Part;
  const written = (sha256: string): Written => ({
    ...{ state: 'written', counted: 3, ofAnyStatus: null },
    held: { events: 3, bytes: 100, sha256 },
  });
  const part = { ...slice, content: written('a'.repeat(64)) };
  await writeManifest(directory, { ...MANIFEST, parts: [part] });
  await expect(readPart(directory, part).next()).rejects.toThrow(
    `${path.join(directory, part.file)} is missing`,
  );
  await writeManifest(directory, { ...MANIFEST, parts: [{ ...part, file: 'part-000002.ndjson' }] });
  await expect(readPart(directory, part).next()).rejects.toThrow(
    `${directory} was updated while it was read`,
  );
  // A part whose number of events changed meanwhile is read again, into a file of the same name.
  for (const content of [slice.content, written('b'.repeat(64))]) {
    await writeManifest(directory, { ...MANIFEST, parts: [{ ...slice, content }] });
    await writeFile(path.join(directory, part.file), 'other\n');
    await expect(readPart(directory, part).next()).rejects.toThrow(
      `${directory} was updated while it was read`,
    );
  }
});

/** Returns the path of every member, at any depth. */
function placesIn(value: unknown, path: readonly string[] = []): string[][] {
  if (value === null || typeof value !== 'object') return [];
  return Object.entries(value).flatMap(([name, member]) => [
    [...path, name],
    ...placesIn(member, [...path, name]),
  ]);
}
