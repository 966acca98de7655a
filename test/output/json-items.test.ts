import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseFieldPaths } from '../../src/json/item-fields.ts';
import { Items } from '../../src/json/items.ts';
import type { FormatOptions } from '../../src/output/format-flags.ts';
import { createItemWriter } from '../../src/output/formats.ts';
import { jsonText } from '../support/json-text.ts';
import { fakeOutput, fakeReporter, itemContext, pageOf } from '../support/outputs.ts';

async function print(
  format: 'json' | 'ndjson',
  pages: Items[],
  more: Partial<FormatOptions> = {},
  columns?: number,
) {
  const stdout = fakeOutput(columns);
  const options = { format, list: 'events', ...more } as const;
  const writer = await createItemWriter(options, itemContext(stdout), fakeReporter());
  for (const page of pages) await writer.write(page);
  await writer.end();
  return stdout;
}

const items = ['{"id":9007199254740993,"d":1.10,"d":1e400}', '"b\\u0061re"', '-0'];

describe('--ndjson', () => {
  test('prints the exact bytes of each item, one per line', async () => {
    const { text, writes } = await print('ndjson', [pageOf(items), pageOf(['{}'])]);
    expect(text).toBe('{"id":9007199254740993,"d":1.10,"d":1e400}\n"b\\u0061re"\n-0\n{}\n');
    expect(writes).toBe(2);
  });

  test('prints nothing when nothing matched', async () => {
    expect((await print('ndjson', [pageOf([])])).text).toBe('');
  });

  test('prints a last item that ends with its buffer', async () => {
    const page = new Items(Buffer.from('1,2'), [0, 1, 2, 3]);
    expect((await print('ndjson', [page])).text).toBe('1\n2\n');
  });

  test('prints items if others between them were left out', async () => {
    const page = new Items(Buffer.from('1,222,3,4'), [0, 1, 6, 7]);
    expect((await print('ndjson', [page])).text).toBe('1\n3\n');
  });

  test('prints any items unchanged, whatever is between them', async () => {
    const between = fc.constantFrom(',', ' , ', '\n,\n  ');
    await fc.assert(
      fc.asyncProperty(fc.array(jsonText), between, async (texts, separator) => {
        const lines = texts.map((text) => `${text}\n`).join('');
        expect((await print('ndjson', [pageOf(texts, separator)])).text).toBe(lines);
      }),
    );
  });
});

describe('--json', () => {
  test('prints one array with one item per line', async () => {
    const { text, writes } = await print('json', [pageOf(items), pageOf([]), pageOf(['{}'])]);
    expect(text).toBe('[\n{"id":9007199254740993,"d":1.10,"d":1e400},\n"b\\u0061re",\n-0,\n{}\n]\n');
    expect(writes).toBe(3);
  });

  test('prints [] when nothing matched', async () => {
    expect((await print('json', [pageOf([])])).text).toBe('[]\n');
  });

  test('stays valid when the read fails', async () => {
    const stdout = fakeOutput();
    const writer = await createItemWriter(
      { format: 'json', list: 'events' },
      itemContext(stdout),
      fakeReporter(),
    );
    await writer.write(pageOf(['1', '2']));
    await writer.abort();
    expect(stdout.text).toBe('[\n1,\n2\n]\n');
  });

  test('prints any items unchanged', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(jsonText)), async (pages) => {
        const { text } = await print(
          'json',
          pages.map((page) => pageOf(page)),
        );
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
    expect((await print('ndjson', [pageOf([hostile])], {}, 80)).text).toBe(`${shown}\n`);
    expect((await print('json', [pageOf([hostile])], {}, 80)).text).toBe(
      `[\n  {\n    ${shown.slice(1, -1).replace(':', ': ')}\n  }\n]\n`,
    );
    expect(JSON.parse(shown)).toEqual(JSON.parse(hostile));
  });

  test('shows the array indented and coloured, its pages joined', async () => {
    const stdout = fakeOutput(80);
    const options = { format: 'json', list: 'events' } as const;
    const writer = await createItemWriter(options, itemContext(stdout), fakeReporter(1));
    await writer.write(pageOf(['{"publishStatus":"FAILED","n":1.10}', '7']));
    await writer.write(pageOf(['{"a":[]}']));
    await writer.end();
    const [name, failed] = ['\u001b[36m"publishStatus"\u001b[39m', '\u001b[31m"FAILED"\u001b[39m'];
    expect(stdout.text).toBe(
      `[\n  {\n    ${name}: ${failed},\n    \u001b[36m"n"\u001b[39m: \u001b[33m1.10\u001b[39m\n  },\n  \u001b[33m7\u001b[39m,\n` +
        '  {\n    \u001b[36m"a"\u001b[39m: []\n  }\n]\n',
    );
  });

  test('does so with --fields too, names included', async () => {
    const fields = parseFieldPaths('a,\u009bx');
    expect((await print('ndjson', [pageOf([hostile])], { fields }, 80)).text).toBe(
      `${shown.slice(0, -1)},"\\u009bx":null}\n`,
    );
  });

  test('leaves them unchanged in a pipe', async () => {
    expect((await print('ndjson', [pageOf([hostile])])).text).toBe(`${hostile}\n`);
  });
});
