import { describe, expect, test } from 'vitest';
import { EMPTY_LIST, idsOfArguments, idsOfInput } from '../../src/ids/event-ids.ts';

const A = '0f8fad5b-d9cb-469f-a165-70867728950e';
const B = '7c9e6679-7425-40de-944b-e07fc1f90ae7';
const OTHER = '00000000-0000-4000-8000-000000000009';
const LIST = 'give one event id a line, or the output of events search';

interface Read {
  readonly ids: readonly string[];
  readonly isEmpty?: true;
  readonly error?: string;
  readonly next?: string;
}

const faultOf = (error: unknown) => {
  const { message, next } = error as { message: string; next?: unknown };
  return { error: message, ...(next === undefined ? {} : { next: String(next) }) };
};

type Lines = () => AsyncGenerator<string>;

/** Appends the ids to `ids`, which has those before an error then. */
async function readInto(ids: string[], lines: Lines, ending?: AbortSignal, onEmpty?: () => void) {
  const input = { stdin: { lines } } as never;
  for await (const id of idsOfInput(input, ending ?? new AbortController().signal, onEmpty)) ids.push(id);
  return ids;
}

async function read(texts: readonly string[]): Promise<Read> {
  const ids: string[] = [];
  let isEmpty = false;
  const lines = async function* () {
    yield* texts;
  };
  try {
    await readInto(ids, lines, undefined, () => {
      isEmpty = true;
    });
  } catch (error) {
    return { ids, ...faultOf(error) };
  }
  return { ids, ...(isEmpty ? { isEmpty } : {}) };
}

describe('ids on standard input', () => {
  test.each<[string, ...string[]]>([
    ['lines', A, B],
    ['lines after blank ones', '', '  ', A, ' ', B, ''],
    ['lines after a mark', `\ufeff${A}`, B],
    ['JSON strings', `"${A}"`, `"${B}"`],
    [
      'rows of a table without its heading',
      `2026-11-20T08:00:00Z  ${A}  ${OTHER}`,
      `"2026-11-20 08:00",${B}`,
    ],
    ['an array of texts', `["${A}","${B}"]`],
    ['an indented array of texts', '[', `  "${A}",`, `  "${B}"`, ' ] ', ' '],
    ['an indented array of texts after blank lines and a mark', '\ufeff', ' [ ', '', ` "${A}", "${B}"`, ']'],
    ['CSV', `eventId,subscriptionId`, `${A},${OTHER}`, `${B},${OTHER}`],
    ['CSV after a mark', `\ufeffevent_id;x`, `${A};${OTHER}`, `${B};${OTHER}`],
    ['CSV with a quoted comma after a mark', `\ufeff"sum, net",eventId`, `"1,5",${A}`, `"2,5",${B}`],
    ['CSV with a log line in its cells', 'x,eventId', `1,at ${A} of ${OTHER}`, `2,${B}`],
    ['CSV of one column', 'id', A, B],
    ['a table', 'createdOn  eventId  subscriptionId', `2026       ${A}  ${OTHER}`, `2026       ${B}`],
    ['a table whose ids come first', 'eventId  subscriptionId', `${A}  ${OTHER}`, `${B}  ${OTHER}`],
    ['a table with lines between its columns', 'x | eventId', `1 | ${A} | ${OTHER}`, `2 | ${B}`],
    ['a table of groups', 'who  example', `a    ${A}`, `b    ${B}`],
    ['a table whose ids come last', `x${' '.repeat(50)}eventId`, `${OTHER}  ${A}`, `${OTHER}  ${B}`],
    ['objects', `{"eventId":"${A}","related":{"eventId":"${OTHER}"}}`, `{"eventId":"${B}"}`],
    [
      'objects of the published shape',
      `{"eventData":{"eventId":"${A}"}}`,
      `{"eventData":{"eventId":"${B}"}}`,
    ],
    ['objects with a path', `{"data.eventId":"${A}","subscriptionId":"${OTHER}"}`, `{"event_id":"${B}"}`],
    ['groups', `{"groups":[{"example":"${A}","by":{"x":"${OTHER}"}},{"example":"${B}"}]}`],
    ['a page', `{"count":2,"items":[{"eventId":"${A}"},"${OTHER}",{"eventId":"${B}"}]}`],
    ['what find printed', `[{"item":{"eventId":"${A}"}},`, `{"item":{"eventId":"${B}"}}]`],
    ['an id with a text around it', `{"eventId":"${A} of ${OTHER}"}`, `{"eventId":"${B}"}`],
  ])('are read from %s', async (_, ...lines) => expect(await read(lines)).toEqual({ ids: [A, B] }));

  test.each<[string, ...string[]]>([
    ['nothing'],
    ['blank lines', '', ' \t '],
    ['an empty array', '[]'],
    ['an empty array of arrays', '[ [ ] , [] ]'],
    ['an empty array in lines', '', '[', '', ']', ''],
    ['CSV without rows', 'eventId,subscriptionId'],
    ['CSV without rows after blank lines', '', 'eventId,subscriptionId', ''],
    ['a table without rows', 'createdOn  eventId'],
    ['a mark', '\ufeff'],
  ])('are none in %s', async (_, ...lines) => expect(await read(lines)).toEqual({ ids: [], isEmpty: true }));

  const NO_ID = 'standard input holds no event id';
  test.each<[string, string, ...string[]]>([
    ['CSV without an id', NO_ID, 'eventId,x', ',1', 'none,2'],
    ['a table without an id', NO_ID, 'createdOn  eventId', '2026'],
    ['an object without an id', NO_ID, `{"subscriptionId":"${OTHER}"}`],
    ['texts without an id', NO_ID, '["x"]'],
    ['texts without an id in lines', NO_ID, '[', '"x"', ']'],
    ['blank lines, and an array without an id', NO_ID, '', '["x"]'],
    ['an array that ends early', 'standard input: the array is not closed', '[', '"x",', ''],
    ['an object that ends early', 'standard input, line 1: it is cut off', `{"eventId":`],
    [
      'two ids a line',
      `standard input, line 2: '${A} ${OTHER.slice(0, 23)}…' holds 2 GUIDs: ${A}, ${OTHER}`,
      '',
      `  ${A} ${OTHER}`,
    ],
    [
      'a time that is not at the start, and two ids',
      `standard input, line 1: 'at 2026-11-20 ${A} ${OTHER.slice(0, 9)}…' holds 2 GUIDs: ${A}, ${OTHER}`,
      `at 2026-11-20 ${A} ${OTHER}`,
    ],
    [
      'a table of Markdown',
      `standard input, line 1: '| eventId |' is not a GUID such as ${A}`,
      '  | eventId |',
      `| ${A} |`,
    ],
    ['a word', `standard input, line 1: 'none' is not a GUID such as ${A}`, ' none '],
  ])('are an error for %s', async (_, error, ...lines) =>
    expect(await read(lines)).toEqual({ ids: [], error, next: LIST }),
  );

  test('are an error for CSV that ends in a cell', async () => {
    const error = 'standard input, line 3: the CSV ends within a cell';
    expect(await read(['eventId,x', ',"1', '2'])).toEqual({ ids: [], error });
  });

  test('are an error for an array that ends after some', async () => {
    expect(await read([`["${A}",`, `"${B}"`])).toEqual({
      ids: [A, B],
      error: 'standard input: the array is not closed',
      next: LIST,
    });
  });

  test('are an error for a word after a line with an id', async () => {
    const error = `standard input, line 2: 'none' is not a GUID such as ${A}`;
    expect(await read([`eventId ${A}`, 'none'])).toEqual({ ids: [A], error, next: LIST });
  });

  test('of which one is cut, are looked for', async () => {
    expect(await read([A, ' 0f8fad5b-d9cb '])).toEqual({
      ids: [A],
      error: `standard input, line 2: '0f8fad5b-d9cb' is not a GUID such as ${A}`,
      next: expect.stringMatching(/events search --grep 0f8fad5b-d9cb. finds an event by part of its id/),
    });
  });

  test('are an error for none, if that has no meaning', async () => {
    await expect(readInto([], async function* () {})).rejects.toThrow(
      expect.objectContaining({
        message: 'an event id is missing',
        next: 'give one or more ids, or - to read them from standard input: one a line, or the output of events search',
      }),
    );
    expect(EMPTY_LIST).toBe('standard input holds no event id: there is nothing to do');
  });

  test.each([`{"eventId":"${A}"}`, A])(
    'end where reading is stopped, and fail where it fails: %s',
    async (line) => {
      const fault = new Error('read EIO');
      const ending = new AbortController();
      const failing = async function* () {
        yield line;
        throw fault;
      };
      await expect(readInto([], failing, ending.signal)).rejects.toBe(fault);
      const stopping = async function* () {
        yield line;
        ending.abort();
        throw fault;
      };
      expect(await readInto([], stopping, ending.signal)).toEqual([A]);
      expect(await readInto([], async function* () {}, ending.signal)).toEqual([]);
    },
  );
});

