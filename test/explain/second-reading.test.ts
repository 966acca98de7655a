import { createReadStream } from 'node:fs';
import { appendFile, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { searchSample } from '../../src/explain/explanation.ts';
import { againFrom, type SecondReading, TwoReadings } from '../../src/explain/two-readings.ts';
import { EventFilters } from '../../src/filters/event-filters.ts';
import { Items } from '../../src/items/items.ts';
import { EventSample } from '../../src/sample/event-sample.ts';
import { type EventSource, type PageOfOutcomes, withEventSource } from '../../src/sources/event-source.ts';
import { itemsOfText } from '../../src/sources/item-text.ts';
import { UTC } from '../../src/time/time-zone.ts';
import { createContext } from '../support/context.ts';
import { fakeReporter } from '../support/outputs.ts';
import { withEventInside } from '../support/shape.ts';

const EVENTS = 3_000;
const PAGE = 50;
const smallSample = () => new EventSample(2_400);

/** Events a second apart, the oldest first; those of one type and region fail, and a few others. */
const eventOf = (index: number) => {
  const isBad = index % 7 === 3 && index % 5 === 1;
  const hasFailed = isBad || index % 997 === 0;
  return {
    eventId: `e${index}`,
    eventType: `t${index % 7}`,
    createdOn: new Date(Date.parse('2026-11-20T00:00:00Z') + index * 1000).toISOString(),
    subscriptionId: `s${index % 11}`,
    publishStatus: hasFailed ? 'FAILED' : 'SUCCESS',
    region: `r${index % 5}`,
    ...(hasFailed ? { lastError: index % 2 === 0 ? 'busy' : 'gone' } : {}),
  };
};

const pages = Array.from({ length: EVENTS / PAGE }, (_, page) =>
  Items.of(
    Array.from({ length: PAGE }, (_, index) =>
      Buffer.from(JSON.stringify(withEventInside(eventOf(page * PAGE + index)))),
    ),
  ),
);

const isBad = (index: number) => index % 7 === 3 && index % 5 === 1;
const indexes = Array.from({ length: EVENTS }, (_, index) => index);

const showKept = (kept: AsyncIterable<PageOfOutcomes>) => kept;

test('of more events than the sample has, causes and effects are counted in all, read again or kept', async () => {
  const readAgain = async function* () {
    for (const items of pages) yield { items, haveFailed: undefined };
  };
  const found = [];
  for (const again of [readAgain, undefined]) {
    const failures = new TwoReadings({ again, showKept }, smallSample());
    for (const items of pages) await failures.see({ items, haveFailed: undefined });
    expect(failures.sample.isWhole).toBe(false);
    found.push(await failures.explain(UTC));
  }
  const [read, kept] = found;
  expect(kept).toEqual(read);
  const bad = indexes.filter(isBad).length;
  const failed = indexes.filter((index) => eventOf(index).publishStatus === 'FAILED');
  expect(
    read?.causes.map(({ conditions, failed, events }) => [
      conditions.map(({ text }) => text),
      failed,
      events,
    ]),
  ).toEqual([[['eventType = t3', 'region = r1'], bad, bad]]);
  expect(read?.unexplained).toBe(failed.length - bad);
  const gone = failed.filter((index) => index % 2 === 1).length;
  expect(read?.onlyInFailures.map(({ field, values }) => [field, values])).toEqual([
    [
      'lastError',
      [
        { value: 'gone', failed: gone },
        { value: 'busy', failed: failed.length - gone },
      ].sort((a, b) => b.failed - a.failed),
    ],
  ]);
});

test('events of a pipe, which is read once, are kept for the second reading', async () => {
  const text = pages.map((items) => `${items.toLines()}`).join('');
  const pipe = Readable.from([Buffer.from(text)]);
  const stdin = { ...createContext().stdin, stream: () => pipe };
  const call = { settings: {} as never, context: createContext({ stdin }), reporter: fakeReporter() };
  const options = { from: '-', filters: new EventFilters(), concurrency: 1 };
  await withEventSource(call, options, async (source) => {
    const failures = new TwoReadings(againFrom(source, options.filters), smallSample());
    for await (const page of source.readOutcomes(options.filters)) await failures.see(page);
    expect(failures.sample.isWhole).toBe(false);
    const { causes } = await failures.explain(UTC);
    const bad = indexes.filter(isBad).length;
    expect(causes.map(({ failed, events }) => [failed, events])).toEqual([[bad, bad]]);
  });
});

const secondReading: SecondReading = {
  again: () => {
    throw new Error('the file is read again as it was parsed');
  },
  showKept,
};

/** Reads a file of these lines, then changes it before the second reading. */
async function explainFile(lines: readonly string[], change: (file: string) => Promise<void>) {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'second-reading-'));
  const file = path.join(folder, 'events.ndjson');
  try {
    await writeFile(file, lines.join('\n'));
    const failures = new TwoReadings(secondReading, smallSample());
    const stream = createReadStream(file, { highWaterMark: 10_000 });
    for await (const items of itemsOfText(stream, file, file)) {
      const events = [...Array(items.count).keys()].filter((item) => items.text(item).length > '{}'.length);
      await failures.see({ items: items.pick(events), haveFailed: undefined });
    }
    expect(failures.sample.isWhole).toBe(false);
    await change(file);
    return await failures.explain(UTC);
  } finally {
    await rm(folder, { recursive: true });
  }
}

