import type { Command } from 'commander';
import type { Action, Call } from '../../command.ts';
import { ExitCode } from '../../errors.ts';
import {
  addFilterFlags,
  addFromFlag,
  addPreviewFlags,
  eventFilters,
  type FilterFlags,
  type FromFlags,
  type PreviewFlags,
  previewForm,
} from '../../events/event-flags.ts';
import {
  addOutputFileFlag,
  addSummaryFlags,
  type SummaryFlags,
  summaryFormat,
} from '../../output/format-flags.ts';
import { wholeNumber } from '../../settings/flag-values.ts';
import { addConnectionFlags } from '../../settings/setting-names.ts';
import type { SettingFlags } from '../../settings/settings.ts';
import { loadTimeZone } from '../../settings/settings.ts';
import type { TimeZone } from '../../time/time-zone.ts';

interface Flags extends FilterFlags, FromFlags, PreviewFlags, SummaryFlags, SettingFlags {
  readonly concurrency?: number;
  readonly exitCode?: true;
}

const CONCURRENCY = 4;

export function declare(command: Command, action: Action): void {
  addFilterFlags(command)
    .option('--exit-code', 'exit with 10 when anything matches')
    .option(
      '--concurrency <number>',
      `requests at once, 1 to 16 (default: ${CONCURRENCY})`,
      wholeNumber('--concurrency', 1, 16),
    );
  addPreviewFlags(command);
  addFromFlag(command);
  addSummaryFlags(command, '{"count":N}');
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
    ...summaryFormat(flags, false),
    from: flags.from,
    concurrency: flags.concurrency ?? CONCURRENCY,
    exitCode: flags.exitCode === true,
  };
}

type Options = ReturnType<typeof optionsOf>;

async function run(call: Call<Flags>): Promise<ExitCode> {
  const options = optionsOf(call, await loadTimeZone(call.flags, call.context));
  const { preview, filters, format, jq, exitCode } = options;
  const { context, reporter } = call;
  if (preview) {
    const { previewRequests } = await import('../../events/request-preview.ts');
    await previewRequests(call, filters, 1, preview);
    return ExitCode.done;
  }
  const count = await total(options, call);
  if (format === 'table') await context.stdout.write(`${count}\n`);
  else {
    const { printJson } = await import('../../output/print-json.ts');
    await printJson({ count }, jq, context, reporter);
  }
  return exitCode && count > 0 ? ExitCode.matched : ExitCode.done;
}

async function total({ from, filters, concurrency }: Options, call: Call<Flags>): Promise<number> {
  if (from !== undefined) {
    const { storedEvents } = await import('../../events/stored-events.ts');
    const { countOf } = await import('../../events/event-count.ts');
    return countOf(storedEvents(from, filters, { context: call.context, onDoubt: call.reporter.warning }));
  }
  const { withService } = await import('../../sign-in/session.ts');
  const { context, reporter } = call;
  return withService(call, async (service, settings) => {
    const { countAll } = await import('../../events/event-count.ts');
    const { resolveTypes, warnOfTypes } = await import('../../events/event-types.ts');
    const chosen = await resolveTypes(filters, service, settings, context);
    const count = await countAll(service, chosen, concurrency, context, reporter);
    if (count === 0) await warnOfTypes(chosen, service, context, reporter);
    return count;
  });
}
