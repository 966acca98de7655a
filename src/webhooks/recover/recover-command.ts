import type { Command } from 'commander';
import type { Call } from '../../command.ts';
import { UsageError } from '../../errors.ts';
import { addFilterFlags } from '../../filters/filter-flags.ts';
import { addFormatFlags, type EventFlags, eventOptions } from '../../formats/format-flags.ts';
import { duration, fileName } from '../../settings/flag-values.ts';
import { Flag } from '../../settings/flags.ts';
import { addConnectionFlags } from '../../settings/setting-names.ts';
import {
  FORWARD_TIMEOUT_MS,
  forwardConcurrency,
  forwardTimeout,
  handlerOf,
  handlerUrl,
  handOverFlag,
  rateFlag,
  receivedFieldFlag,
  receivedFlag,
} from '../webhook-flags.ts';
import type { RecoverFlags } from './recover.ts';

type OwnFlags = Partial<Omit<RecoverFlags, 'filters' | 'format'>> & { readonly dryRun?: true };
type Flags = OwnFlags & EventFlags;

const DEFAULTS = {
  forwardTimeout: FORWARD_TIMEOUT_MS,
  concurrency: 1,
  retryFor: 60_000,
  handOver: 'event',
} as const;

export const commonFlags =
  '--since --until --failed --type --where --forward-to --journal --new-journal --received --dry-run';

export const help = `
Searches from --since on, or for --id, leaves out events in the journal, and
posts the rest to the handler, oldest first, with content type application/json
and the Api-Token (from HOOKTRAIL_API_TOKEN, or as saved by \`webhooks listen
--save-token\`). Where a search shows records with the event inside, the handler
gets the event, byte for byte; --hand-over record sends the whole record. An
event that has several records is forwarded once.

With --received, events whose ids are in that file are left out too. Then
--journal is optional, and without it nothing is journaled. \`webhooks
reconcile\` shows beforehand what is missing.

Events that the handler does not accept are listed on standard output, and make
the exit code 1; the same command run again retries only those. While a
\`webhooks listen\` has the journal open, the events go through that listener, so
that each still reaches the handler once.`;

export const examples = [
  'hooktrail webhooks recover --since 6h --failed --dry-run',
  'hooktrail webhooks recover --since 6h --forward-to http://127.0.0.1:3000/in',
  `hooktrail webhooks recover --since 2026-11-01 --until 2026-11-02 \\
      --forward-to https://hooks.example.com/in --journal events.journal`,
  'hooktrail webhooks recover --since 1d --received had.csv --forward-to 3000',
];

export function declare(command: Command): void {
  addFilterFlags(command)
    .option('--forward-to <url>', 'the handler that gets the events', handlerUrl('--forward-to'))
    .addOption(
      new Flag(
        '--journal <file>',
        'the journal of webhooks listen',
        { preset: 'that of the profile, or of the one --subscription' },
        fileName('--journal'),
      ),
    )
    .addOption(receivedFlag('a file with event ids that the handler has; - for standard input'))
    .addOption(receivedFieldFlag())
    .option('--new-journal', 'treat a missing journal as empty: every event counts as missed')
    .addOption(forwardConcurrency())
    .addOption(rateFlag())
    .addOption(
      new Flag(
        '--retry-for <time>',
        'keep trying this long while the handler accepts nothing, such as 10m',
        { preset: '60s' },
        duration('--retry-for', 1000, Number.POSITIVE_INFINITY),
      ),
    )
    .addOption(forwardTimeout())
    .addOption(handOverFlag())
    .option('--dry-run', 'list what would be forwarded, and forward nothing');
  addFormatFlags(command);
  addConnectionFlags(command);
}

export async function run(call: Call<Flags>): Promise<void> {
  const { flags } = call;
  const { after, since, day, month, id } = flags;
  if (!after && !since && !day && !month && !id) {
    throw new UsageError('--since is missing: the time from which events are recovered', {
      next: 'give the time when deliveries began to be missed, such as --since 6h',
    });
  }
  const forwardTo = handlerOf(flags);
  const { filters, format } = eventOptions(call);
  const { recoverAsProfile } = await import('./recover.ts');
  await recoverAsProfile({ ...DEFAULTS, ...flags, filters, format, forwardTo }, call);
}
