import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { adviceText } from '../../src/advice.ts';
import { HooktrailError } from '../../src/errors.ts';
import type { PublishStatus } from '../../src/sandbox/store/event-item.ts';
import { decompressed, isParquet, openPlace } from '../../src/sources/stored-place.ts';
import { createContext, inputOf } from '../support/context.ts';
import { type Exporting, startExporting } from '../support/exporting.ts';
import { itemOf, knownOf } from '../support/shape.ts';

let folder: string;
const fileOf = async (name: string, content: string | Uint8Array) => {
  const file = path.join(folder, name);
  await writeFile(file, content);
  return file;
};
beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'stored-place-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
});

const linesOf = (...events: readonly Readonly<Record<string, unknown>>[]) =>
  events.map((event) => `${JSON.stringify(itemOf(event))}\n`).join('');
const failed = { eventId: 'a', publishStatus: 'FAILED' };
const delivered = { eventId: 'b', publishStatus: 'SUCCESS' };

interface Given {
  readonly stdin?: Readable;
  readonly comparesOutcomes?: boolean;
  readonly signal?: AbortSignal;
}

async function readPlace(place: string, { comparesOutcomes = false, signal, ...given }: Given = {}) {
  const doubts: string[] = [];
  const stdin = inputOf(given.stdin ?? new PassThrough());
  const context = createContext({ stdin, ...(signal ? { signal } : {}) });
  const onDoubt = (doubt: string) => void doubts.push(doubt);
  const { lists, isExport, checkRest } = await openPlace(place, { context, onDoubt, comparesOutcomes });
  const items: object[] = [];
  const shares: (number | undefined)[] = [];
  const totals = new Set<number | undefined>();
  for (const list of lists)
    for await (const page of list) {
      items.push(...[...page.items.values()].map((item) => item as object));
      shares.push(page.share);
      totals.add(page.total);
    }
  const ids = () => items.map((item) => knownOf(item).eventId);
  return { ids, items, shares, totals, doubts, isExport, checkRest };
}

/** Returns the failure's message and what to do next. */
async function faultOf(work: Promise<unknown>) {
  const error = await work.catch((error: unknown) => error);
  if (!(error instanceof HooktrailError)) throw error;
  const next = error.next && adviceText(error.next, {});
  return { kind: error.kind, message: error.message.replaceAll(folder, '~'), next };
}

