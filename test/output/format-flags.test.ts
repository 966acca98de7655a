import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { addFormatFlags, type FormatFlags, formatOptions } from '../../src/output/format-flags.ts';

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
    expect(parse(...argv)).toEqual({ list: 'events', ...options });
  });

  test.each([
    [['--json', '--csv'], '--json and --csv contradict each other: give one'],
    [
      ['-o', 'csv', '--json', '--ndjson'],
      '--output csv, --json and --ndjson contradict each other: give one',
    ],
    [['--csv', '--jq', '.'], '--jq and --csv contradict each other: a jq program works on JSON'],
    [
      ['-o', 'table', '--jq', '.'],
      '--jq and --output table contradict each other: a jq program works on JSON',
    ],
    [['--csv-raw'], '--csv-raw needs --csv'],
    [['--csv-raw', '--json'], '--csv-raw needs --csv'],
    [['--csv-bom', '--ndjson'], '--csv-bom needs --csv'],
    [['-o', 'xml'], "--output: invalid value 'xml': must be table, json, ndjson, csv or markdown"],
    [['--fields', ''], "--fields: invalid value '': a field name is empty"],
  ])('refuses %j', (argv, message) => {
    expect(() => parse(...argv)).toThrow(expect.objectContaining({ name: 'UsageError', message }));
  });

  test('suggests the nearest format', () => {
    expect(() => parse('-o', 'jsno')).toThrow(expect.objectContaining({ next: 'did you mean json?' }));
  });
});
