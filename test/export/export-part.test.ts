import { describe, expect, test } from 'vitest';
import {
  createNamer,
  damagedPart,
  eventsIn,
  filesOf,
  folderOf,
  type Held,
  lossOf,
  mayRepeat,
  overlap,
  type Part,
  type PartRead,
  restoredPart,
  savedPart,
  toBeReadAgain,
  trimmedPart,
  withReading,
} from '../../src/export/export-part.ts';
import { knownInstant } from '../../src/time/instant.ts';

const at = (seconds: number) => knownInstant(seconds * 1000);
const planned = (change: Partial<Part> = {}): Part => {
  const slice = { file: 'part-000001.ndjson', query: 0, after: at(10), before: at(20) };
  return { ...slice, expected: 7, isSettled: false, ...change };
};
const readOf = (events: number, counted: number | null = events): PartRead => {
  return { held: { events, bytes: 10 * events, sha256: `of ${events}` }, counted, ofAnyStatus: 9 };
};
const written = (change: Partial<Part> = {}): Part => {
  return planned({ expected: null, read: readOf(5), ...change });
};
const SETTLED = { isSettled: true };
const LOST = { lost: readOf(6) };

describe('a part', () => {
  test.each([
    // Events held, what is lost.
    [planned(), undefined, undefined],
    [planned(SETTLED), undefined, undefined],
    [written(), 5, undefined],
    [written(SETTLED), 5, undefined],
    [written({ read: readOf(5, null) }), 5, undefined],
    [planned(LOST), undefined, { held: 0, heldBefore: 6 }],
    [planned({ ...SETTLED, ...LOST }), undefined, { held: 0, heldBefore: 6 }],
    [written({ ...SETTLED, read: readOf(5, null), lost: readOf(6, null) }), 5, { held: 5, heldBefore: 6 }],
  ])('%# reads back as it was saved, and knows what it holds and has lost', (part, held, loss) => {
    expect(lossOf(part)).toEqual(loss && { file: part.file, ...loss });
    expect(eventsIn([part, written(), planned()])).toBe((held ?? 0) + 5);
    expect(restoredPart(savedPart(part))).toEqual(part);
  });

  test('that was read takes what it holds, and stays lost until it holds as much as before', () => {
    expect(withReading(planned(), readOf(5))).toEqual(written());
    expect(withReading(planned(SETTLED), readOf(5))).toEqual(written(SETTLED));
    expect(withReading(planned(LOST), readOf(5))).toEqual(written(LOST));
    expect(withReading(planned({ lost: readOf(5) }), readOf(5))).toEqual(written());
  });

  test('that has to be read again expects what it held', () => {
    const again = { expected: 5 };
    expect(toBeReadAgain(written())).toEqual(planned(again));
    expect(toBeReadAgain(written(SETTLED))).toEqual(planned({ ...again, ...SETTLED }));
    expect(toBeReadAgain(written(LOST))).toEqual(planned({ ...again, ...LOST }));
    expect(toBeReadAgain(planned())).toEqual(planned());
  });

  test('that was damaged remembers what it held; damaged again, what it held at first', () => {
    const again = { expected: 5 };
    expect(damagedPart(written())).toEqual(planned({ ...again, lost: readOf(5) }));
    expect(damagedPart(written(SETTLED))).toEqual(planned({ ...again, ...SETTLED, lost: readOf(5) }));
    expect(damagedPart(written(LOST))).toEqual(planned({ ...again, ...LOST }));
    expect(damagedPart(planned())).toEqual(planned());
  });

  test('from which events were removed has a new file, and has lost no more than before', () => {
    const { held } = readOf(3);
    const file = 'part-000009.ndjson';
    const read = { ...readOf(5), held };
    expect(trimmedPart(written(SETTLED), file, held)).toEqual(written({ ...SETTLED, file, read }));
    const left = { ...readOf(6), held: { events: 4, bytes: 60, sha256: '' } };
    expect(trimmedPart(written(LOST), file, held)).toEqual(written({ file, read, lost: left }));
    expect(trimmedPart(planned(), file, held)).toEqual(planned());
  });
});

describe('the files of a part', () => {
  const stray = { file: 'date=2026-11-19/part-000001.ndjson', events: 2, bytes: 9, sha256: 'c' };
  const filesHeld = (file: string, events: number, bytes: number, strays?: Held['strays']) => {
    const held = { events, bytes, sha256: 'b', ...(strays ? { strays } : {}) };
    return filesOf(written({ file, read: { held, counted: null, ofAnyStatus: null } }));
  };
  const inFolder = 'date=2026-11-20/part-000001.ndjson';

  test('are none before it was read', () => {
    expect(filesOf(planned())).toEqual([]);
  });

  test('are its own with the events that its strays do not hold, and these', () => {
    const own = { file: inFolder, events: 3, bytes: 50, sha256: 'b' };
    expect(filesHeld(inFolder, 5, 50, [stray])).toEqual([own, stray]);
    expect(filesHeld(inFolder, 7, 50, [stray, { ...stray, file: 'x/y' }])).toEqual([
      own,
      stray,
      { ...stray, file: 'x/y' },
    ]);
    expect(filesHeld(inFolder, 3, 50)).toEqual([own]);
  });

  test('have none of its own in a folder where it would be empty', () => {
    expect(filesHeld(inFolder, 2, 0, [stray])).toEqual([stray]);
    expect(filesHeld(inFolder, 0, 0)).toEqual([]);
    // A compressed one of no events has bytes; one of events without bytes is damaged.
    expect(filesHeld(inFolder, 0, 20)).toHaveLength(1);
    expect(filesHeld(inFolder, 1, 0)).toHaveLength(1);
    expect(filesHeld('part-000001.ndjson', 0, 0)).toHaveLength(1);
  });

  test('lie in the folder that their path names', () => {
    expect([folderOf(inFolder), folderOf('part-000001.ndjson')]).toEqual(['date=2026-11-20', '']);
  });
});

test.each([
  [{}, true],
  [{ query: 1 }, false],
  [{ after: at(19), before: at(30) }, true],
  [{ after: at(20), before: at(30) }, false],
  [{ after: at(0), before: at(11) }, true],
  [{ after: at(0), before: at(10) }, false],
  [{ after: null, before: at(11) }, true],
  [{ after: null, before: at(10) }, false],
])('two parts of one search overlap where their times do: %j', (change, expected) => {
  const [one, other] = [planned(), planned(change)];
  expect([overlap(one, other), overlap(other, one)]).toEqual([expected, expected]);
});

test.each([
  [at(19), true],
  [at(20), false],
  [at(21), false],
])('an update from %j may repeat events of a settled part until then', (from, expected) => {
  expect(mayRepeat(planned(SETTLED), from)).toBe(expected);
  expect(mayRepeat(planned(), from)).toBe(false);
});

test('parts are named one after another, from the last that is there, by their form and folder', () => {
  const next = createNamer([], { gzip: false });
  expect([next(), next(), next('date=2026-11-20')]).toEqual([
    'part-000001.ndjson',
    'part-000002.ndjson',
    'date=2026-11-20/part-000003.ndjson',
  ]);
  const there = ['date=2026-11-20/part-000041.ndjson.gz', 'part-000007.ndjson.gz', 'part-1234567.ndjson.gz'];
  const later = createNamer(
    there.map((file) => planned({ file })),
    { gzip: true },
  );
  expect(later()).toBe('part-1234568.ndjson.gz');
  expect(createNamer([], { gzip: false, fileFormat: 'parquet' })()).toBe('part-000001.parquet');
});
