import { describe, expect, test } from 'vitest';
import { renderTable } from '../../src/output/table-drawing.ts';
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

  test('fits a terminal and does nothing to it', async () => {
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