test('events of a file are counted where they are in it, and a changed file is an error', async () => {
  const lines = pages.flatMap((items) => items.texts().flatMap((text) => ['{}', String(text)]));
  const { causes, events } = await explainFile(lines, (file) => appendFile(file, 'another line'));
  const bad = indexes.filter(isBad).length;
  expect(events).toBe(EVENTS);
  expect(
    causes.map(({ conditions, ...count }) => [conditions.map(({ text }) => text), count.failed]),
  ).toEqual([[['eventType = t3', 'region = r1'], bad]]);
  for (const change of [
    (file: string) => truncate(file, 100),
    (file: string) => writeFile(file, lines.join('\n').replace('"r1"', '"r2"')),
  ])
    await expect(explainFile(lines, change)).rejects.toThrow('events.ndjson was changed while it was read');
  await expect(explainFile(lines, (file) => rm(file))).rejects.toThrow('events.ndjson cannot be read');
});

test('a span of time has the first and the last event of all, where the sample is a part', () => {
  const isOut = (index: number) => index >= 2_011 && index < 2_345;
  const sample = smallSample();
  const items = pages.map((page, number) =>
    Items.of(
      page.texts().map((text, index) =>
        Buffer.from(
          String(text)
            .replace(/"lastError":"[a-z]+"/, '"other":1')
            .replace(
              /"publishStatus":"[A-Z]+"/,
              `"publishStatus":"${isOut(number * PAGE + index) ? 'FAILED' : 'SUCCESS'}"`,
            ),
        ),
      ),
    ),
  );
  for (const page of items) sample.add(page, undefined);
  const { counts, needsSecondReading, explanation } = searchSample(sample, UTC);
  expect(needsSecondReading).toBe(true);
  for (const page of items) counts.add(page, undefined);
  const [cause] = explanation().causes;
  expect(cause?.conditions.map(({ text }) => text)).toEqual([
    `createdOn >= ${eventOf(2_011).createdOn}`,
    `createdOn <= ${eventOf(2_344).createdOn}`,
  ]);
  expect([cause?.failed, cause?.events]).toEqual([334, 334]);
});

test('only events of a file are read again: not those of a pipe, nor of the service', () => {
  const filters = new EventFilters();
  const read: unknown[] = [];
  const againOf = (parts: { readonly isReadOnce: boolean; readonly service: object | undefined }) => {
    const readOutcomes = (...asked: unknown[]) => void read.push(asked);
    const source = { ...parts, window: 'the window', readOutcomes } as unknown as EventSource;
    return againFrom(source, filters).again;
  };
  againOf({ isReadOnce: false, service: undefined })?.();
  expect(read).toEqual([[filters, 'the window']]);
  expect(againOf({ isReadOnce: true, service: undefined })).toBeUndefined();
  expect(againOf({ isReadOnce: false, service: {} })).toBeUndefined();
});