describe('a file of stored events', () => {
  test('is read as it is or decompressed, with the part that was read', async () => {
    const text = linesOf(failed, delivered);
    const plain = await readPlace(await fileOf('events.ndjson', text));
    expect([plain.ids(), plain.isExport, plain.checkRest]).toEqual([['a', 'b'], false, undefined]);
    expect(plain.shares.at(-1)).toBe(1);
    expect([...plain.totals]).toEqual([undefined]);
    const zipped = await readPlace(await fileOf('events.gz', gzipSync(text)));
    expect([zipped.ids(), zipped.shares.at(-1)]).toEqual([['a', 'b'], 1]);
  });

  test('gives the part read of each page, which grows', async () => {
    const text = linesOf(
      ...Array.from({ length: 3_000 }, (_, at) => ({ eventId: `${at}-${'x'.repeat(500)}` })),
    );
    const { shares } = await readPlace(await fileOf('many.ndjson', text));
    expect(shares.length).toBeGreaterThan(2);
    expect(shares[0]).toBeGreaterThan(0);
    expect(shares[0]).toBeLessThan(1);
    expect(shares).toEqual([...shares].sort((one, other) => Number(one) - Number(other)));
    expect(shares.at(-1)).toBe(1);
  });

  test('may be empty, or shorter than any mark of a format', async () => {
    for (const text of ['', '\n', '{}', 'PA']) {
      const work = readPlace(await fileOf('short.ndjson', text), { comparesOutcomes: true });
      if (text === 'PA') await expect(work).rejects.toThrow('line 1: it is not a JSON object');
      else expect([(await work).items.length, (await work).doubts]).toEqual([text === '{}' ? 1 : 0, []]);
    }
  });

  test('that has no delivered events is doubted by commands that compare', async () => {
    const file = await fileOf('failed.ndjson', linesOf(failed, { ...failed, eventId: 'c' }));
    expect((await readPlace(file, { comparesOutcomes: true })).doubts).toEqual([
      `all events of ${file} have failed: delivered ones may be missing from it`,
    ]);
    expect((await readPlace(file)).doubts).toEqual([]);
    for (const events of [[failed, delivered], [delivered], [{ eventId: 'a' }]]) {
      const other = await fileOf('other.ndjson', linesOf(...events));
      expect((await readPlace(other, { comparesOutcomes: true })).doubts).toEqual([]);
    }
  });

  test('that only one of its pages shows delivered events is not doubted', async () => {
    const many = Array.from({ length: 1_000 }, (_, at) => ({
      ...failed,
      eventId: `${at}-${'x'.repeat(500)}`,
    }));
    for (const events of [
      [...many, delivered],
      [delivered, ...many],
    ]) {
      const file = await fileOf('mixed.ndjson', linesOf(...events));
      expect((await readPlace(file, { comparesOutcomes: true })).doubts).toEqual([]);
    }
    const alone = await fileOf('late.ndjson', linesOf(...many.map(({ eventId }) => ({ eventId })), failed));
    expect((await readPlace(alone, { comparesOutcomes: true })).doubts).toHaveLength(1);
  });

  test('is not there: the error names the flag, and a time goes elsewhere', async () => {
    const advice =
      '--from takes the directory of `hooktrail events export`, a file of NDJSON or a JSON array, or - for standard input';
    expect(await faultOf(readPlace(path.join(folder, 'none')))).toEqual({
      kind: 'usage',
      message: "--from: there is no file or directory '~/none'",
      next: advice,
    });
    expect(await faultOf(readPlace('2026-11-20'))).toEqual({
      kind: 'usage',
      message: "--from: there is no file or directory '2026-11-20'",
      next: "a time goes to --since: --since '2026-11-20'",
    });
  });

  test('that cannot be opened is a failure with its reason', async () => {
    const file = await fileOf('events', '{}');
    expect(await faultOf(readPlace(path.join(file, 'below')))).toMatchObject({
      kind: 'incomplete',
      message: expect.stringMatching(/^--from: ~\/events\/below cannot be read: .*not a directory/i),
      next: undefined,
    });
  });

  test('that is cut or damaged is an error with the way out', async () => {
    const zipped = gzipSync(linesOf(failed, delivered));
    expect(await faultOf(readPlace(await fileOf('cut.gz', zipped.subarray(0, -12))))).toMatchObject({
      kind: 'incomplete',
      message: expect.stringMatching(/^~\/cut\.gz cannot be read: /),
      next: 'the compressed data is cut or damaged: make or copy it again',
    });
    expect(await faultOf(readPlace(await fileOf('cut.parquet', 'PAR1 and no more')))).toMatchObject({
      kind: 'incomplete',
      message: expect.stringMatching(/^~\/cut\.parquet /),
      next: 'name the directory of the export, or another copy of the file: --from takes Parquet that `events export` has written',
    });
  });

  test('stops being read at an interruption, which stays the reason', async () => {
    const controller = new AbortController();
    const reason = new Error('interrupted');
    controller.abort(reason);
    const file = await fileOf('stopped.ndjson', linesOf(failed));
    await expect(readPlace(file, { signal: controller.signal })).rejects.toBe(reason);
  });
});

