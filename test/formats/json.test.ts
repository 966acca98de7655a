import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createItemWriter } from '../../src/formats/item-writer.ts';
import { createPicker, prettyJson } from '../../src/formats/json.ts';
import { type FieldPath, parseFieldPaths } from '../../src/items/field-path.ts';
import { Items } from '../../src/items/items.ts';
import { type Palette, plain } from '../../src/terminal/palette.ts';
import { UTC } from '../../src/time/time-zone.ts';
import { createContext } from '../support/context.ts';
import { fakeOutput, fakeReporter, pageOf, print } from '../support/outputs.ts';
import { sampleSize } from '../support/seed.ts';
import { jsonNames, jsonText } from './json-text.ts';

const items = ['{"id":9007199254740993,"d":1.10,"d":1e400}', '"b\\u0061re"', '-0'];

describe('--ndjson', () => {
  test('prints the exact bytes of each item, one per line', async () => {
    const { text, writes } = await print([items, ['{}']], { format: 'ndjson' });
    expect(text).toBe('{"id":9007199254740993,"d":1.10,"d":1e400}\n"b\\u0061re"\n-0\n{}\n');
    expect(writes).toBe(2);
  });

  test('prints a last item that ends with its buffer', async () => {
    const page = new Items(Buffer.from('1,2'), [0, 1, 2, 3]);
    expect((await print([page], { format: 'ndjson' })).text).toBe('1\n2\n');
  });

  test('prints items if others between them were left out', async () => {
    const page = new Items(Buffer.from('1,222,3,4'), [0, 1, 6, 7]);
    expect((await print([page], { format: 'ndjson' })).text).toBe('1\n3\n');
  });

  test('prints any items unchanged, whatever is between them', async () => {
    const between = fc.constantFrom(',', ' , ', '\n,\n  ');
    await fc.assert(
      fc.asyncProperty(fc.array(jsonText), between, async (texts, separator) => {
        const lines = texts.map((text) => `${text}\n`).join('');
        expect((await print([pageOf(texts, separator)], { format: 'ndjson' })).text).toBe(lines);
      }),
    );
  });
});

describe('--json', () => {
  test('prints one array with one item per line', async () => {
    const { text, writes } = await print([items, [], ['{}']], { format: 'json' });
    expect(text).toBe('[\n{"id":9007199254740993,"d":1.10,"d":1e400},\n"b\\u0061re",\n-0,\n{}\n]\n');
    expect(writes).toBe(3);
  });

  test('prints an empty array if nothing matches', async () => {
    expect((await print([[]], { format: 'json' })).text).toBe('[]\n');
  });

  test('stays valid when the read fails', async () => {
    const stdout = fakeOutput();
    const writer = await createItemWriter(
      { format: 'json', list: 'events' },
      createContext({ stdout }),
      fakeReporter(),
    );
    await writer.write(pageOf(['1', '2']));
    await writer.abort?.();
    expect(stdout.text).toBe('[\n1,\n2\n]\n');
  });

  test('prints any items unchanged', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(jsonText)), async (pages) => {
        const { text } = await print(pages, { format: 'json' });
        const all = pages.flat();
        expect(text).toBe(all.length === 0 ? '[]\n' : `[\n${all.join(',\n')}\n]\n`);
      }),
    );
  });
});

describe('on a terminal', () => {
  const hostile = '{"a":"\u007f\u0085\u009b31m\u202e\u2066\u061c\\u001b[31m \\"\u00e4田"}';
  const shown = '{"a":"\\u007f\\u0085\\u009b31m\\u202e\\u2066\\u061c\\u001b[31m \\"ä田"}';

  test('shows control characters as escapes with the same meaning', async () => {
    expect((await print([[hostile]], { format: 'ndjson', width: 80 })).text).toBe(`${shown}\n`);
    expect((await print([[hostile]], { format: 'json', width: 80 })).text).toBe(
      `[\n  {\n    ${shown.slice(1, -1).replace(':', ': ')}\n  }\n]\n`,
    );
    expect(JSON.parse(shown)).toEqual(JSON.parse(hostile));
  });

  test('shows the array indented and coloured, its pages joined', async () => {
    const pages = [['{"publishStatus":"FAILED","n":1.10}', '7'], ['{"a":[]}']];
    const stdout = await print(pages, { format: 'json', width: 80, color: 1 });
    const [name, failed] = ['\u001b[36m"publishStatus"\u001b[39m', '\u001b[31m"FAILED"\u001b[39m'];
    expect(stdout.text).toBe(
      `[\n  {\n    ${name}: ${failed},\n    \u001b[36m"n"\u001b[39m: \u001b[35m1.10\u001b[39m\n  },\n  \u001b[35m7\u001b[39m,\n` +
        '  {\n    \u001b[36m"a"\u001b[39m: []\n  }\n]\n',
    );
  });

  test('does so with --fields too, names included', async () => {
    const fields = parseFieldPaths('a,\u009bx');
    expect((await print([[hostile]], { format: 'ndjson', fields, width: 80 })).text).toBe(
      `${shown.slice(0, -1)},"\\u009bx":null}\n`,
    );
  });

  test('leaves them unchanged in a pipe', async () => {
    expect((await print([[hostile]], { format: 'ndjson' })).text).toBe(`${hostile}\n`);
  });
});

const pretty = (json: string, palette: Palette = plain) => {
  const bytes = Buffer.from(json);
  return prettyJson(bytes, 0, bytes.length, palette);
};

