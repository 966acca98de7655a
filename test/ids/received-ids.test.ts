import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { describe, expect, test } from 'vitest';
import { eventKey } from '../../src/ids/event-keys.ts';
import { type ReceivedIds, readReceivedIds } from '../../src/ids/received-ids.ts';
import { clockWith } from '../support/clock.ts';
import { createContext } from '../support/context.ts';
import { forEachTest } from '../support/each-test.ts';
import { createHome } from '../support/home.ts';
import { fakeOutput, fakeReporter } from '../support/outputs.ts';

const [A, B, C] = [1, 2, 3].map((number) => `3f2504e0-4f89-41d3-9a0c-00000000000${number}`) as [
  string,
  string,
  string,
];

const home = forEachTest(createHome);

/** How often each of these ids was found: a key that is none of theirs has no name. */
const countsOf = ({ keys }: ReceivedIds, ids: readonly string[]) => {
  const names = new Map(ids.map((id) => [eventKey(id), id]));
  return Object.fromEntries([...keys].map(([key, count]) => [names.get(key) ?? 'unknown', count]));
};

async function readFileOf(content: string | Buffer, field?: string) {
  const file = path.join(home.folder, 'had');
  await writeFile(file, content);
  const reporter = fakeReporter();
  const found = await readReceivedIds(file, field, { context: createContext(), reporter });
  return { found, said: reporter.said };
}

/** Reads standard input that comes in these pieces. */
async function readPieces(pieces: readonly (string | Buffer)[], field?: string) {
  // A stream of objects keeps its pieces apart.
  const stream = Readable.from(pieces.map((piece) => Buffer.from(piece)).filter(({ length }) => length > 0));
  const { stdin, ...context } = createContext();
  const call = {
    context: { ...context, stdin: { ...stdin, stream: () => stream } },
    reporter: fakeReporter(),
  };
  return await readReceivedIds('-', field, call);
}

const list = (...ids: readonly string[]) => ids.map((id) => `${id}\n`).join('');

/** The first and last of the digits and letters, and what comes before and after them in ASCII. */
const WORD_ENDS = [...'09AZaz'];
const MARKS = [...'/:@[`{'];

