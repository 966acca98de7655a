import { describe, expect, test } from 'vitest';
import { markdownNote, markdownTable } from '../../src/formats/markdown.ts';
import { parseFieldPaths } from '../../src/items/field-path.ts';
import { print } from '../support/outputs.ts';

const note = async (count: number) => ({
  facts: [`${count} events`, 'created after 2026-11-01T00:00:00Z', "--type 'order.*'"],
  command: "hooktrail events search --type 'order.*' -o markdown",
});

const markdown = async (pages: string[][], width?: number) => {
  const { text, said } = await print(pages, { format: 'markdown', note, width });
  return { text, said };
};

describe('a table in Markdown', () => {
  test('has whole ids, and below it what it is about and the command, on a terminal too', async () => {
    const event = (id: string) =>
      `{"createdOn":"2026-11-01T06:58:12.345Z","publishStatus":"FAILED","eventId":"${id}a0a6b7c-1d2e-4f30-8a9b-0c1d2e3f4a5b","lastError":{"httpStatus":503,"message":"no | way"}}`;
    for (const columns of [undefined, 40])
      expect(await markdown([[event('1')], [event('2')]], columns)).toEqual({
        text: [
          '| createdOn | publishStatus | eventId | error |',
          '| --- | --- | --- | --- |',
          '| 2026-11-01T06:58:12.345Z | FAILED | 1a0a6b7c-1d2e-4f30-8a9b-0c1d2e3f4a5b | 503 no \\| way |',
          '| 2026-11-01T06:58:12.345Z | FAILED | 2a0a6b7c-1d2e-4f30-8a9b-0c1d2e3f4a5b | 503 no \\| way |',
          '',
          "*2 events; created after 2026-11-01T00:00:00Z; --type 'order.\\*': `hooktrail events search --type 'order.*' -o markdown`*",
          '',
        ].join('\n'),
        said: [],
      });
  });

  test('is the line alone where nothing matches', async () => {
    expect((await markdown([])).text).toBe(
      "*0 events; created after 2026-11-01T00:00:00Z; --type 'order.\\*': `hooktrail events search --type 'order.*' -o markdown`*\n",
    );
  });

  test('keeps each row on its line and makes what would act inert', async () => {
    const item = JSON.stringify({ eventType: 'a\n|`b`\\ <img> ![x](y)\u001b[2J\u202e', eventId: 'e' });
    expect((await markdown([[item]])).text.split('\n')[2]).toBe(
      '| a\\\\u000a\\|\\`b\\`\\\\ \\<img> !\\[x\\](y)\\\\u001b\\[2J\\\\u202e | e |',
    );
  });

  test.each([
    ['4242-****-****-1881', '4242-\\*\\*\\*\\*-\\*\\*\\*\\*-1881'],
    ['a***b***@example.com', 'a\\*\\*\\*b\\*\\*\\*@example.com'],
    ['_first_ ~~gone~~', '\\_first\\_ \\~\\~gone\\~\\~'],
    ['see https://example.com/a_b_c', 'see https://example.com/a_b_c'],
  ])('has %s as it is', async (text, written) => {
    const item = JSON.stringify({ eventType: text, eventId: 'e' });
    expect((await markdown([[item]])).text.split('\n')[2]).toBe(`| ${written} | e |`);
  });

  test('shows the entities of HTML as they are', async () => {
    const item = JSON.stringify({ eventType: '&lt;b&gt; &#60; AT&T &copy', eventId: 'e' });
    expect((await markdown([[item]])).text.split('\n')[2]).toBe('| \\&lt;b\\&gt; \\&#60; AT&T &copy | e |');
  });

  test('aligns numbers to the right and leaves bars out', () => {
    const heads = [{ title: 'type' }, { title: 'failed' }, { title: '0 to 5 %', kind: 'bar' as const }];
    expect(
      markdownTable({ heads, rows: [['order.created', '1,200', { share: 1, draw: () => '███' }]] }),
    ).toBe('| type | failed |\n| --- | ---: |\n| order.created | 1,200 |\n');
  });

  // Nothing in this file loads the library for widths, as nothing does where Markdown is all that is printed.
  test.each(['😀', '👩‍👩‍👧‍👦', 'שלום', 'مرحبا', 'नमस्ते', 'cafe\u0301', 'ＡＢＣ'])(
    'has %s in its cells and titles',
    async (text) => {
      const item = JSON.stringify({ eventType: text, [text]: text });
      const { text: printed } = await print([[item]], {
        format: 'markdown',
        fields: parseFieldPaths(`eventType,${text}`),
      });
      expect(printed).toBe(`| eventType | ${text} |\n| --- | --- |\n| ${text} | ${text} |\n`);
    },
  );

  test('a command with backticks stays one span of code', () => {
    expect(markdownNote({ facts: ['1 event'], command: "hooktrail events search --grep '`a``b'" })).toBe(
      "*1 event: ```hooktrail events search --grep '`a``b'```*\n",
    );
  });
});
