import { describe, expect, test } from 'vitest';
import {
  type Content,
  contentOf,
  createNamer,
  damagedPart,
  eventsIn,
  filesOf,
  folderOf,
  type Held,
  heldBy,
  isSettled,
  isUncounted,
  lossOf,
  overlap,
  type Part,
  type PartRead,
  restoredPart,
  savedPart,
  settled,
  toBeReadAgain,
  trimmedPart,
  withContent,
} from '../../src/export/export-part.ts';
import { knownInstant } from '../../src/time/instant.ts';

const at = (seconds: number) => knownInstant(seconds * 1000);
const partOf = (content: Part['content'], change: Partial<Part> = {}): Part => {
  return { file: 'part-000001.ndjson', query: 0, after: at(10), before: at(20), content, ...change };
};
const readOf = (events: number, counted: number | null = events): PartRead => {
  return { held: { events, bytes: 10 * events, sha256: `of ${events}` }, counted, ofAnyStatus: 9 };
};
const PLANNED: Content = { state: 'planned', expected: 7, isRepair: false };
const REPAIR: Content = { state: 'planned', expected: 7, isRepair: true };
const WRITTEN: Content = { state: 'written', ...readOf(5) };
const SETTLED: Content = { state: 'settled', ...readOf(5) };
const lost = (now: Content, held = 6, counted: number | null = held): Part['content'] => {
  return { state: 'lost', original: readOf(held, counted), now };
};

describe('a part', () => {
  test.each([
    // State, events held, whether it is compared no more, whether its count is unknown, what is lost.
    [PLANNED, undefined, false, false, undefined],
    [REPAIR, undefined, true, false, undefined],
    [WRITTEN, 5, false, false, undefined],
    [SETTLED, 5, true, false, undefined],
    [{ ...WRITTEN, counted: null }, 5, false, true, undefined],
    [{ ...SETTLED, counted: null }, 5, true, true, undefined],
    [lost(PLANNED), undefined, false, false, { held: 0, heldBefore: 6 }],
    [lost(REPAIR), undefined, true, false, { held: 0, heldBefore: 6 }],
    [lost({ ...SETTLED, counted: null }, 6, null), 5, true, true, { held: 5, heldBefore: 6 }],
  ] as const)('%# says what it holds, and what it has lost', (content, held, isDone, isOpen, loss) => {
    const part = partOf(content);
    expect(contentOf(part)).toBe(content.state === 'lost' ? content.now : content);
    expect(heldBy(part)?.events).toBe(held);
    expect([isSettled(part), isUncounted(part)]).toEqual([isDone, isOpen]);
    expect(lossOf(part)).toEqual(loss && { file: part.file, ...loss });
    expect(eventsIn([part, partOf(WRITTEN), partOf(PLANNED)])).toBe((held ?? 0) + 5);
    expect(restoredPart(savedPart(part))).toEqual(part);
  });

  test('that was read takes what it holds, and stays lost until it holds as much as before', () => {
    expect(withContent(partOf(PLANNED), WRITTEN)).toEqual(partOf(WRITTEN));
    expect(withContent(partOf(lost(PLANNED)), WRITTEN)).toEqual(partOf(lost(WRITTEN)));
    expect(withContent(partOf(lost(PLANNED, 5)), WRITTEN)).toEqual(partOf(WRITTEN));
    expect(withContent(partOf(lost(WRITTEN, 0)), PLANNED)).toEqual(partOf(lost(PLANNED, 0)));
  });

  test('that has to be read again expects what it held, and repairs what had settled', () => {
    const expected = { expected: 5 };
    expect(toBeReadAgain(partOf(WRITTEN))).toEqual(partOf({ ...PLANNED, ...expected }));
    expect(toBeReadAgain(partOf(SETTLED))).toEqual(partOf({ ...REPAIR, ...expected }));
    expect(toBeReadAgain(partOf(lost(SETTLED)))).toEqual(partOf(lost({ ...REPAIR, ...expected })));
    const planned = partOf(PLANNED);
    expect(toBeReadAgain(planned)).toBe(planned);
  });

  test('that was damaged remembers what it held; damaged again, what it held at first', () => {
    const expected = { expected: 5 };
    const original = readOf(5);
    expect(damagedPart(partOf(WRITTEN))).toEqual(
      partOf({ state: 'lost', original, now: { ...PLANNED, ...expected } }),
    );
    expect(damagedPart(partOf(SETTLED))).toEqual(
      partOf({ state: 'lost', original, now: { ...REPAIR, ...expected } }),
    );
    expect(damagedPart(partOf(lost(SETTLED)))).toEqual(partOf(lost({ ...REPAIR, ...expected })));
    expect(damagedPart(partOf(PLANNED))).toEqual(partOf(PLANNED));
  });

  test('from which events were removed has a new file, and has lost no more than before', () => {
    const { held } = readOf(3);
    const file = 'part-000009.ndjson';
    expect(trimmedPart(partOf(SETTLED), file, held)).toEqual(partOf({ ...SETTLED, held }, { file }));
    const left: Held = { events: 4, bytes: 60, sha256: '' };
    expect(trimmedPart(partOf(lost(SETTLED)), file, held)).toEqual(
      partOf({ state: 'lost', original: { ...readOf(6), held: left }, now: { ...SETTLED, held } }, { file }),
    );
    expect(trimmedPart(partOf(PLANNED), file, held)).toEqual(partOf(PLANNED));
  });

  test('of a finished export is compared no more, whatever its state', () => {
    expect(settled(partOf(PLANNED))).toEqual(partOf(REPAIR));
    expect(settled(partOf(WRITTEN))).toEqual(partOf(SETTLED));
    expect(settled(partOf(lost(WRITTEN)))).toEqual(partOf(lost(SETTLED)));
    expect(settled(partOf(lost(PLANNED)))).toEqual(partOf(lost(REPAIR)));
  });
});

describe('the files of a part', () => {
  const stray = { file: 'date=2026-11-19/part-000001.ndjson', events: 2, bytes: 9, sha256: 'c' };
  const filesHeld = (file: string, events: number, bytes: number, strays?: Held['strays']) => {
    const held = { events, bytes, sha256: 'b', ...(strays ? { strays } : {}) };
    return filesOf(partOf({ state: 'written', held, counted: null, ofAnyStatus: null }, { file }));
  };
  const inFolder = 'date=2026-11-20/part-000001.ndjson';

  test('are none before it was read', () => {
    expect(filesOf(partOf(PLANNED))).toEqual([]);
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
  const [one, other] = [partOf(PLANNED), partOf(PLANNED, change)];
  expect([overlap(one, other), overlap(other, one)]).toEqual([expected, expected]);
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
    there.map((file) => partOf(PLANNED, { file })),
    { gzip: true },
  );
  expect(later()).toBe('part-1234568.ndjson.gz');
  expect(createNamer([], { gzip: false, fileFormat: 'parquet' })()).toBe('part-000001.parquet');
});
