import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { ServiceError, UsageError } from '../../src/errors.ts';
import {
  checkNothingLost,
  checkSame,
  type Identity,
  identityOfFilters,
  isFiltered,
  type Manifest,
  partQuery,
  readManifest,
  writeManifest,
} from '../../src/export/export-manifest.ts';
import {
  filesOf,
  lossOf,
  type Part,
  type PartitionFile,
  type PartRead,
} from '../../src/export/export-part.ts';
import { readPart } from '../../src/export/part-reader.ts';
import { NO_DAY_FOLDER } from '../../src/export/partitions.ts';
import { EventFilters } from '../../src/filters/event-filters.ts';
import { parseCondition } from '../../src/items/item-conditions.ts';
import { type Instant, parseInstant } from '../../src/time/instant.ts';
import { UTC } from '../../src/time/time-zone.ts';

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
      expected: 3,
      isSettled: true,
      lost: { held: { events: 4, bytes: 100, sha256: 'a' }, counted: null, ofAnyStatus: null },
    },
  ],
};

/** The same with a folder for each day. */
const PARTITIONED: Manifest = {
  ...MANIFEST,
  version: 1,
  partition: 'day',
  parts: [
    {
      ...(MANIFEST.parts[0] as Part),
      file: 'date=2026-11-20/part-000001.ndjson',
      expected: null,
      read: {
        held: {
          events: 3,
          bytes: 80,
          sha256: 'c',
          strays: [{ file: `${NO_DAY_FOLDER}/part-000001.ndjson`, events: 1, bytes: 40, sha256: 'b' }],
        },
        counted: 3,
        ofAnyStatus: 5,
      },
      lost: { held: { events: 4, bytes: 100, sha256: 'a' }, counted: 3, ofAnyStatus: 5 },
    },
  ],
};

const PARQUET: Manifest = {
  ...MANIFEST,
  version: 1,
  fileFormat: 'parquet',
  parts: [{ ...(MANIFEST.parts[0] as Part), file: 'part-000001.parquet' }],
};

/** A finished export of two searches, whose update is under way. */
const UPDATING: Manifest = {
  ...MANIFEST,
  overlapFrom: time('2026-11-20T11:00:01Z'),
  queries: [...MANIFEST.queries, { before: time('2026-11-20T12:00:01Z'), eventType: 'c.d' }],
  parts: [],
};

const written = (events: number): Part => {
  const held = { events, bytes: 100, sha256: 'a' };
  const { file, query, after, before } = MANIFEST.parts[0] as Part;
  const read = { held, counted: events, ofAnyStatus: null };
  return { file, query, after, before, expected: null, read, isSettled: false };
};
const FINISHED: Manifest = {
  ...MANIFEST,
  finishedAt: '2026-11-20T12:00:09.000Z',
  events: 5,
  parts: [written(3), { ...written(2), file: 'part-000002.ndjson' }],
};

const withStrays = (part: Part, strays: unknown): Part => {
  const read = part.read as PartRead;
  return { ...part, read: { ...read, held: { ...read.held, strays: strays as PartitionFile[] } } };
};

const folder = () => mkdtemp(path.join(tmpdir(), 'manifest-'));

