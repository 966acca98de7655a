import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { addFormatFlags, type FormatFlags, formatOptions } from '../../src/formats/format-flags.ts';

const parse = (...argv: string[]) => {
  const command = addFormatFlags(new Command()).exitOverride();
  command.parse(argv, { from: 'user' });
  return formatOptions(command.opts<FormatFlags>(), 'events');
};

describe('format flags', () => {
  test.each([
    [[], { format: 'table' }],
    [['-o', 'table'], { format: 'table' }],
    [['--json'], { format: 'json' }],
    [['-o', 'JSON', '--json'], { format: 'json' }],
    [['--output=ndjson'], { format: 'ndjson' }],
    [['--csv', '--csv-raw'], { format: 'csv', csvRaw: true }],
    [['--csv', '--csv-bom'], { format: 'csv', csvBom: true }],
    [['--fields', 'a.b'], { format: 'table', fields: [{ text: 'a.b', steps: ['a', 'b'] }] }],
    [['--jq', '.'], { format: 'json', jq: '.' }],
    [['--jq', '.', '--ndjson'], { format: 'ndjson', jq: '.' }],
  ])('%j', (argv, options) => {
    expect(parse(...argv)).toEqual({ list: 'events', hasHeader: true, ...options });
  });
});
