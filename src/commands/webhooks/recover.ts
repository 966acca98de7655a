import type { Command } from 'commander';
import type { Action, Call } from '../../command.ts';
import { UsageError } from '../../errors.ts';
import type { EventFilters } from '../../events/event-filters.ts';
import { addFilterFlags, eventFilters, type FilterFlags } from '../../events/event-flags.ts';
import type { Service } from '../../http/service.ts';
import { addFormatFlags, type FormatFlags, formatOptions } from '../../output/format-flags.ts';
import type { FormatOptions } from '../../output/item-writer.ts';
import { duration, wholeNumber } from '../../settings/flag-values.ts';
import { addConnectionFlags } from '../../settings/setting-flags.ts';
import type { SettingFlags, Settings } from '../../settings/settings.ts';
import {
  type ForwardFlags,
  forwardTimeout,
  forwardTimeoutOf,
  handlerUrl,
  journalFlag,
} from '../../webhooks/flags.ts';

interface Flags extends FilterFlags, FormatFlags, ForwardFlags, SettingFlags {
  readonly forwardTo?: URL;
  readonly journal?: string;
  readonly concurrency?: number;
  readonly retryFor?: number;
  readonly dryRun?: true;
}

const CONCURRENCY = 4;
const RETRY_FOR = 60_000;

export function declare(command: Command, action: Action): void {
  addFilterFlags(command)
    .option('--forward-to <url>', 'the handler that gets the events', handlerUrl('--forward-to'))
    .option(
      '--journal <file>',
      'the journal of webhooks listen (default: the one of the profile)',
      journalFlag,
    )
    .option(
      '--concurrency <number>',
      `events handed over at once, 1 to 64 (default: ${CONCURRENCY})`,
      wholeNumber('--concurrency', 1, 64),
    )
    .option(
      '--retry-for <time>',
      'go on this long while the handler takes nothing, such as 10m (default: 60s)',
      duration('--retry-for', 1000, Number.POSITIVE_INFINITY),
    )
    .addOption(forwardTimeout())
    .option('--dry-run', 'list what would be handed over, and hand over nothing');
  addFormatFlags(command);
  addConnectionFlags(command)
    .addHelpText(
      'after',
      `
Searches the time from --after on, leaves out what the journal holds, and posts
the rest to the handler: each event's JSON as the search shows it, with content
type application/json and the Api-Token (from HOOKTRAIL_API_TOKEN, or where
\`webhooks listen --save-token\` put it). Deliveries may look different where
the service makes them so.

What the handler does not take is listed on standard output, and makes the exit
code 1; the same command again tries just that. Safe beside a running
\`webhooks listen\` on the same journal.

Examples:
  $ hooktrail webhooks recover --after 6h --failed --dry-run
  $ hooktrail webhooks recover --after 6h --forward-to http://127.0.0.1:3000/in
  $ hooktrail webhooks recover --after 2026-11-01 --before 2026-11-02 \\
      --forward-to https://hooks.example.com/in --journal events.journal`,
    )
    .action(action(run));
}

async function run(call: Call<Flags>): Promise<void> {
  const { flags, context } = call;
  if (flags.after === undefined && flags.since === undefined) {
    throw new UsageError('--after is missing: the time from which events are recovered', {
      next: 'give the time when deliveries began to be missed, such as --after 6h',
    });
  }
  if (flags.forwardTo === undefined && !flags.dryRun) {
    throw new UsageError('--forward-to is missing: the handler that gets the events', {
      next: 'name the handler, or list the events with --dry-run',
    });
  }
  const filters = eventFilters(flags, context.clock.now());
  const format = formatOptions(flags, 'events');
  const { withService } = await import('../../sign-in/connect.ts');
  await withService(call, async (service, settings) => {
    const file = await journalFile(call, settings);
    if (flags.dryRun) await list(call, service, filters, format, file);
    else await handOver(call, service, filters, format, file, settings);
  });
}

async function list(
  { context, reporter }: Call<Flags>,
  service: Service,
  filters: EventFilters,
  format: FormatOptions,
  file: string,
): Promise<void> {
  const { listMissing } = await import('../../webhooks/recover/list-missing.ts');
  const { missing, known } = await listMissing({ service, filters, format, file, context, reporter });
  reporter.notice(`${missing} to hand over; ${known} in the journal already`);
}

async function handOver(
  { flags, context, reporter }: Call<Flags>,
  service: Service,
  filters: EventFilters,
  format: FormatOptions,
  file: string,
  settings: Settings,
): Promise<void> {
  const { findApiToken, tokenPlace } = await import('../../webhooks/api-token.ts');
  const { recoverMissing } = await import('../../webhooks/recover/recover-missing.ts');
  const place = tokenPlace(settings);
  const apiToken = await findApiToken(place, context).catch((error: Error) => {
    reporter.warning(`the Api-Token cannot be read, and the handler gets none: ${error.message}`);
    return undefined;
  });
  await recoverMissing({
    service,
    filters,
    format,
    file,
    context,
    reporter,
    apiToken,
    url: flags.forwardTo as URL,
    concurrency: flags.concurrency ?? CONCURRENCY,
    retryFor: flags.retryFor ?? RETRY_FOR,
    timeout: forwardTimeoutOf(flags),
  });
}

/** A journal that is not there holds nothing: everything would be handed over, which has to be meant. */
async function journalFile({ flags, context, reporter }: Call<Flags>, settings: Settings): Promise<string> {
  const { existsSync } = await import('node:fs');
  const { defaultJournal } = await import('../../webhooks/journal/default.ts');
  const file = flags.journal ?? (await defaultJournal(settings.profile, context));
  if (existsSync(file)) return file;
  if (flags.journal === undefined) {
    throw new UsageError(`--journal is missing, and the profile '${settings.profile}' has no journal yet`, {
      next: 'name the journal that `hooktrail webhooks listen` wrote, or a new file to recover everything',
    });
  }
  reporter.warning(`there is no journal ${file}: every event found counts as missed`);
  return file;
}
