import { describe, expect, test } from 'vitest';
import { emptyMemory } from '../../src/context.ts';
import type { FormatOptions } from '../../src/formats/format-options.ts';
import { createItemWriter, printItem, printJson } from '../../src/formats/item-writer.ts';
import { parseFieldPaths } from '../../src/items/field-path.ts';
import { Items } from '../../src/items/items.ts';
import { TimeZone } from '../../src/time/time-zone.ts';
import { createContext } from '../support/context.ts';
import { fakeOutput, fakeReporter, pageOf, print, reporterTo } from '../support/outputs.ts';

/** What jq is given, with the flags: it answers with the number of bytes. */
function contextWithJq(width?: number) {
  const given: (readonly [input: string, ...flags: string[]])[] = [];
  const run = async (input: string, flags: readonly string[]) => {
    given.push([input, ...flags]);
    return { stdout: `${input.length}`, stderr: '', exitCode: 0 };
  };
  const jq = Promise.resolve({ run, end: async () => {} });
  const stdout = fakeOutput(width);
  return { context: createContext({ stdout, memory: { ...emptyMemory(), jq } }), stdout, given };
}

describe('items', () => {
  const page = ['{"a":1,"b":"x"}', '{"a":2}'];
  const text = async (options: Partial<FormatOptions>, width?: number) =>
    (await print([page], { ...options, width })).text;

  test.each([
    ['table', 'a  b\n1  x\n2  -\n'],
    ['json', '[\n{"a":1,"b":"x"},\n{"a":2}\n]\n'],
    ['ndjson', '{"a":1,"b":"x"}\n{"a":2}\n'],
    ['csv', 'a,b\r\n1,x\r\n2,\r\n'],
    ['markdown', '| a | b |\n| ---: | --- |\n| 1 | x |\n| 2 | - |\n'],
    ['pretty', '{\n  "a": 1,\n  "b": "x"\n}\n{\n  "a": 2\n}\n'],
  ] as const)('are written as %s', async (format, expected) => {
    expect(await text({ format })).toBe(expected);
  });

  test.each(['json', 'pretty'] as const)('are coloured in %s', async (format) => {
    expect((await print([page], { format, color: 1, width: 80 })).text).toContain('\u001b[');
    expect((await print([page], { format, width: 80 })).text).not.toContain('\u001b[');
  });

  test('go through jq one by one as lines, or all as one array', async () => {
    for (const [format, given] of [
      ['ndjson', ['{"a":1,"b":"x"}\n{"a":2}\n']],
      ['json', ['[{"a":1,"b":"x"},{"a":2}]']],
      ['table', ['[{"a":1,"b":"x"},{"a":2}]']],
    ] as const) {
      const { context, stdout, given: inputs } = contextWithJq();
      const options = { format, list: 'events', jq: '.' } as const;
      const writer = await createItemWriter(options, context, fakeReporter());
      await writer.write(pageOf(page));
      await writer.end?.();
      expect(inputs).toEqual(given.map((input) => [input, '--compact-output', '--']));
      expect(stdout.text).toBe(given.map((input) => `${input.length}\n`).join(''));
    }
  });

  test('have only the fields of --fields, in the zone, and for jq too', async () => {
    const item = '{"createdOn":"2026-11-01T06:58:12Z","a":1}';
    const fields = parseFieldPaths('createdOn:hour');
    const zone = new TimeZone('Europe/Berlin');
    expect((await print([[item]], { format: 'json', fields, zone })).text).toBe(
      '[\n{"createdOn:hour":7}\n]\n',
    );
    const { context, given } = contextWithJq();
    const options = { format: 'json', list: 'events', jq: '.', fields, zone } as const;
    const writer = await createItemWriter(options, context, fakeReporter());
    await writer.write(pageOf([item]));
    await writer.end?.();
    expect(given).toEqual([['[{"createdOn:hour":7}]', '--compact-output', '--']]);
  });

  test('are cut off well after a failed read', async () => {
    for (const fields of [undefined, parseFieldPaths('a')]) {
      const stdout = fakeOutput();
      const options = { format: 'json', list: 'events', fields } as const;
      const writer = await createItemWriter(options, createContext({ stdout }), fakeReporter());
      await writer.write(pageOf(page.slice(0, 1)));
      await writer.abort?.();
      expect(JSON.parse(stdout.text)).toEqual([fields ? { a: 1 } : { a: 1, b: 'x' }]);
    }
  });

  test('that are all known share a day in the title of a table', async () => {
    const times = ['06', '07'].map(
      (hour) => `{"createdOn":"2026-11-01T${hour}:00:00Z","eventType":"${'x'.repeat(30)}"}`,
    );
    for (const fields of [undefined, parseFieldPaths('createdOn,eventType')]) {
      const { text: known } = await print([times], { width: 44, isLast: true, fields });
      expect(known).toMatch(/^2026-11-01 /);
      expect((await print([times], { width: 44, fields })).text).toMatch(/^createdOn /);
    }
  });
});