describe('without a named column', () => {
  test.each<[title: string, content: string | Buffer, counts: Record<string, number>]>([
    ['a list', list(A, B, A), { [A]: 2, [B]: 1 }],
    ['a list that ends without a line end', `${A}\n${B}`, { [A]: 1, [B]: 1 }],
    ['an id alone', A, { [A]: 1 }],
    ['a log', `08:30 id=${A}; ${B}-${C}\n`, { [A]: 1, [B]: 1, [C]: 1 }],
    ['digits in longer words', `${A}0 x${B} ${C}\n${A.replaceAll('-', '')}${B}\n`, { [C]: 1 }],
    ['words that touch an id', WORD_ENDS.map((end) => `${end}${A}\n${A}${end}\n`).join('') + B, { [B]: 1 }],
    ['marks that touch an id', MARKS.map((mark) => `${mark}${A}${mark}\n`).join(''), { [A]: MARKS.length }],
    ['a log that has a list', `x ["${A}"] y\n`, { [A]: 1 }],
    ['a log that ends in a date', `${A} 20261127\n${B} at 2026-11-27`, { [A]: 1, [B]: 1 }],
    ['a JSON array of texts', ` [\n"${A}",\n"${B}"] \n`, { [A]: 1, [B]: 1 }],
    ['a JSON array that ends in spaces', `["${A}"]${' '.repeat(99)}`, { [A]: 1 }],
    [
      'JSON in which one of two members differs',
      `{"a":"${A}","b":"${B}"}\n{"a":"${A}","b":"${C}"}\n`,
      { [B]: 1, [C]: 1 },
    ],
    ['CSV', `eventId,order\n${A},${C}\n{${B}},x\n,x\n${B} (again),x\n`, { [A]: 1, [B]: 2 }],
    ['a quoted cell', `eventId,order\n" ${A} ","x"\n`, { [A]: 1 }],
    ['a cell in which an id is not alone', `eventId,note\n${A},x\nno ${B},y\n${B}f,z\n`, { [A]: 1 }],
    ['gzip', gzipSync(list(A, B)), { [A]: 1, [B]: 1 }],
    ['UTF-16', Buffer.from(`\ufeffeventId,n\r\n${A},x\r\n`, 'utf16le'), { [A]: 1 }],
    ['NDJSON', `{"eventId":"${A}","o":"${C}"}\n{"eventId":"${B}"}\n{"eventId":7}\n{}\n`, { [A]: 1, [B]: 1 }],
    ['a byte order mark before NDJSON', `\ufeff{"eventId":"${A}"}\n`, { [A]: 1 }],
    ['paths with odd names', `{"a.b":{"c":[{"event_id":"${A}"},{"event_id":"${B}"}]}}\n`, { [A]: 1, [B]: 1 }],
  ])('%s', async (_, content, counts) => {
    const { found } = await readFileOf(content);
    expect(countsOf(found, [A, B, C])).toEqual(counts);
  });

  test('names the column that it guessed, and the others', async () => {
    const notice =
      "notice: --received: the ids are those of 'delivery'; --received-field chooses another: order, part";
    const csv = await readFileOf(`order,delivery,part\n${A},${A},${A}\n${A},${B},${A}\n`);
    expect([csv.said, csv.found.column?.name]).toEqual([[notice], 'delivery']);
    const row = (id: string) => JSON.stringify({ order: A, delivery: id, part: A });
    const json = await readFileOf(list(row(A), row(B)));
    expect([json.said, json.found.column?.name]).toEqual([[notice], 'delivery']);
    expect((await readFileOf(`eventId,order\n${A},${B}\n`)).said).toEqual([]);
    expect((await readFileOf(list(A))).found.column).toBeUndefined();
  });
});

describe('with a named column', () => {
  test.each<[title: string, content: string, field: string, counts: Record<string, number>]>([
    ['any text is an id', `eventId,id\n${A},7\n${B},"k 8"\n${C}, 7 \n${C},\n`, 'id', { 7: 2, 'k 8': 1 }],
    [
      'quotes and spaces around an id',
      `id,n\n" 7 ",1\n "7" ,2\nk"8",3\n"5" x,4\n`,
      'id',
      { 7: 2, 'k"8"': 1, '"5" x': 1 },
    ],
    ['GUIDs in any form', `eventId,id\n${A},{${B}}\n${A},${C.toUpperCase()}\n`, 'ID', { [B]: 1, [C]: 1 }],
    ['a GUID with more text is a text', `id,n\n${A} x,1\n${B},2\n`, 'id', { [`${A} x`]: 1, [B]: 1 }],
    ['a table of psql', ` id | n \n----+---\n ${A} | x \n 7 | y \n(2 rows)\n`, 'id', { [A]: 1, 7: 1 }],
    ['a name after a byte order mark', `\ufeff"a\nb",n\n7,1\n${B},2\n`, '1', { 7: 1, [B]: 1 }],
    ['a number', `${A},${B}\n${A},${C}\n`, '2', { [B]: 1, [C]: 1 }],
    ['a path of JSON', `{"a":"${A}","n":{"x":"7"}}\n{"n":{"x":8}}\n{"n":{}}\n`, 'n.x', { 7: 1, 8: 1 }],
    ['a path that the first items lack', `${'{"a":1}\n'.repeat(300)}{"b":"${B}"}\n`, 'b', { [B]: 1 }],
  ])('%s', async (_, content, field, counts) => {
    const { found } = await readFileOf(content, field);
    expect(countsOf(found, [...Object.keys(counts), A, B, C])).toEqual(counts);
  });
});