describe('pretty JSON', () => {
  test('has one member per line and keeps every token unchanged', () => {
    const json =
      '{"n":9007199254740993,"d":1.10,"e":[1e400,-0,{}],"b":1,"b":[],"s":"\\u00e9 {,}\\"","z":null}';
    expect(pretty(json)).toBe(
      [
        '{',
        '  "n": 9007199254740993,',
        '  "d": 1.10,',
        '  "e": [',
        '    1e400,',
        '    -0,',
        '    {}',
        '  ],',
        '  "b": 1,',
        '  "b": [],',
        '  "s": "\\u00e9 {,}\\"",',
        '  "z": null',
        '}',
      ].join('\n'),
    );
  });

  test('looks like the output of JSON.stringify, for every value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: fc.stringMatching(/^[ -~à-ÿ]$/) }), (value) => {
        const json = JSON.stringify(value);
        expect(pretty(json)).toBe(JSON.stringify(JSON.parse(json), undefined, 2));
      }),
    );
  });

  test('characters that act on a terminal become escapes that mean the same', () => {
    const json = '{"a\u009b":"\u007f\u202e\u200f"}';
    expect(pretty(json)).toBe('{\n  "a\\u009b": "\\u007f\\u202e\\u200f"\n}');
    expect(JSON.parse(pretty(json))).toEqual(JSON.parse(json));
  });

  test('a hostile depth neither overflows nor explodes', () => {
    const depth = 20_000;
    expect(pretty('['.repeat(depth) + ']'.repeat(depth)).length).toBeLessThan(200 * depth);
  });

  test('each item is printed by itself, one after the other', async () => {
    const { text, writes } = await print([['{"a":[1]}', '7'], ['null']], { format: 'pretty' });
    expect([text, writes]).toEqual(['{\n  "a": [\n    1\n  ]\n}\n7\nnull\n', 3]);
  });

  test('numbers have another colour than words', () => {
    const marked: Palette = { ...plain, dim: (text) => `<${text}>`, caution: (text) => `_${text}_` };
    expect(pretty('[1e400,-0,null,true]', marked)).toBe('[\n  _1e400_,\n  _-0_,\n  <null>,\n  <true>\n]');
  });

  test('a status has the colour of its meaning', () => {
    const marked: Palette = { ...plain, bad: (text) => `<${text}>`, accent: (text) => `_${text}_` };
    expect(pretty('{"publishStatus":"FAILED"}', marked)).toBe('{\n  _"publishStatus"_: <"FAILED">\n}');
  });
});

const texts = (items: Items) => items.texts().map(String);
const pick = (fields: string, ...items: string[]) =>
  texts(createPicker(parseFieldPaths(fields), UTC)(pageOf(items)));

describe('picking fields', () => {
  test('keeps the exact text of a value, in the order of the fields', () => {
    const item = '{"n":9007199254740993,"d":1.10,"e":1e400,"s":"\\u0041\\/","o":{"x":[1,{"y":-0}]}}';
    expect(pick('s,e,d,n,o', item)).toEqual([
      '{"s":"\\u0041\\/","e":1e400,"d":1.10,"n":9007199254740993,"o":{"x":[1,{"y":-0}]}}',
    ]);
    expect(pick('o.x.1.y,o.x', item)).toEqual(['{"o.x.1.y":-0,"o.x":[1,{"y":-0}]}']);
  });

  test('gives null for a missing member', () => {
    expect(pick('a,b.c,d.0', '{"a":{}}', '"text"', '7', '{"b":[1],"d":{"0":true}}', '{}', '[]')).toEqual([
      '{"a":{},"b.c":null,"d.0":null}',
      '{"a":null,"b.c":null,"d.0":null}',
      '{"a":null,"b.c":null,"d.0":null}',
      '{"a":null,"b.c":null,"d.0":true}',
      '{"a":null,"b.c":null,"d.0":null}',
      '{"a":null,"b.c":null,"d.0":null}',
    ]);
  });

  test('uses the last of several members with the same name, with all its content', () => {
    expect(pick('a,a.b', '{"a":{"b":1},"\\u0061":{"c":2}}')).toEqual(['{"a":{"c":2},"a.b":null}']);
  });

  test('names members as typed', () => {
    expect(pick('a\\.b', '{"a.b":1}')).toEqual(['{"a\\\\.b":1}']);
  });

  test('handles results that are larger than their page', () => {
    const item = `{"a":{"b":{"c":"${'x'.repeat(1000)}"}}}`;
    const [picked] = pick('a,a.b,a.b.c', item);
    expect(picked?.length).toBeGreaterThan(3000);
    expect(JSON.parse(picked as string)['a.b.c']).toHaveLength(1000);
  });

  test('finds the same as JSON.parse in any JSON', () => {
    const path: fc.Arbitrary<FieldPath> = fc
      .array(fc.constantFrom(...jsonNames, '2'), { minLength: 1, maxLength: 4 })
      .map((steps) => ({ text: JSON.stringify(steps), steps }));
    const paths = fc.uniqueArray(path, { minLength: 1, maxLength: 6, selector: ({ text }) => text });
    fc.assert(
      fc.property(fc.array(jsonText, { minLength: 1, maxLength: 4 }), paths, (items, fields) => {
        const picked = texts(createPicker(fields, UTC)(pageOf(items)));
        const expected = items.map((item) => fields.map(({ steps }) => reference(JSON.parse(item), steps)));
        const names = fields.map(({ text }) => text);
        expect(picked.map((text) => Object.keys(JSON.parse(text)))).toEqual(items.map(() => names));
        expect(picked.map((text) => Object.values(JSON.parse(text)))).toEqual(expected);
      }),
      { numRuns: sampleSize(50, 500) },
    );
  });
});

function reference(value: unknown, steps: readonly string[]): unknown {
  return steps.reduce((current, step) => {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, step)) return null;
    if (Array.isArray(current) && !/^\d+$/.test(step)) return null;
    return (current as Record<string, unknown>)[step] ?? null;
  }, value);
}
