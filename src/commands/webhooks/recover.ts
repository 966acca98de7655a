import type { Command } from 'commander';
import type { Action, Call } from '../../command.ts';
import type { Context } from '../../context.ts';
import { UsageError } from '../../errors.ts';
import { addFilterFlags, eventFilters, type FilterFlags } from '../../events/event-flags.ts';
import { addFormatFlags, type FormatFlags, formatOptions } from '../../output/format-flags.ts';
import { duration, fileName, wholeNumber } from '../../settings/flag-values.ts';
import { addConnectionFlags } from '../../settings/setting-names.ts';
import type { SettingFlags } from '../../settings/settings.ts';
import { loadTimeZone } from '../../settings/settings.ts';
import type { TimeZone } from '../../time/time-zone.ts';
import {
  type ForwardFlags,
  forwardTimeout,
  forwardTimeoutOf,
  handlerUrl,
} from '../../webhooks/webhook-flags.ts';

interface Flags extends FilterFlags, FormatFlags, ForwardFlags, SettingFlags {
  readonly forwardTo?: URL;
  readonly journal?: string;
  readonly newJournal?: true;
  readonly concurrency?: number;
  readonly retryFor?: number;
  readonly dryRun?: true;
}

/** More at once would reach the handler in another order than that of creation. */
const CONCURRENCY = 1;
const RETRY_FOR = 60_000;

export function declare(command: Command, action: Action): void {
  addFilterFlags(command)
    .option('--forward-to <url>', 'the handler that gets the events', handlerUrl('--forward-to'))
    .option(
      '--journal <file>',
      'the journal of webhooks listen (default: the one of the profile)',
      fileName('--journal'),
    )
    .option('--new-journal', 'treat a missing journal as empty: every event counts as missed')
    .option(
      '--concurrency <number>',
      `events forwarded at once, 1 to 64 (default: ${CONCURRENCY})`,
      wholeNumber('--concurrency', 1, 64),
    )
    .option(
      '--retry-for <time>',
      'keep trying this long while the handler accepts nothing, such as 10m (default: 60s)',
      duration('--retry-for', 1000, Number.POSITIVE_INFINITY),
    )
    .addOption(forwardTimeout())
    .option('--dry-run', 'list what would be forwarded, and forward nothing');
  addFormatFlags(command);
  addConnectionFlags(command)
    .addHelpText(
      'after',
      `
Searches from --since on, leaves out events in the journal, and posts the rest
to the handler, oldest first: each event's JSON as the search shows it, with
content type application/json and the Api-Token (from HOOKTRAIL_API_TOKEN, or as
saved by \`webhooks listen --save-token\`). The body of a real delivery may have
another form, depending on the service.

Events that the handler does not accept are listed on standard output, and make
the exit code 1; the same command run again retries only those. While a
\`webhooks listen\` has the journal open, the events go through that listener, so
that each still reaches the handler once.

Examples:
  $ hooktrail webhooks recover --since 6h --failed --dry-run
  $ hooktrail webhooks recover --since 6h --forward-to http://127.0.0.1:3000/in
  $ hooktrail webhooks recover --since 2026-11-01 --until 2026-11-02 \\
      --forward-to https://hooks.example.com/in --journal events.journal`,
    )
    .action(action(run));
}

/** The command line in its final form. */
function optionsOf({ flags, context }: Call<Flags>, zone: TimeZone) {
  if (flags.after === undefined && flags.since === undefined) {
    throw new UsageError('--since is missing: the time from which events are recovered', {
      next: 'give the time when deliveries began to be missed, such as --since 6h',
    });
  }
  if (flags.forwardTo === undefined && !flags.dryRun) {
    throw new UsageError('--forward-to is missing: the handler that gets the events', {
      next: 'name the handler, or list the events with --dry-run',
    });
  }
  return {
    filters: eventFilters(flags, context.clock.now(), zone),
    format: { ...formatOptions(flags, 'events'), zone },
    /** Undefined if the events are only listed. */
    forwardTo: flags.dryRun ? undefined : flags.forwardTo,
    forwardTimeout: forwardTimeoutOf(flags),
    /** Undefined for that of the profile. */
    journal: flags.journal,
    newJournal: flags.newJournal === true,
    concurrency: flags.concurrency ?? CONCURRENCY,
    retryFor: flags.retryFor ?? RETRY_FOR,
  };
}

type Options = ReturnType<typeof optionsOf>;

async function run(call: Call<Flags>): Promise<void> {
  const { context, reporter } = call;
  const options = optionsOf(call, await loadTimeZone(call.flags, context));
  const { forwardTo } = options;
  const { withService } = await import('../../sign-in/session.ts');
  const { listMissing, recoverMissing } = await import('../../webhooks/recovery.ts');
  await withService(call, async (service, settings) => {
    const journal = await journalFile(options, settings.profile, context);
    if (forwardTo === undefined) return listMissing({ ...options, journal }, service, context, reporter);
    const { apiTokenOrWarning, tokenPlace } = await import('../../webhooks/api-token.ts');
    const apiToken = await apiTokenOrWarning(tokenPlace(settings), context, reporter);
    await recoverMissing({ ...options, journal, forwardTo }, service, apiToken, context, reporter);
  });
}

/** Without a journal every event would be forwarded again, so the user has to confirm that. */
async function journalFile(
  { journal, newJournal }: Options,
  profile: string,
  context: Context,
): Promise<string> {
  const { defaultJournal, journalExists } = await import('../../webhooks/journal-file.ts');
  const file = journal ?? defaultJournal(profile, context);
  if (newJournal || journalExists(file)) return file;
  const next = 'name the journal that `hooktrail webhooks listen` wrote; --new-journal recovers everything';
  if (journal !== undefined) throw new UsageError(`--journal: there is no journal ${file}`, { next });
  throw new UsageError(`--journal is missing, and the profile '${profile}' has no journal yet`, { next });
}
