import type { Command } from 'commander';
import { UsageError } from '../errors.ts';
import { parseFieldPaths } from '../json/item-fields.ts';
import type { ListKind } from '../json/items.ts';
import { didYouMean } from '../settings/command-words.ts';
import { fileName } from '../settings/flag-values.ts';
import type { FormatName, FormatOptions } from './item-writer.ts';

/** The format flags as typed. */
export interface FormatFlags {
  readonly output?: string;
  readonly json?: true;
  readonly ndjson?: true;
  readonly csv?: true;
  readonly fields?: string;
  readonly jq?: string;
  readonly csvRaw?: true;
  readonly csvBom?: true;
}

const FORMATS: readonly FormatName[] = ['table', 'json', 'ndjson', 'csv'];

export function addFormatFlags(command: Command): Command {
  return command
    .optionsGroup('Format:')
    .option('-o, --output <format>', 'table (the default), json, ndjson or csv')
    .option('--json', 'one JSON array, every item exactly as the service wrote it')
    .option('--ndjson', 'one JSON value per line, as pages arrive')
    .option('--csv', 'RFC 4180 with a header line, safe to open in a spreadsheet')
    .option(
      '--fields <a,b.c>',
      'only these fields, in this order; a.b is b inside a, \\. is a dot in a name, a missing field is null',
    )
    .option(
      '-q, --jq <program>',
      'run a jq program over the JSON array, or with --ndjson over each item; strings come out raw',
    )
    .option(
      '--csv-bom',
      'with --csv: begin with a byte order mark, which Excel needs for text that is not English',
    )
    .option('--csv-raw', 'with --csv: do not guard text that a spreadsheet would run as a formula')
    .optionsGroup('Options:')
    .hook('preAction', checkJq);
}

/** Checks the jq program before any request is sent or anything is printed. Throws `UsageError`. */
export async function checkJq(_: Command, command: Command): Promise<void> {
  const { jq } = command.opts<FormatFlags>();
  if (jq !== undefined) await (await import('./jq-items.ts')).checkProgram(jq);
}

/** Returns the format that the flags ask for. Throws `UsageError` if they contradict each other. */
export function formatOptions(
  flags: FormatFlags,
  list: ListKind,
  formats: readonly FormatName[] = FORMATS,
): FormatOptions {
  const asked = new Map<FormatName, string>();
  if (flags.output !== undefined) asked.set(formatNamed(flags.output, formats), `--output ${flags.output}`);
  for (const name of ['json', 'ndjson', 'csv'] as const) {
    if (flags[name] && !asked.has(name)) asked.set(name, `--${name}`);
  }
  const names = [...asked.values()];
  if (names.length > 1) {
    throw new UsageError(
      `${names.slice(0, -1).join(', ')} and ${names.at(-1)} contradict each other: give one`,
    );
  }
  const [given] = asked.keys();
  const format = given ?? (flags.jq === undefined ? 'table' : 'json');
  if (flags.jq !== undefined && format !== 'json' && format !== 'ndjson') {
    throw new UsageError(`--jq and ${names[0]} contradict each other: a jq program works on JSON`, {
      next: 'give only --jq, or --jq with --ndjson to run it on each item as it arrives',
    });
  }
  if (flags.csvRaw && format !== 'csv') throw new UsageError('--csv-raw needs --csv');
  if (flags.csvBom && format !== 'csv') throw new UsageError('--csv-bom needs --csv');
  return {
    format,
    list,
    ...(flags.fields === undefined ? {} : { fields: parseFieldPaths(flags.fields) }),
    ...(flags.jq === undefined ? {} : { jq: flags.jq }),
    ...(flags.csvRaw ? { csvRaw: true } : {}),
    ...(flags.csvBom ? { csvBom: true } : {}),
  };
}

function formatNamed(text: string, formats: readonly FormatName[]): FormatName {
  const format = formats.find((name) => name === text.toLowerCase());
  if (format) return format;
  const accepted = `${formats.slice(0, -1).join(', ')} or ${formats.at(-1)}`;
  throw new UsageError(`--output: invalid value '${text}': must be ${accepted}`, {
    ...didYouMean(text, formats, 'see --help; a file is named by --output-file, if the command has it'),
  });
}

/** The format flags of a command that prints results of its own instead of items. */
export type SummaryFlags = Pick<FormatFlags, 'output' | 'json' | 'csv' | 'jq'>;

export interface SummaryFormat {
  readonly format: 'table' | 'json' | 'csv';
  readonly jq: string | undefined;
}

/** Adds `--output`, `--json` and `--jq`, and `--csv` if `csv` says what it prints. */
export function addSummaryFlags(command: Command, json: string, csv?: string): Command {
  const names = csv ? 'table (the default), json or csv' : 'table (the default) or json';
  command
    .optionsGroup('Format:')
    .option('-o, --output <format>', names)
    .option('--json', json)
    .option('-q, --jq <program>', 'run a jq program over the JSON; strings come out raw');
  if (csv) command.option('--csv', csv);
  return command.optionsGroup('Options:').hook('preAction', checkJq);
}

/** Returns the format that the flags ask for. Throws `UsageError`, also for a format that the command does not have. */
export function summaryFormat(flags: SummaryFlags, hasCsv: boolean): SummaryFormat {
  const { format, jq } = formatOptions(
    flags,
    'events',
    hasCsv ? ['table', 'json', 'csv'] : ['table', 'json'],
  );
  return { format: format as SummaryFormat['format'], jq };
}

export interface OutputFileFlags {
  readonly outputFile?: string;
}

/** For commands that print data and end: `program.ts` gives them the file as their standard output. */
export function addOutputFileFlag(command: Command): Command {
  return command.option(
    '--output-file <file>',
    'write the output to this file, which is replaced only if the command succeeds',
    fileName('--output-file'),
  );
}
