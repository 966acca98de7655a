import Table from 'cli-table3';
import stringWidth from 'string-width';
import { describe, expect, test } from 'vitest';
import { renderTable, tableDrawing } from '../../src/output/table-drawing.ts';
import { loadWidths } from '../../src/terminal/cell-width.ts';
import { fakeOutput, fakeReporter } from '../support/outputs.ts';

const header = ['', 'profile', 'event service'];
const rows = [
  ['*', 'default', 'https://events.example.com/v1'],
  ['', 'evil\u001b[2J\n', 'http://127.0.0.1:9000'],
];

describe('a small table', () => {
  test('is aligned, whole and inert in a pipe', async () => {
    expect(await renderTable(header, rows, fakeOutput(), fakeReporter())).toBe(
      [
        '   profile              event service',
        '*  default              https://events.example.com/v1',
        '   evil\\u001b[2J\\u000a  http://127.0.0.1:9000',
        '',
      ].join('\n'),
    );
  });

  test('fits a terminal and has no control characters', async () => {
    expect(await renderTable(header, rows, fakeOutput(40), fakeReporter(1))).toBe(
      [
        '   \u001b[1mprofile\u001b[22m            \u001b[1mevent service\u001b[22m',
        '*  default            https://events.exa',
        '                      mple.com/v1',
        '   evil\\u001b[2J\\u00  http://127.0.0.1:9',
        '   0a                 000',
        '',
      ].join('\n'),
    );
  });
});

// As soon as the library draws these well, `MEASURED_ALIKE` and `drawnByOurselves` can go.
describe('text that cli-table3 measures or cuts wrongly', () => {
  const texts = [
    { text: 'हिन्दी', width: 9, library: 'हिन्दी     1', ours: 'हिन्दी       1' },
    { text: 'ก็', width: 9, library: 'ก็         1', ours: 'ก็          1' },
    { text: 'x👩‍👩‍👧y', width: 3, library: 'x\ud83d…  1', ours: 'x…   1' },
  ];

  test.each(texts)('$text in $width columns', async ({ text, width, library, ours }) => {
    const borders = ['top', 'bottom', 'left', 'right', 'mid'].flatMap((side) =>
      ['', '-mid', '-left', '-right'].map((end) => [`${side}${end}`, '']),
    );
    const table = new Table({
      chars: { ...Object.fromEntries(borders), middle: '  ' },
      colWidths: [width, 1],
      style: { 'padding-left': 0, 'padding-right': 0, head: [], border: [] },
    });
    table.push([text, 1]);
    expect(table.toString()).toBe(library);
    await loadWidths();
    const draw = await tableDrawing();
    const columns = [
      { width, kind: 'text' },
      { width: 1, kind: 'number' },
    ] as const;
    expect(draw(columns, [[{ text }, { text: '1' }]])).toEqual([ours]);
    expect(stringWidth(ours)).toBe(width + 3);
  });
});