describe('an export', () => {
  let at: Exporting;
  beforeAll(async () => {
    at = await startExporting({ events: 0 });
    for (const [hour, publishStatus] of ['FAILED', 'SUCCESS', 'FAILED'].entries())
      at.control.addEvent({
        createdOn: `2026-11-20T0${hour}:00:00Z`,
        publishStatus: publishStatus as PublishStatus,
      });
  });
  afterAll(async () => {
    await at[Symbol.asyncDispose]();
  });

  test('has a list for each of its searches, and the rest of it is checked', async () => {
    await at.export('--status', 'FAILED', '--status', 'SUCCESS');
    const place = await openPlace(at.directory, { context: createContext(), comparesOutcomes: true });
    expect([place.lists.length, place.isExport]).toEqual([2, true]);
    await writeFile(path.join(at.directory, (await at.parts())[0] as string), '{}');
    await expect(place.checkRest?.()).rejects.toThrow(at.directory);
  });

  test('of one status is doubted by commands that compare', async () => {
    await rm(at.directory, { recursive: true });
    await at.export('--failed');
    const { ids, doubts, isExport } = await readPlace(at.directory, { comparesOutcomes: true });
    expect([ids().length, isExport]).toEqual([2, true]);
    expect(doubts).toEqual([
      expect.stringContaining('was made with --status FAILED: other events are missing'),
    ]);
    expect((await readPlace(at.directory)).doubts).toEqual([]);
  });

  test('gives the events of its files of Parquet, one by one as well', async () => {
    await rm(at.directory, { recursive: true });
    await at.export('--format', 'parquet');
    const [file] = await at.parts();
    const whole = await readPlace(at.directory);
    const part = await readPlace(path.join(at.directory, file as string));
    expect(part.ids()).toEqual(whole.ids());
    expect([whole.ids().length, part.isExport, new Set(part.shares)]).toEqual([
      3,
      false,
      new Set([undefined]),
    ]);
  });
});

describe('standard input', () => {
  test('is let go when its reader has enough', async () => {
    const stdin = Readable.from([Buffer.from(linesOf(failed)), Buffer.from(linesOf(delivered))]);
    const context = createContext({ stdin: inputOf(stdin) });
    const [list] = (await openPlace('-', { context, comparesOutcomes: false })).lists;
    for await (const _ of list as AsyncIterable<unknown>) break;
    expect(stdin.destroyed).toBe(true);
  });

  test('may have doubts that nobody takes', async () => {
    const context = createContext({ stdin: inputOf('{"data":[{}],"publishStatus":"FAILED"}') });
    const [list] = (await openPlace('-', { context, comparesOutcomes: true })).lists;
    const pages = [];
    for await (const page of list as AsyncIterable<unknown>) pages.push(page);
    expect(pages.length).toBe(1);
  });

  test('is read to its end, without a part that was read', async () => {
    const { ids, shares, isExport } = await readPlace('-', {
      stdin: Readable.from([Buffer.from(linesOf(failed)), Buffer.from(linesOf(delivered))]),
    });
    expect([ids(), isExport]).toEqual([['a', 'b'], false]);
    expect(new Set(shares)).toEqual(new Set([undefined]));
  });

  test('is named by its errors and doubts', async () => {
    const broken = new Readable({ read: () => void broken.destroy(new Error('gone')) });
    expect(await faultOf(readPlace('-', { stdin: broken }))).toEqual({
      kind: 'incomplete',
      message: 'standard input cannot be read: gone',
      next: undefined,
    });
    const { doubts } = await readPlace('-', {
      stdin: Readable.from([Buffer.from(linesOf(failed))]),
      comparesOutcomes: true,
    });
    expect(doubts).toEqual([
      'all events of standard input have failed: delivered ones may be missing from it',
    ]);
  });

  test('cannot be Parquet, and the advice depends on the flag', async () => {
    const pieces = () => Readable.from([Buffer.from('PA'), Buffer.from('R1….')]);
    const message = (flag: string) => `${flag}: Parquet is read from its end, and cannot come through a pipe`;
    expect(await faultOf(readPlace('-', { stdin: pieces() }))).toEqual({
      kind: 'usage',
      message: message('--from'),
      next: 'name the file, or the directory of the export',
    });
    const read = async () => {
      for await (const _ of decompressed(pieces(), '--received'));
    };
    expect(await faultOf(read())).toEqual({
      kind: 'usage',
      message: message('--received'),
      next: 'name the file',
    });
  });

  test.each([1, 2, 3, 1_000])('is decompressed if it is gzip, in pieces of %i bytes', async (size) => {
    const text = linesOf(failed, delivered);
    for (const bytes of [gzipSync(text), Buffer.from(text)]) {
      const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
        bytes.subarray(at * size, (at + 1) * size),
      );
      const { ids } = await readPlace('-', { stdin: Readable.from(pieces) });
      expect(ids()).toEqual(['a', 'b']);
    }
    expect((await readPlace('-', { stdin: Readable.from([]) })).ids()).toEqual([]);
    const second = Buffer.of(0x1f, 0x8c, 0x08);
    const wrong = Buffer.of(0x8b, 0x1f, 0x8b);
    for (const bytes of [second, wrong])
      expect((await faultOf(readPlace('-', { stdin: Readable.from([bytes]) }))).message).toMatch(
        /^standard input, line 1: /,
      );
  });
});