test('after the first pieces a text has the same ids wherever a piece ends', async () => {
  const text = `x${A} ${A}-${B}\n${C.slice(1)}-${C.replaceAll('-', '').toUpperCase()}-${A}f\n`;
  const pieces = Array.from(text, (_, at) => [text.slice(0, at), text.slice(at)]).flat();
  const found = await readPieces(['eventual words '.repeat(18_000), ...pieces]);
  expect(countsOf(found, [A, B, C])).toEqual({ [A]: text.length, [B]: text.length, [C]: text.length });
});

test('a path of JSON with others that hold GUIDs', async () => {
  const { found } = await readFileOf(`{"a":"${A}","b":"${B}","c":7}\n`, 'a');
  expect(found.column).toEqual({ index: 0, name: 'a', others: ['b'], isGuessed: false });
});

test('the path of the ids in JSON is chosen once', async () => {
  const found = await readPieces([
    `{"order":"${A}"}\n`.repeat(6_000),
    `{"eventId":"${B}"}\n{"order":"${C}"}\n`,
  ]);
  expect(countsOf(found, [A, B, C])).toEqual({ [A]: 6_000, [C]: 1 });
});

test('UTF-16 is read in any pieces', async () => {
  const bytes = Buffer.from(`\ufeff${list(A, B)}`, 'utf16le');
  const found = await readPieces([bytes.subarray(0, 7), bytes.subarray(7)]);
  expect(countsOf(found, [A, B, C])).toEqual({ [A]: 1, [B]: 1 });
});

test('Parquet is read by the column that holds the most GUIDs, or by the named one', async () => {
  const columnData = [
    { name: 'order', data: [A, A, A, 'x', null] },
    { name: 'delivery', data: [B, C, C, 'k 8', null] },
    { name: 'note', data: ['1', '2', '3', '4', '5'] },
  ];
  const content = Buffer.from(parquetWriteBuffer({ columnData }));
  const { found, said } = await readFileOf(content);
  expect(countsOf(found, [A, B, C])).toEqual({ [B]: 1, [C]: 2 });
  expect(said).toHaveLength(1);
  const named = await readFileOf(content, 'delivery');
  expect(countsOf(named.found, [A, B, C, 'k 8'])).toEqual({ [B]: 1, [C]: 2, 'k 8': 1 });
  const none = Buffer.from(parquetWriteBuffer({ columnData: columnData.slice(2) }));
  await expect(readFileOf(none)).rejects.toMatchObject({ name: 'UsageError', next: NO_ID });
});

test.each([
  ['text', list(A, B)],
  ['rows', `eventId,n\n${A},x\n${B},y\n`],
  ['JSON', `{"eventId":"${A}"}\n{"eventId":"${B}"}\n`],
  ['Parquet', Buffer.from(parquetWriteBuffer({ columnData: [{ name: 'eventId', data: [A, B] }] }))],
])('the progress of %s is shown', async (_, content) => {
  const file = path.join(home.folder, 'had');
  await writeFile(file, content);
  const [stdout, stderr] = [fakeOutput(80), fakeOutput(80)];
  let time = 0;
  // Each look at the clock is ten seconds after the one before.
  const clock = clockWith({ now: () => (time += 10_000) });
  const context = createContext({ stdout, stderr, clock, environment: { TERM: 'dumb' } });
  await readReceivedIds(file, undefined, { context, reporter: fakeReporter() });
  expect(stderr.text).toMatch(/^reading ids.*[12] ids$/m);
});

test('rows after the first pieces are read', async () => {
  const rows = `${A},x\n`.repeat(7_000);
  const found = await readPieces(['eventId,note\n', rows, `${B},"`, `y\n",\n${C}`, ',z\n']);
  expect(countsOf(found, [A, B, C])).toEqual({ [A]: 7_000, [B]: 1, [C]: 1 });
  expect(found.name).toBe('standard input');
});

const NO_ID =
  'give a file with GUIDs in it: CSV, JSON, NDJSON, Parquet or any text; --received-field names the column';
const AGAIN = 'create the file again: ids that it lacks would count as missing';

test.each<
  [title: string, content: string | Buffer, field: string | undefined, message: string, next: string]