describe('the manifest of an export', () => {
  test.each([MANIFEST, PARTITIONED, PARQUET, UPDATING, FINISHED])(
    '%# reads back as it was written',
    async (manifest) => {
      const directory = await folder();
      expect(await readManifest(directory)).toBeUndefined();
      await writeManifest(directory, manifest);
      expect(await readManifest(directory)).toEqual(manifest);
    },
  );

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
    [MANIFEST, 'x-part-000001.ndjson'],
    [MANIFEST, 'part-000001.parquet'],
    [PARQUET, 'part-000001.ndjson'],
    [PARQUET, 'part-000001.ndjson.gz'],
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
    [PARTITIONED, 'date=2026-11-20'],
    [PARTITIONED, 'date=2026-11-20/part-000001.ndjson/x'],
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

  test('with files in folders of other days is damaged where the export has no folders', async () => {
    const directory = await folder();
    for (const strays of [[], {}]) {
      await writeManifest(directory, { ...FINISHED, parts: [withStrays(FINISHED.parts[0] as Part, strays)] });
      await expect(readManifest(directory)).rejects.toThrow('manifest.json is damaged');
    }
  });

  test('may have all events of a part in folders of other days', async () => {
    const directory = await folder();
    const [part] = PARTITIONED.parts as [Part];
    const stray = part.read?.held.strays?.[0] as PartitionFile;
    const manifest = { ...PARTITIONED, parts: [withStrays(part, [{ ...stray, events: 3 }])] };
    await writeManifest(directory, manifest);
    expect(await readManifest(directory)).toEqual(manifest);
  });

  test.each([
    [{ ...PARQUET, gzip: true }, 'is damaged'],
    [{ ...PARQUET, fileFormat: 'orc' }, 'is damaged'],
    [{ ...PARTITIONED, version: 2 }, 'was written by a newer version of hooktrail'],
    [{ ...MANIFEST, version: 2 }, 'was written by a newer version of hooktrail'],
    [{ ...PARTITIONED, partition: 'hour' }, 'is damaged'],
  ])('of another version is not misread (%#)', async (manifest, why) => {
    const directory = await folder();
    await writeManifest(directory, manifest as Manifest);
    await expect(readManifest(directory)).rejects.toThrow(`${path.join(directory, 'manifest.json')} ${why}`);
  });

  test.each([
    ['events', 6],
    ['events', null],
    ['parts.0.sha256', null],
    ['parts.1.events', null],
    ['queries.0.eventType', 7],
    ['finishedAt', 7],
  ])('of a finished export with %s %j is damaged', async (place, value) => {
    const directory = await folder();
    const file = path.join(directory, 'manifest.json');
    await writeManifest(directory, { ...FINISHED, queries: UPDATING.queries });
    const manifest = JSON.parse(await readFile(file, 'utf8'));
    const steps = place.split('.');
    const last = steps.pop() as string;
    steps.reduce((holder, step) => holder[step], manifest)[last] = value;
    await writeFile(file, JSON.stringify(manifest));
    await expect(readManifest(directory)).rejects.toThrow(`${file} is damaged`);
  });

  test('that is of another program is refused, and one that cannot be read is an error', async () => {
    const directory = await folder();
    const file = path.join(directory, 'manifest.json');
    await writeFile(file, '{"format":"other"}');
    const foreign = await readManifest(directory).catch((error) => error);
    expect(foreign).toBeInstanceOf(UsageError);
    expect(foreign).toMatchObject({
      message: `${file} is not the manifest of an export`,
      next: 'choose another directory',
    });
    await writeFile(file, '{"format":"hooktrail-export","version":99}');
    await expect(readManifest(directory)).rejects.toMatchObject({
      message: `${file} was written by a newer version of hooktrail`,
      next: 'upgrade hooktrail, or choose another directory',
    });
    await writeFile(file, '{"format":"hooktrail-ex');
    await expect(readManifest(directory)).rejects.toMatchObject({
      message: `${file} is damaged`,
      next: 'choose another directory; --from reads the files of this one, each by itself',
    });
    const other = await folder();
    await mkdir(path.join(other, 'manifest.json'));
    const unreadable = await readManifest(other).catch((error) => error);
    expect(unreadable).toBeInstanceOf(ServiceError);
    expect(unreadable).toMatchObject({
      message: `${path.join(other, 'manifest.json')} cannot be read: illegal operation on a directory (EISDIR)`,
      cause: { code: 'EISDIR' },
    });
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

test.each([
  [{}, false],
  [{ after: '7d' }, false],
  [{ where: 'a = b' }, true],
  [{ grep: ['x'] }, true],
])('the files of an export with the filters %j hold some of what is counted: %s', (filters, expected) => {
  expect(isFiltered({ ...MANIFEST, filters })).toBe(expected);
});

describe('what an export has lost', () => {
  const lostOf = (...held: [now: number, before: number][]): Manifest => {
    const parts = held.map(([now, before], index): Part => {
      const part = { ...written(now), file: `part-00000${index + 1}.ndjson` };
      return { ...part, lost: written(before).read };
    });
    return { ...MANIFEST, parts: [...parts, written(9)] };
  };
  const failure = (manifest: Manifest) => {
    try {
      checkNothingLost('there', manifest);
    } catch (error) {
      const { message, details, next } = error as ServiceError;
      return { message, details, next, isOfService: error instanceof ServiceError };
    }
    return undefined;
  };
  const next =
    'put an undamaged copy of each such file in its place and run the same command again; the damaged ones are in the same folder as damaged-part-…';

  test('is said by file, and in all', () => {
    expect(failure({ ...MANIFEST, parts: [written(3)] })).toBeUndefined();
    expect(failure(lostOf([3, 4]))).toEqual({
      message: 'there lacks an event that it held before: the service no longer returns them',
      details: ['part-000001.ndjson has 3 of 4 events'],
      next,
      isOfService: true,
    });
    expect(failure(lostOf([3, 5], [0, 7]))).toEqual({
      message: 'there lacks 9 events that it held before: the service no longer returns them',
      details: ['part-000001.ndjson has 3 of 5 events', 'part-000002.ndjson has 0 of 7 events'],
      next,
      isOfService: true,
    });
  });
});

describe('an export', () => {
  const IDENTITY: Identity = { service: 'https://a.example/', filters: {}, gzip: false };
  const differences = (there: Partial<Identity>, here: Partial<Identity>) => {
    try {
      checkSame('there', { ...IDENTITY, ...there }, { ...IDENTITY, ...here });
    } catch (error) {
      const { message, details, next } = error as UsageError;
      expect([message, next, error instanceof UsageError]).toEqual([
        'there holds another export',
        'choose another directory, or repeat the command that began this one',
        true,
      ]);
      return details;
    }
    return 'the same';
  };

  test.each<[Partial<Identity>, Partial<Identity>]>([
    [{}, {}],
    [{ filters: { after: '7d' } }, { filters: { after: '7d' } }],
    [{ filters: { after: '2026-11-01' } }, { filters: { after: '2026-11-01T00:00:00Z' } }],
    [{ filters: { type: ['a', 'b'] } }, { filters: { type: ['a', 'b'] } }],
    [{ filters: { subscription: ['a', 'b'] } }, { filters: { subscription: ['b', 'a'] } }],
    [{ filters: { type: 'a' } }, { filters: { type: ['a'] } }],
    [
      { gzip: true, partition: 'day' },
      { gzip: true, partition: 'day' },
    ],
    [{ fileFormat: 'parquet' }, { fileFormat: 'parquet' }],
  ])('goes on with the line that began it: %j and %j', (there, here) => {
    expect(differences(there, here)).toBe('the same');
  });

  test.each<[Partial<Identity>, Partial<Identity>, string[]]>([
    [
      { service: 'https://b.example/' },
      {},
      ['--base-url: https://b.example/ there, https://a.example/ here'],
    ],
    [{ filters: { after: '7d' } }, { filters: { after: '8d' } }, ['--since: 7d there, 8d here']],
    [
      { filters: { after: '2026-11-01' } },
      { filters: { after: '7d' } },
      ['--since: 2026-11-01 there, 7d here'],
    ],
    [{ filters: { after: '2026-11-01' } }, {}, ['--since: 2026-11-01 there, not given here']],
    [
      { filters: { after: '7d' } },
      { filters: { after: '2026-11-01' } },
      ['--since: 7d there, 2026-11-01 here'],
    ],
    [
      { filters: { after: '2026-11-01' } },
      { filters: { after: '2026-11-02' } },
      ['--since: 2026-11-01 there, 2026-11-02 here'],
    ],
    [
      { filters: { type: ['a', 'b'] } },
      { filters: { where: 'x' } },
      ['--type: a, b there, not given here', '--where: not given there, x here'],
    ],
    [{ gzip: true }, {}, ['--gzip: given there, not given here']],
    [{}, { partition: 'day' }, ['--partition: not given there, day here']],
    [{ fileFormat: 'parquet' }, {}, ['--format: parquet there, not given here']],
  ])('is another one for %j and %j', (there, here, expected) => {
    expect(differences(there, here)).toEqual(expected);
  });
});

test('the filters of an export are the conditions in any order, and the values of their files', () => {
  const identity = (...conditions: readonly [text: string, values?: readonly string[]][]) => {
    const parsed = conditions.map(([text, values]) =>
      parseCondition(text, '--where', 0, UTC, () => values ?? []),
    );
    return identityOfFilters(new EventFilters({ conditions: parsed }));
  };
  const inFile = 'a in @ids.txt';
  expect(identity()).toEqual({});
  expect(identity(['b = 1'], ['a = 2'])).toEqual({ where: ['a = 2', 'b = 1'] });
  const two = identity([inFile, ['x', 'y']]);
  expect(two).toEqual({
    where: [expect.stringMatching(/^a in @ids\.txt \(2 values, checksum [0-9a-f]{16}\)$/)],
  });
  expect(identity([inFile, ['y', 'x', 'y']])).toEqual(two);
  expect(identity([inFile, ['x', 'z']])).not.toEqual(two);
  expect(identity([inFile, ['x']])).toEqual({ where: [expect.stringContaining('(1 value, checksum ')] });
  expect(identity(['a in (x, y)'])).toEqual({ where: ['a in (x, y)'] });
});

test('a part that an update has replaced since the manifest was read is not damaged', async () => {
  const directory = await folder();
  const slice = MANIFEST.parts[0] as Part;
  const readAs = (sha256: string): PartRead => {
    return { held: { events: 3, bytes: 100, sha256 }, counted: 3, ofAnyStatus: null };
  };
  const part = { ...slice, read: readAs('a'.repeat(64)) };
  await writeManifest(directory, { ...MANIFEST, parts: [part] });
  await expect(readPart(directory, part).next()).rejects.toThrow(
    `${path.join(directory, part.file)} is missing`,
  );
  await writeManifest(directory, { ...MANIFEST, parts: [{ ...part, file: 'part-000002.ndjson' }] });
  const message = `${directory} was updated while it was read`;
  await expect(readPart(directory, part).next()).rejects.toThrow(
    expect.objectContaining({ message, next: 'run the command again' }),
  );
  // A part whose number of events changed meanwhile is read again, into a file of the same name.
  for (const read of [undefined, readAs('b'.repeat(64))]) {
    await writeManifest(directory, { ...MANIFEST, parts: [{ ...slice, read }] });
    await writeFile(path.join(directory, part.file), 'other\n');
    await expect(readPart(directory, part).next()).rejects.toThrow(message);
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