describe('ids as arguments', () => {
  test.each([
    [[A, B]],
    [[`${A},${B}`]],
    [[`${A},${B},  `]],
    [[` ${A} , {${B}}`]],
    [[`urn:uuid:${A},`, `"${B}"`]],
  ])('are %j', (args) => expect(idsOfArguments(args)).toEqual([A, B]));

  test.each<[string, readonly string[], string, string?]>([
    ['-', [A, '-'], '<eventId>: - reads all ids from standard input: give only -, or only ids'],
    ['- with spaces', [' - ', A], '<eventId>: - reads all ids from standard input: give only -, or only ids'],
    ['a word', [A, 'none'], `<eventId>: 'none' is not a GUID such as ${A}`],
    [
      'nothing between commas',
      [`${A},,${B}`],
      `<eventId>: '${A},,${B.slice(0, 22)}…' holds 2 GUIDs: ${A}, ${B}`,
    ],
    ['two without a comma', [`${A} ${B}`], `<eventId>: '${A} ${B.slice(0, 23)}…' holds 2 GUIDs: ${A}, ${B}`],
    [
      'a part of one',
      ['0f8fad5b-d9cb'],
      `<eventId>: '0f8fad5b-d9cb' is not a GUID such as ${A}`,
      'hooktrail events search --grep 0f8fad5b-d9cb --from day.ndjson',
    ],
  ])('are not %s', (_, args, error, next) => {
    let fault: object = {};
    try {
      idsOfArguments(args, 'day.ndjson');
    } catch (caught) {
      fault = faultOf(caught);
    }
    expect(fault).toEqual({ error, ...(next === undefined ? {} : { next: expect.stringContaining(next) }) });
  });
});
