import type { Command } from 'commander';
import { checkJq, type FormatFlags, formatOptions } from './format-flags.ts';

/** The format flags of a command that prints numbers of its own making instead of items. */
export type SummaryFlags = Pick<FormatFlags, 'output' | 'json' | 'csv' | 'jq'>;

export interface SummaryFormat {
  readonly format: 'table' | 'json' | 'csv';
  readonly jq: string | undefined;
}

/** Adds `--json` and `--jq`, and with `csv` what CSV holds. */
export function addSummaryFlags(command: Command, json: string, csv?: string): Command {
  const names = csv ? 'table (the default), json or csv' : 'table (the default) or json';
  command
    .optionsGroup('Format:')
    .option('-o, --output <format>', names)
    .option('--json', json)
    .option('--jq <program>', 'run a jq program over the JSON; strings come out raw');
  if (csv) command.option('--csv', csv);
  return command.optionsGroup('Options:').hook('preAction', checkJq);
}

/** The format that the flags ask for. Throws `UsageError`, also for a format that the command does not have. */
export function summaryFormat(flags: SummaryFlags, hasCsv: boolean): SummaryFormat {
  const { format, jq } = formatOptions(
    flags,
    'events',
    hasCsv ? ['table', 'json', 'csv'] : ['table', 'json'],
  );
  return { format: format as SummaryFormat['format'], jq };
}
