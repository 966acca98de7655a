import { describe, expect, test } from 'vitest';
import { InterruptedError, UsageError } from '../../src/errors.ts';
import type { FormatOptions } from '../../src/formats/format-options.ts';
import { createItemWriter } from '../../src/formats/item-writer.ts';
import { parseFieldPaths } from '../../src/items/field-path.ts';
import { createContext } from '../support/context.ts';
import { fakeOutput, fakeReporter, pageOf, print } from '../support/outputs.ts';

const pages = [
  ['{"id":"one","n":9007199254740993,"tags":["a"]}', '{"id":"  two\\nlines ","n":1.10,"tags":[]}'],
  ['{"id":null,"n":1,"tags":{"x":"\\u001b\u2028"}}'],
];

const jq = async (jq: string, more: Partial<FormatOptions> = {}, width?: number) => {
  const { text, said } = await print(pages, { format: 'json', jq, ...more, width });
  return { text, said };
};

describe('--jq', () => {
  test('runs over the array of all items', async () => {
    expect((await jq('length')).text).toBe('3\n');
    expect((await jq('map(.n)')).text).toBe('[9007199254740993,1.10,1]\n');
    expect((await jq('.[] | .tags')).text).toBe('["a"]\n[]\n{"x":"\\u001b\u2028"}\n');
    expect((await jq('empty')).text).toBe('');
  });

  test('prints strings raw, to the last space', async () => {
    expect((await jq('.[].id')).text).toBe('one\n  two\nlines \nnull\n');
    expect((await jq('"", "", " "')).text).toBe('\n\n \n');
  });

  test('runs on each item with --ndjson', async () => {
    expect((await jq('.n', { format: 'ndjson' })).text).toBe('9007199254740993\n1.10\n1\n');
    expect((await jq('length', { format: 'ndjson' })).text).toBe('3\n3\n3\n');
  });

  test('sees only the fields with --fields', async () => {
    const fields = parseFieldPaths('n,tags.x');
    expect((await jq('.[0]', { fields })).text).toBe('{"n":9007199254740993,"tags.x":null}\n');
  });

  test('indents on a terminal, and escapes control characters', async () => {
    expect((await jq('.[2] | ., .tags.x', {}, 80)).text).toBe(
      '{\n  "id": null,\n  "n": 1,\n  "tags": {\n    "x": "\\u001b\u2028"\n  }\n}\n\\u001b\u2028\n',
    );
  });

  test('accepts a program that begins with a dash', async () => {
    expect((await jq('-1')).text).toBe('-1\n');
  });

  test('passes on the messages of a program', async () => {
    expect(await jq('length | debug')).toEqual({ text: '3\n', said: ['notice: ["DEBUG:",3]'] });
  });

  test('refuses a program that does not compile before anything is read', async () => {
    const refused = jq('.[] | foo(');
    await expect(refused).rejects.toBeInstanceOf(UsageError);
    await expect(refused).rejects.toMatchObject({
      message: "--jq: '.[] | foo(' is not a jq program",
      details: [
        'syntax error, unexpected end of file at <top-level>, line 1, column 10:',
        '    .[] | foo(',
        '             ^',
      ],
    });
  });

  test('says where a program fails on the data', async () => {
    const failed = jq('.[] | .n + .id');
    await expect(failed).rejects.toBeInstanceOf(UsageError);
    await expect(failed).rejects.toThrow(
      '--jq: number (9007199254740993) and string ("one") cannot be added',
    );
  });

  test('an event that jq cannot read is no fault of the command line', async () => {
    const printing = print([[String.raw`{"id":"\ud800"}`]], { format: 'json', jq: '.' });
    await expect(printing).rejects.toMatchObject({
      exitCode: 1,
      message: expect.stringMatching(
        /^--jq: jq cannot read an event: parse error: Invalid .* surrogate pair/,
      ),
      next: '--json prints all events',
    });
  });

  test('prints the results before a failure', async () => {
    const stdout = fakeOutput();
    const options = { format: 'ndjson', jq: '.[0]', list: 'events' } as const;
    const writer = await createItemWriter(options, createContext({ stdout }), fakeReporter());
    await expect(writer.write(pageOf(['[1]', '[2]', '3']))).rejects.toThrow(
      '--jq: Cannot index number with number',
    );
    expect(stdout.text).toBe('1\n2\n');
  });

  test('with --ndjson an item that fails is an error, even if the next one succeeds', async () => {
    const stdout = fakeOutput();
    const reporter = fakeReporter();
    const options = { format: 'ndjson', jq: '.a.b', list: 'events' } as const;
    const writer = await createItemWriter(options, createContext({ stdout }), reporter);
    const items = [
      '{"a":{"b":1}}',
      '{"a":2}',
      '{"a":{"b":3}}',
      ...Array(5).fill('{"a":[]}'),
      '{"a":{"b":9}}',
    ];
    const failure = await writer.write(pageOf(items)).then(
      () => undefined,
      (error) => error,
    );
    expect(stdout.text).toBe('1\n3\n9\n');
    expect(failure).toBeInstanceOf(UsageError);
    expect(failure).toMatchObject({
      message: '--jq: Cannot index number with string ("b")',
      details: ['Cannot index array with string ("b")'],
    });
  });

  test('prints nothing about a part of the array when the read fails', async () => {
    const stdout = fakeOutput();
    const options = { format: 'json', jq: 'length', list: 'events' } as const;
    const writer = await createItemWriter(options, createContext({ stdout }), fakeReporter());
    await writer.write(pageOf(['1']));
    await writer.abort?.();
    expect(stdout.text).toBe('');
  });

  test('ends in the middle of a program when the run is aborted', async () => {
    const run = new AbortController();
    const options = { format: 'ndjson', jq: 'range(1e12)', list: 'events' } as const;
    const writer = await createItemWriter(options, createContext({ signal: run.signal }), fakeReporter());
    const writing = writer.write(pageOf(['1']));
    run.abort(new InterruptedError('SIGINT'));
    await expect(writing).rejects.toBeInstanceOf(InterruptedError);
  });

  test('reports that an array is too large for it', async () => {
    const options = { format: 'json', jq: 'length', list: 'events' } as const;
    const writer = await createItemWriter(options, createContext(), fakeReporter());
    // Each empty object takes some 300 bytes of its memory.
    await writer.write(pageOf([`[${'{},'.repeat(2e6)}{}]`]));
    await expect(writer.end?.()).rejects.toMatchObject({
      message: '--jq: the result is too large for jq to hold as one array',
      next: 'add --ndjson to run the program on each item as it arrives, or narrow the search',
    });
  });
});