describe('a field of --fields that no item has', () => {
  const warned = async (pages: string[][], options: Partial<FormatOptions> = {}) => {
    const said: string[] = [];
    const given: FormatOptions = {
      format: 'json',
      list: 'events',
      fields: parseFieldPaths('a,colour'),
      ...options,
    };
    const context = createContext();
    const writer = await createItemWriter(
      given,
      context,
      reporterTo((line) => said.push(line)),
    );
    for (const page of pages) await writer.write(pageOf(page));
    expect(said).toEqual([]);
    await writer.end?.();
    return said;
  };

  test('is warned of at the end', async () => {
    expect(await warned([['{"a":1,"color":2}'], ['{"a":1}']])).toEqual([
      "usage: --fields: no event has the field 'colour'; did you mean color?",
    ]);
    expect(await warned([['{}'], []], { fields: parseFieldPaths('x,y') })).toEqual([
      "usage: --fields: no event has the field 'x'",
      "usage: --fields: no event has the field 'y'",
    ]);
    expect(await warned([['{"a":1}']], { list: 'event-types' })).toEqual([
      "usage: --fields: no event type has the field 'colour'",
    ]);
  });

  test('is not if an item of a later page has it, nor without items, nor of saved columns', async () => {
    expect(await warned([['{"a":1}', '{"a":1}'], ['{}', '{"colour":null}'], ['{}']])).toEqual([]);
    expect(await warned([[], []])).toEqual([]);
    expect(await warned([['{"b":1}']], { areFieldsSaved: true })).toEqual([]);
  });
});

describe('fields of later pages that have no column', () => {
  const warned = async (...pages: string[][]) => {
    const said: string[] = [];
    const options = { format: 'table', list: 'events' } as const;
    const context = createContext();
    const writer = await createItemWriter(
      options,
      context,
      reporterTo((line) => said.push(line)),
    );
    for (const page of pages) await writer.write(pageOf(page));
    const before = said.splice(0);
    await writer.end?.();
    return { before, after: said };
  };
  const first = (name: string) =>
    `incomplete: a later page has ${name}, which the first did not: it has no column; name the columns with --fields`;

  test('are warned of at once, and the others at the end', async () => {
    expect(await warned(['{"a":1}'], ['{"b":1}'])).toEqual({ before: [first('"b"')], after: [] });
    expect(await warned(['{"a":1}'], ['{"b":1}'], ['{"c":1,"b":2}', '{"d":1}'])).toEqual({
      before: [first('"b"')],
      after: ['incomplete: later pages also have "c", "d": they have no columns either'],
    });
  });

  test('are named up to twenty', async () => {
    const pages = (count: number) =>
      Array.from({ length: count }, (_, index) => [`{"f${index}":1}`, '{"f0":1}']);
    const names = (count: number) =>
      Array.from({ length: count }, (_, index) => `"f${index + 1}"`).join(', ');
    const of = async (count: number) => (await warned(['{"a":1}'], ...pages(count))).after;
    expect(await of(20)).toEqual([
      `incomplete: later pages also have ${names(19)}: they have no columns either`,
    ]);
    expect(await of(23)).toEqual([
      `incomplete: later pages also have ${names(19)}, others: they have no columns either`,
    ]);
  });
});

describe('one value as JSON', () => {
  const printed = async (value: unknown, width?: number, piped?: string) => {
    const stdout = fakeOutput(width);
    await printJson(value, undefined, createContext({ stdout }), fakeReporter(), piped);
    return stdout.text;
  };

  test('is on one line in a pipe if it is flat', async () => {
    expect(await printed({ a: 1, b: null, c: 'd' })).toBe('{"a":1,"b":null,"c":"d"}\n');
    expect(await printed([1, null])).toBe('[1,null]\n');
    expect(await printed({ a: 1, b: { c: null } })).toBe('{\n  "a": 1,\n  "b": {\n    "c": null\n  }\n}\n');
    expect(await printed({ a: [], b: 1 })).toBe('{\n  "a": [],\n  "b": 1\n}\n');
    expect(await printed({ a: 1 }, undefined, 'as given')).toBe('as given\n');
  });

  test('is indented on a terminal, without what acts on it', async () => {
    expect(await printed({ a: 1, b: '\u009b' }, 80, 'as given')).toBe('{\n  "a": 1,\n  "b": "\\u009b"\n}\n');
  });

  test('is coloured if its reporter is', async () => {
    const stdout = fakeOutput(80);
    await printJson({ a: 1 }, undefined, createContext({ stdout }), fakeReporter(1));
    expect(stdout.text).toContain('\u001b[');
  });

  test.each([undefined, 80])('goes through jq, in %s columns', async (width) => {
    const { context, stdout, given } = contextWithJq(width);
    await printJson({ a: 1 }, '.', context, fakeReporter());
    expect(given).toEqual([['{"a":1}\n', ...(width === undefined ? ['--compact-output'] : []), '--']]);
    expect(stdout.text).toBe('8\n');
  });

  test('may be given as bytes, which a pipe gets as they are', async () => {
    const stdout = fakeOutput();
    const bytes = Buffer.from('{ "a": 1.10 }');
    const items = Items.of([Buffer.from('{"a":1.10}')]);
    await printItem(items, undefined, createContext({ stdout }), fakeReporter(), bytes);
    expect(stdout.text).toBe('{ "a": 1.10 }');
  });
});
