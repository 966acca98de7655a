import type { Command } from 'commander';
import type { Call } from '../command.ts';
import { UsageError } from '../errors.ts';
import { concurrencyFlag } from '../filters/reading-flags.ts';
import { addSummaryFlags, type EventFlags, summaryOptions } from '../formats/format-flags.ts';
import { FORMAT_NAMES, formatTraits } from '../formats/format-registry.ts';
import type { Baseline } from './baseline.ts';
import { baselineFlag } from './baseline-flag.ts';

interface Flags extends EventFlags {
  readonly baseline?: Baseline;
}

const FORMATS = FORMAT_NAMES.filter((name) => !formatTraits(name).hasOnlyRecords);

export const commonFlags = '--since --until --subscription --type --where --baseline --from --json --output';

export const help = `
Compares the failed events with the delivered ones, in every field and in time,
over the last 24 hours unless --since says otherwise, or with --from over all
events. A cause is a value, a field, a limit or a span of time, or up to three
of them together. It is named if chance would produce it less than once in 100
times (Fisher's exact test, corrected for everything that was tried), and if it
changes the failure rate by at least ten points. Then its events are set aside
and the rest is explained, for up to five causes.`;

export const examples = [
  'hooktrail events explain',
  'hooktrail events explain --since 7d --baseline previous',
  'hooktrail events explain --from exported --type document.signed',
  "hooktrail events explain --json --jq '.causes[0].conditions'",
];

export function declare(command: Command): void {
  command.addOption(baselineFlag()).addOption(concurrencyFlag());
  addSummaryFlags(command, FORMATS, { json: 'the causes and their counts as one JSON object' });
}

export async function run(call: Call<Flags>): Promise<void> {
  const options = { ...summaryOptions(call, FORMATS), baseline: call.flags.baseline };
  if (options.filters.onlyStatus === 'SUCCESS')
    throw new UsageError('--status: failures are explained, and with only SUCCESS there are none');
  const [{ explainEvents }, { printExplanation }] = await Promise.all([
    import('./explain.ts'),
    import('./explanation-text.ts'),
  ]);
  const explained = await explainEvents(call, options);
  await printExplanation(explained, options, call);
}
