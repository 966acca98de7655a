import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { Manifest } from '../../src/export/export-manifest.ts';
import { type Part, type Partition, withReading } from '../../src/export/export-part.ts';
import { PartClaims } from '../../src/export/part-claims.ts';
import { PartWriter } from '../../src/export/part-writer.ts';
import { itemFilter, type KeepItems } from '../../src/items/item-filter.ts';
import { Items } from '../../src/items/items.ts';
import { identified } from '../../src/paging/page.ts';
import { type Instant, parseInstant } from '../../src/time/instant.ts';
import { itemOf, knownOf } from '../support/shape.ts';

const time = (text: string) => parseInstant(`2026-11-${text}Z`) as Instant;

/** Events by id, with their times: without the year and the month, and `Z`. */
type Events = Readonly<Record<string, string | undefined>>;

const itemsOf = (events: Events) =>
  identified(
    Items.of(
      Object.entries(events).map(([eventId, text]) => {
        const createdOn = text === undefined ? undefined : `2026-11-${text}Z`;
        return Buffer.from(
          JSON.stringify(itemOf({ eventId, eventType: 'a.b', subscriptionId: 's', createdOn })),
        );
      }),
    ),
  );

interface Slice {
  readonly query?: number;
  readonly after?: string;
  readonly before: string;
  readonly isSettled?: boolean;
}

/** The claims on the parts of an export, whose slices are given newest first. */
async function claimsOn(slices: readonly Slice[], partition?: Partition, keep?: KeepItems) {
  const directory = await mkdtemp(path.join(tmpdir(), 'claims-'));
  const parts = slices.map(({ query = 0, after, before, isSettled = false }, index): Part => {
    const name = `part-00000${index + 1}.ndjson`;
    const file = partition ? `date=2026-11-${before.slice(0, 2)}/${name}` : name;
    const bounds = { after: after ? time(after) : null, before: time(before) };
    return { file, query, ...bounds, expected: null, isSettled };
  });
  const claims = new PartClaims(directory, () => ({ parts, partition }) as unknown as Manifest, keep);
  return {
    parts,
    end: (index: number) => claims.end(index),
    /** Writes a part, as one of an earlier round. */
    async write(index: number, events: Events) {
      const part = parts[index] as Part;
      const writer = await PartWriter.create(directory, part);
      await writer.add(itemsOf(events));
      const held = await writer.commit();
      parts[index] = withReading(part, { held, counted: held.events, ofAnyStatus: null });
    },
    /** Begins to read a part; `take` resolves to the ids of the events of a page that are its own. */
    async begin(index: number) {
      const claim = await claims.begin(index);
      return {
        claim,
        async take(events: Events): Promise<string[]> {
          const own = await claim.take(itemsOf(events));
          return own.texts().map((text) => knownOf(JSON.parse(text.toString())).eventId);
        },
      };
    },
  };
}

/** Two parts that share the second before noon. */
const NEWER: Slice = { after: '20T11:59:59', before: '20T13:00:00' };
const OLDER: Slice = { after: '20T11:00:00', before: '20T12:00:00' };
const SHARED = '20T11:59:59.5';

describe('an event of the second that two parts share', () => {
  test.each([
    [0, 1],
    [1, 0],
  ])('belongs to the first that meets it: to part %i before part %i', async (first, second) => {
    const { begin } = await claimsOn([NEWER, OLDER]);
    const [one, other] = [await begin(first), await begin(second)];
    expect(await one.take({ a: SHARED })).toEqual(['a']);
    expect(await other.take({ a: SHARED, b: SHARED })).toEqual(['b']);
  });

  test('stays claimed when its part was read, as long as the other is', async () => {
    const { begin, write, end } = await claimsOn([NEWER, OLDER]);
    const newer = await begin(0);
    const older = await begin(1);
    expect(await newer.take({ a: SHARED })).toEqual(['a']);
    await write(0, { a: SHARED });
    end(0);
    expect(await older.take({ a: SHARED, b: '20T11:00:01' })).toEqual(['b']);
  });

  test('that a filter leaves out is claimed by neither', async () => {
    const keep = itemFilter([], ['kept']);
    const { begin } = await claimsOn([NEWER, OLDER], undefined, keep);
    const [newer, older] = [await begin(0), await begin(1)];
    expect(await newer.take({ a: SHARED, kept: SHARED })).toEqual(['kept']);
    expect([...newer.claim.keys]).toHaveLength(1);
    expect(await older.take({ a: SHARED, kept: SHARED })).toEqual([]);
  });

  test('is left to a part of an earlier round that holds it', async () => {
    const { begin, write } = await claimsOn([NEWER, OLDER]);
    await write(1, { a: SHARED, b: '20T11:30:00' });
    expect(await (await begin(0)).take({ a: SHARED, c: SHARED })).toEqual(['c']);
  });

  test('is taken by both where they are of different searches', async () => {
    const { begin, write } = await claimsOn([NEWER, { ...OLDER, query: 1 }, { ...OLDER, query: 1 }]);
    await write(2, { b: SHARED });
    const [one, other] = [await begin(0), await begin(1)];
    expect(await one.take({ a: SHARED, b: SHARED })).toEqual(['a', 'b']);
    expect(await other.take({ a: SHARED, b: SHARED })).toEqual(['a']);
  });
});

