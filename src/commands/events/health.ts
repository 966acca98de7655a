import { type Command, Option } from 'commander';
import type { Action, Call } from '../../command.ts';
import { ExitCode } from '../../errors.ts';
import {
  addFilterFlags,
  addFromFlag,
  CONCURRENCY,
  concurrencyFlag,
  eventFilters,
  type FilterFlags,
  type FromFlags,
} from '../../events/event-filters.ts';
import { type FieldPath, parseFieldPath } from '../../json/item-fields.ts';
import {
  addOutputFileFlag,
  addPagerFlag,
  addSummaryFlags,
  type SummaryFlags,
  summaryFormat,
} from '../../output/format-flags.ts';
import { addConnectionFlags } from '../../settings/setting-names.ts';
import { loadTimeZone, type SettingFlags } from '../../settings/settings.ts';

interface Flags extends FilterFlags, FromFlags, SummaryFlags, SettingFlags {
  readonly by?: FieldPath;
  readonly exitCode?: true;
  readonly concurrency?: number;
}

const FORMATS = ['table', 'json', 'markdown'] as const;

export const commonFlags = [
  '--since',
  '--subscription',
  '--type',
  '--by',
  '--exit-code',
  '--from',
  '--json',
  '--output',
];

export function declare(command: Command, action: Action): void {
  addFilterFlags(command);
  addFromFlag(command)
    .addOption(
      new Option('--by <field>', 'a row for each value of this field (default: subscriptionId)').argParser(
        (text: string) => parseFieldPath(text, '--by'),
      ),
    )
    .option('--exit-code', 'exit with 10 while any is failing')
    .addOption(concurrencyFlag());
  addSummaryFlags(command, FORMATS, { json: 'the rows as a JSON array' });
  addOutputFileFlag(addPagerFlag(command));
  addConnectionFlags(command)
    .addHelpText(
      'after',
      `
A row for each subscription that has events, by default in the last 24 hours:
failing if its newest event failed, recovered if an earlier one did. Events are
in order of creation, which need not be the order of their deliveries.

Examples:
  $ hooktrail events health
  $ hooktrail events health --since 7d --by eventType
  $ hooktrail events health --since 1h --exit-code > /dev/null || alert`,
    )
    .action(action(run));
}

async function run(call: Call<Flags>): Promise<ExitCode> {
  const { flags, context } = call;
  const zone = await loadTimeZone(flags, context);
  const filters = eventFilters(flags, context.clock.now(), zone);
  const { format, jq } = summaryFormat(flags, FORMATS);
  const { from, by, concurrency = CONCURRENCY, exitCode } = flags;
  const [{ checkHealth }, { printHealth }] = await Promise.all([
    import('../../events/health.ts'),
    import('../../output/explanation-text.ts'),
  ]);
  const report = await checkHealth(call, { filters, from, by, concurrency });
  await printHealth(report, { filters, format, jq, from }, call);
  return exitCode && report.rows.some(({ state }) => state === 'failing') ? ExitCode.matched : ExitCode.done;
}