describe('files that look like events and are not', () => {
  const takeItems =
    "take the events out of it, as `jq '.items[]' FILE` does, or `hooktrail api '/integrator-events?limit(1,500)' --jq .items`";

  test.each([
    ['{"items":[],"next":null}', "a page of the service's answer"],
    ['{"items":[{}],"count":1}', "a page of the service's answer"],
    ['{"items":[{}],"limit":1}', "a page of the service's answer"],
    ['{"items":[{}],"href":"x"}', "a page of the service's answer"],
    ['{"items":[{}]}', "a page of the service's answer"],
  ])('%s is a page', async (text, what) => {
    const given = { stdin: Readable.from([Buffer.from(text)]) };
    expect(await faultOf(readPlace('-', given))).toEqual({
      kind: 'incomplete',
      message: `standard input holds ${what}, not events`,
      next: takeItems,
    });
  });

  test.each([
    '{"id":1,"items":[{}]}',
    '{"items":[{}],"id":1}',
    '{"items":{"a":1},"next":null}',
    '{"items":null,"count":0}',
    '{"eventId":"e","items":[{}],"next":null}',
    '{}\n{"items":[],"next":null}',
    '{"count":1}',
  ])('%s is read as an event', async (text) => {
    const pieces = text.split(/(?<=\n)/).map((line) => Buffer.from(line));
    const { items, doubts } = await readPlace('-', { stdin: Readable.from(pieces) });
    expect(items.length).toBe(text.includes('\n') ? 2 : 1);
    if (text.includes('"id":1')) expect(doubts).toEqual([expect.stringContaining("with a list 'items'")]);
  });

  test.each([
    ['{"format":"hooktrail-export"}', 'the manifest of an export', 'name its directory instead'],
    [
      '{"format":"hooktrail-watch"}',
      'the state of a watch',
      'name what the watch has printed with --ndjson instead',
    ],
  ])('%s is our own', async (text, what, next) => {
    expect(await faultOf(readPlace(await fileOf('own.json', text)))).toEqual({
      kind: 'incomplete',
      message: `~/own.json holds ${what}, not events`,
      next,
    });
    expect((await readPlace(await fileOf('event.json', `{"eventId":"e",${text.slice(1)}`))).doubts).toEqual(
      [],
    );
  });

  test.each(['data', 'records', 'Records', 'events', 'results', 'value', 'messages'])(
    'one object with a list "%s" counts as one event, and is doubted',
    async (name) => {
      const list = `{"id":1,"${name}":[{"id":"a"}]}`;
      const doubt = `--from: standard input is one object with a list '${name}', and counts as one event: \`jq '.${name}[]' FILE\` takes the events out of it`;
      const doubtsOf = async (text: string) =>
        (await readPlace('-', { stdin: Readable.from([Buffer.from(text)]) })).doubts;
      expect(await doubtsOf(list)).toEqual([doubt]);
      for (const text of [
        `${list}\n${list}`,
        `{"eventId":"e","${name}":[{"id":"a"}]}`,
        `{"${name}":[1]}`,
        `{"${name}":{"a":[{}]}}`,
        `{"a":1}`,
      ])
        expect(await doubtsOf(text)).toEqual([]);
    },
  );
});

test('Parquet is told by its first four bytes', async () => {
  for (const [text, expected] of [
    ['PAR1', true],
    ['PAR2', false],
    ['PA', false],
    ['', false],
  ] as const) {
    const handle = await open(await fileOf('mark', text));
    expect([text, await isParquet(handle)]).toEqual([text, expected]);
    await handle.close();
  }
  const directory = await open(folder);
  expect(await isParquet(directory)).toBe(false);
  await directory.close();
});
