import type { Command } from 'commander';
import type { Action, Call } from '../../command.ts';
import { ExitCode } from '../../errors.ts';
import {
  addFilterFlags,
  addFromFlag,
  addPreviewFlags,
  CONCURRENCY,
  concurrencyFlag,
  eventFilters,
  type FilterFlags,
  type FromFlags,
  type PreviewFlags,
  previewForm,
} from '../../events/event-filters.ts';
import {
  addOutputFileFlag,
  addSummaryFlags,
  type SummaryFlags,
  summaryFormat,
} from '../../output/format-flags.ts';
import { addConnectionFlags } from '../../settings/setting-names.ts';
import { loadTimeZone, type SettingFlags } from '../../settings/settings.ts';
import type { TimeZone } from '../../time/time-zone.ts';

interface Flags extends FilterFlags, FromFlags, PreviewFlags, SummaryFlags, SettingFlags {
  readonly concurrency?: number;
  readonly exitCode?: true;
}

export const commonFlags = [
  '--since',
  '--until',
  '--failed',
  '--type',
  '--subscription',
  '--where',
  '--grep',
  '--from',
  '--exit-code',
];

const FORMATS = ['table', 'json'] as const;

export function declare(command: Command, action: Action): void {
  addFilterFlags(command)
    .option('--exit-code', 'exit with 10 when anything matches')
    .addOption(concurrencyFlag());
  addPreviewFlags(command);
  addFromFlag(command);
  addSummaryFlags(command, FORMATS, { json: '{"count":N}' });
  addOutputFileFlag(command);
  addConnectionFlags(command)
    .addHelpText(
      'after',
      `
Prints one number, the sum over all combinations of repeated flags. The service
counts, so no events are downloaded. If it gives no count, hooktrail reads the
events and counts them, with a notice.

Examples:
  $ hooktrail events count --failed --since 1h
  $ hooktrail events count --failed --since 15m --exit-code || alert
  $ hooktrail events count --type document.signed --since 2026-11-01 --json`,
    )
    .action(action(run));
}

/** The command line in its final form. */
function optionsOf({ flags, context }: Call<Flags>, zone: TimeZone) {
  return {
    preview: previewForm(flags),
    filters: eventFilters(flags, context.clock.now(), zone),
    ...summaryFormat(flags, FORMATS),
    from: flags.from,
    concurrency: flags.concurrency ?? CONCURRENCY,
    exitCode: flags.exitCode === true,
  };
}

async function run(call: Call<Flags>): Promise<ExitCode> {
  const { context, reporter } = call;
  const options = optionsOf(call, await loadTimeZone(call.flags, context));
  const { format, jq, exitCode } = options;
  const { countEvents } = await import('../../events/event-count.ts');
  const count = await countEvents(options, call);
  if (count === undefined) return ExitCode.done;
  if (format === 'table') await context.stdout.write(`${count}\n`);
  else {
    const { printJson } = await import('../../output/formats.ts');
    await printJson({ count }, jq, context, reporter);
  }
  return exitCode && count > 0 ? ExitCode.matched : ExitCode.done;
}