>([
  ['no id', 'order 7\n', undefined, '--received: FILE holds no event id', NO_ID],
  ['an empty file', '', undefined, '--received: FILE holds no event id', NO_ID],
  ['JSON without an id', '{"a":1}\n', undefined, '--received: FILE holds no event id', NO_ID],
  ['an empty array', '["x"\n', undefined, '--received: FILE holds no event id', NO_ID],
  [
    'an id cut off',
    `${A}\n${B.slice(0, -1)}`,
    undefined,
    '--received: FILE ends in the middle of an id',
    AGAIN,
  ],
  [
    'an id cut off early',
    `${A}\n${B.slice(0, 9)}`,
    undefined,
    '--received: FILE ends in the middle of an id',
    AGAIN,
  ],
  [
    'a list of several lines cut off',
    ` \n[ \n"${A}",\n`,
    undefined,
    '--received: FILE ends in the middle of a list',
    AGAIN,
  ],
  ['a list cut off', `["${A}",\n`, undefined, '--received: FILE ends in the middle of a list', AGAIN],
  [
    'a row cut off',
    `eventId,n\n${A},x\n${B}`,
    undefined,
    '--received: FILE ends in the middle of a row',
    AGAIN,
  ],
  [
    'text with a column named',
    `${A} x\n`,
    'id',
    '--received-field: FILE has no columns',
    'leave it out: each GUID of the text counts',
  ],
  [
    'an empty column',
    `id,n\n${B},\n${A},\n`,
    'n',
    "--received-field: 'n' holds no id in FILE",
    'name a column that holds GUIDs: id',
  ],
  [
    'a path without ids',
    `{"a":"${A}","b":"${B}"}\n`,
    'c',
    "--received-field: 'c' holds no id in FILE",
    'name a column that holds GUIDs: a, b',
  ],
  [
    'a path without values',
    '{"a":1}\n',
    'b',
    "--received-field: 'b' holds no id in FILE",
    'name the column of the ids',
  ],
])('%s is an error', async (_, content, field, message, next) => {
  const file = path.join(home.folder, 'had');
  await expect(readFileOf(content, field)).rejects.toMatchObject({
    name: 'UsageError',
    message: message.replace('FILE', file),
    next,
  });
});

test('a file that is missing, a directory and broken JSON or gzip are errors', async () => {
  const call = { context: createContext(), reporter: fakeReporter() };
  await expect(readReceivedIds('/nowhere/x', undefined, call)).rejects.toMatchObject({
    name: 'UsageError',
    message: "--received: there is no file '/nowhere/x'",
    cause: expect.any(Error),
  });
  const file = path.join(home.folder, 'had');
  await writeFile(file, A);
  await expect(readReceivedIds(path.join(file, 'x'), undefined, call)).rejects.toMatchObject({
    name: 'ServiceError',
    message: expect.stringMatching(/^--received: .*x cannot be read: /),
    cause: expect.any(Error),
  });
  await expect(readPieces(['PAR1....'])).rejects.toMatchObject({
    name: 'UsageError',
    message: '--received: Parquet is read from its end, and cannot come through a pipe',
  });
  await expect(readFileOf(`{"a":"${A}"}\n`, 'a[')).rejects.toMatchObject({
    name: 'UsageError',
    message: expect.stringMatching(/^--received-field: /),
  });
  await expect(readReceivedIds(home.folder, undefined, call)).rejects.toMatchObject({
    name: 'UsageError',
    message: `--received: ${home.folder} is a directory`,
    next: 'name a file, or pipe its files in with -',
  });
  await expect(readFileOf(`{"eventId":"${A}"}\n{"eventId":"`)).rejects.toMatchObject({
    name: 'UsageError',
    message: expect.stringMatching(/^--received: .*line 2: it is cut off/),
    next: 'make the file again',
    cause: expect.any(Error),
  });
  await expect(readFileOf(gzipSync(list(A, B)).subarray(0, -9))).rejects.toMatchObject({
    message: expect.stringContaining('had'),
  });
});
