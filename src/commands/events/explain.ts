import type { Command } from 'commander';
import type { Action, Call } from '../../command.ts';
import { UsageError } from '../../errors.ts';
import {
  addFilterFlags,
  addFromFlag,
  CONCURRENCY,
  concurrencyFlag,
  eventFilters,
  type FilterFlags,
  type FromFlags,
} from '../../events/event-filters.ts';
import type { Baseline } from '../../events/explain.ts';
import {
  addOutputFileFlag,
  addPagerFlag,
  addSummaryFlags,
  type SummaryFlags,
  summaryFormat,
} from '../../output/format-flags.ts';
import { oneOf } from '../../settings/flag-values.ts';
import { addConnectionFlags } from '../../settings/setting-names.ts';
import { loadTimeZone, type SettingFlags } from '../../settings/settings.ts';

interface Flags extends FilterFlags, FromFlags, SummaryFlags, SettingFlags {
  readonly baseline?: Baseline;
  readonly concurrency?: number;
}

const FORMATS = ['table', 'json', 'markdown'] as const;

export const commonFlags = [
  '--since',
  '--until',
  '--subscription',
  '--type',
  '--where',
  '--baseline',
  '--from',
  '--json',
  '--output',
];

export function declare(command: Command, action: Action): void {
  addFilterFlags(command);
  addFromFlag(command)
    .option(
      '--baseline <time>',
      'compare with the same length before (previous), a day (1d) or a week earlier (7d)',
      oneOf<Baseline>('--baseline', ['previous', '1d', '7d']),
    )
    .addOption(concurrencyFlag());
  addSummaryFlags(command, FORMATS, { json: 'the causes and their counts as one JSON object' });
  addOutputFileFlag(addPagerFlag(command));
  addConnectionFlags(command)
    .addHelpText(
      'after',
      `
Compares the failed events with the delivered ones, by default of the last 24
hours: every field, whatever it is called, and the time. It names a value, a
field, a limit or a span of time, or up to three of them together, if chance
explains it with less than 1 in 100 (Fisher's exact test, corrected for all that
was tried), and if it makes a difference of ten points. After a cause its events
are set aside and the rest is explained, at most five times. When nothing stands
out, it says so.

Examples:
  $ hooktrail events explain
  $ hooktrail events explain --since 7d --baseline previous
  $ hooktrail events explain --from exported --type document.signed
  $ hooktrail events explain --json --jq '.causes[0].conditions'`,
    )
    .action(action(run));
}

async function run(call: Call<Flags>): Promise<void> {
  const { flags, context } = call;
  const zone = await loadTimeZone(flags, context);
  const filters = eventFilters(flags, context.clock.now(), zone);
  const { format, jq } = summaryFormat(flags, FORMATS);
  if (filters.statuses.length === 1 && filters.statuses[0] === 'SUCCESS')
    throw new UsageError('--status: failures are explained, and with only SUCCESS there are none');
  const { from, baseline, concurrency = CONCURRENCY } = flags;
  const [{ explainEvents }, { printExplanation }] = await Promise.all([
    import('../../events/explain.ts'),
    import('../../output/explanation-text.ts'),
  ]);
  const explained = await explainEvents(call, { filters, from, baseline, concurrency });
  await printExplanation(explained, { filters, from, baseline, format, jq }, call);
}
