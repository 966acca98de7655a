import type { Command } from 'commander';
import type { Call } from '../command.ts';
import { UsageError } from '../errors.ts';
import { concurrencyFlag } from '../filters/reading-flags.ts';
import { addSummaryFlags, type EventFlags, summaryOptions } from '../formats/format-flags.ts';
import type { Baseline } from './baseline.ts';
import { baselineFlag } from './baseline-flag.ts';

interface Flags extends EventFlags {
  readonly baseline?: Baseline;
}

const FORMATS = ['table', 'json', 'markdown'] as const;

export const commonFlags = '--since --until --subscription --type --where --baseline --from --json --output';

export const help = `
Compares the failed events with the delivered ones, by default of the last 24
hours, or with --from all of them: every field, whatever it is called, and the
time. It names a value, a field, a limit or a span of time, or up to three of
them together, if chance explains it with less than 1 in 100 (Fisher's exact
test, corrected for all that was tried), and if it makes a difference of ten
points. After a cause its events are set aside and the rest is explained, at
most five times. When nothing stands out, it says so.

Examples:
  $ hooktrail events explain
  $ hooktrail events explain --since 7d --baseline previous
  $ hooktrail events explain --from exported --type document.signed
  $ hooktrail events explain --json --jq '.causes[0].conditions'`;

export function declare(command: Command): void {
  command.addOption(baselineFlag()).addOption(concurrencyFlag());
  addSummaryFlags(command, FORMATS, { json: 'the causes and their counts as one JSON object' });
}

export async function run(call: Call<Flags>): Promise<void> {
  const options = { ...summaryOptions(call, FORMATS), baseline: call.flags.baseline };
  const { statuses } = options.filters;
  if (statuses.length === 1 && statuses[0] === 'SUCCESS')
    throw new UsageError('--status: failures are explained, and with only SUCCESS there are none');
  const [{ explainEvents }, { printExplanation }] = await Promise.all([
    import('./explain.ts'),
    import('./explanation-text.ts'),
  ]);
  await printExplanation(await explainEvents(call, options), options, call);
}