test('a part that shares no time with another keeps no account of its events', async () => {
  const { begin } = await claimsOn([NEWER, { ...OLDER, before: '20T11:59:59' }]);
  const newer = await begin(0);
  expect(await newer.take({ a: SHARED })).toEqual(['a']);
  expect(newer.claim.keys.size).toBe(0);
});

describe('an update', () => {
  const there: Slice = { ...OLDER, after: '20T10:00:00', isSettled: true };

  test('reads again what a settled part holds, which is removed there afterwards', async () => {
    const { begin, write } = await claimsOn([NEWER, there]);
    await write(1, { a: SHARED });
    expect(await (await begin(0)).take({ a: SHARED })).toEqual(['a']);
  });

  test('repairs a settled part without what its settled neighbour holds', async () => {
    const { begin, write } = await claimsOn([{ ...NEWER, isSettled: true }, there]);
    await write(1, { a: SHARED });
    expect(await (await begin(0)).take({ a: SHARED, b: SHARED })).toEqual(['b']);
  });

  test('repairs a settled part without what a part of the update holds', async () => {
    const { begin, write } = await claimsOn([NEWER, { ...OLDER, isSettled: true }]);
    await write(0, { a: SHARED });
    expect(await (await begin(1)).take({ a: SHARED, b: SHARED })).toEqual(['b']);
  });
});

describe('after its first page the newer of two parts waits for the older', () => {
  /** Takes the newer part's second page, and tells whether it has come. */
  async function waiting() {
    const at = await claimsOn([NEWER, OLDER]);
    const newer = await at.begin(0);
    const older = await at.begin(1);
    expect(await newer.take({ n1: '20T12:59:59.5' })).toEqual(['n1']);
    let isTaken = false;
    const page = newer.take({ n2: SHARED, o1: SHARED }).then((own) => {
      isTaken = true;
      return own;
    });
    const taken = async () => {
      await turn();
      await turn();
      return isTaken;
    };
    return { at, older, page, taken };
  }

  test('until a page of it ends before the second that they share', async () => {
    const { older, page, taken } = await waiting();
    expect(await taken()).toBe(false);
    expect(await older.take({ o1: SHARED })).toEqual(['o1']);
    expect(await taken()).toBe(false);
    expect(await older.take({})).toEqual([]);
    expect(await taken()).toBe(false);
    expect(await older.take({ o2: '20T11:59:59' })).toEqual(['o2']);
    expect(await taken()).toBe(false);
    expect(await older.take({ o3: '20T11:59:59', o4: '20T11:59:58.999' })).toEqual(['o3', 'o4']);
    expect(await taken()).toBe(true);
    expect(await page).toEqual(['n2']);
  });

  test.each([
    ['without a time', undefined],
    ['of the time at which the part ends', '20T12:00:00'],
    ['of a later time', '20T12:00:01'],
  ])('no longer than to an event %s: pages are not in order', async (_, text) => {
    const { older, page, taken } = await waiting();
    expect(await older.take({ o1: text })).toEqual(['o1']);
    expect(await taken()).toBe(true);
    expect(await page).toEqual(['n2']);
  });

  test('no longer than it is read', async () => {
    const { at, page, taken } = await waiting();
    at.end(1);
    expect(await taken()).toBe(true);
    expect(await page).toEqual(['n2', 'o1']);
  });

  test('and the older waits for no other', async () => {
    const { older, taken } = await waiting();
    expect(await older.take({ o1: SHARED })).toEqual(['o1']);
    expect(await older.take({ o2: SHARED })).toEqual(['o2']);
    expect(await taken()).toBe(false);
  });
});

describe('with partitions', () => {
  const SECOND_DAY: Slice = { after: '19T23:59:59', before: '20T23:00:00' };
  const FIRST_DAY: Slice = { after: '19T01:00:00', before: '20T00:00:00' };
  const BEFORE_MIDNIGHT = '19T23:59:59.5';

  test.each([
    ['is left to the part of its day', [SECOND_DAY, FIRST_DAY], []],
    ['is taken where its day has no part', [SECOND_DAY], ['a']],
    ['is taken where a part ends later', [SECOND_DAY, { ...FIRST_DAY, before: '20T00:00:00.5' }], ['a']],
    [
      'is taken where a part ends at another midnight',
      [SECOND_DAY, { ...FIRST_DAY, before: '19T00:00:00' }],
      ['a'],
    ],
    ['is taken where the day is that of another search', [SECOND_DAY, { ...FIRST_DAY, query: 1 }], ['a']],
    [
      'is left to a part that is repaired with this one',
      [
        { ...SECOND_DAY, isSettled: true },
        { ...FIRST_DAY, isSettled: true },
      ],
      [],
    ],
    [
      'is taken in an update, whose earlier day has settled',
      [SECOND_DAY, { ...FIRST_DAY, isSettled: true }],
      ['a'],
    ],
    [
      'is taken by a part that does not begin at midnight',
      [{ ...SECOND_DAY, after: '19T23:59:58' }, FIRST_DAY],
      ['a'],
    ],
    [
      'is taken by a part that begins within a second',
      [{ ...SECOND_DAY, after: '19T23:59:59.2' }, FIRST_DAY],
      ['a'],
    ],
    ['is taken by a part of that second alone', [{ after: '19T23:59:59', before: '20T00:00:00' }], ['a']],
    ['is taken by a part without a beginning', [{ before: '20T23:00:00' }, FIRST_DAY], ['a']],
  ] as const)('an event of the second before midnight %s', async (_, slices, own) => {
    const { begin } = await claimsOn(slices, 'day');
    const page = { a: BEFORE_MIDNIGHT, b: '20T00:00:00' };
    expect(await (await begin(0)).take(page)).toEqual([...own, 'b']);
  });

  test('an event of the second before midnight is left to the other part only with partitions', async () => {
    const { begin } = await claimsOn([SECOND_DAY, FIRST_DAY]);
    expect(await (await begin(0)).take({ a: BEFORE_MIDNIGHT })).toEqual(['a']);
  });

  test('an event without a time belongs to the first part of its search that meets it', async () => {
    const slices: readonly Slice[] = [
      { after: '20T12:00:00', before: '20T13:00:00' },
      { after: '19T12:00:00', before: '19T13:00:00' },
      { after: '19T12:00:00', before: '19T13:00:00', query: 1 },
    ];
    const { begin } = await claimsOn(slices, 'day');
    const [one, other, ofOther] = [await begin(0), await begin(1), await begin(2)];
    expect(await one.take({ a: '20T12:30:00', b: undefined })).toEqual(['a', 'b']);
    expect(await other.take({ b: undefined, c: undefined })).toEqual(['c']);
    expect(await one.take({ c: undefined, d: undefined })).toEqual(['d']);
    expect(await ofOther.take({ b: undefined, c: undefined })).toEqual(['b', 'c']);
  });

  test('an event without a time is left to a part of an earlier round that holds it', async () => {
    const slices: readonly Slice[] = [
      { after: '20T12:00:00', before: '20T13:00:00' },
      { after: '19T12:00:00', before: '19T13:00:00' },
      { after: '18T12:00:00', before: '18T13:00:00', query: 1 },
    ];
    const { begin, write, parts } = await claimsOn(slices, 'day');
    await write(1, { a: '19T12:30:00', b: undefined });
    await write(2, { c: undefined });
    expect(parts[1]?.read?.held.strays).toHaveLength(1);
    expect(await (await begin(0)).take({ b: undefined, c: undefined })).toEqual(['c']);
  });
});
