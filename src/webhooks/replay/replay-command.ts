import type { Command } from 'commander';
import { advise, hooktrail } from '../../advice.ts';
import type { Call } from '../../command.ts';
import { UsageError } from '../../errors.ts';
import type { EventFilters } from '../../filters/event-filters.ts';
import { addFilterFlags, addFromFlag } from '../../filters/filter-flags.ts';
import { addFormatFlags, type EventFlags, eventOptions } from '../../formats/format-flags.ts';
import { isGuid } from '../../items/guids.ts';
import { addConnectionFlags } from '../../settings/setting-names.ts';
import {
  FORWARD_TIMEOUT_MS,
  forwardConcurrency,
  forwardTimeout,
  handlerOf,
  handlerUrl,
  handOverFlag,
  rateFlag,
} from '../webhook-flags.ts';
import type { ReplayFlags, ReplaySource } from './replay.ts';

type OwnFlags = Partial<Omit<ReplayFlags, 'filters' | 'format' | 'source' | 'mayBeEmpty' | 'target'>> & {
  readonly dryRun?: true;
};
type Flags = OwnFlags & EventFlags;

const DEFAULTS = { forwardTimeout: FORWARD_TIMEOUT_MS, concurrency: 1, handOver: 'event' } as const;

export const commonFlags = '--forward-to --id --failed --since --where --from --rate --dry-run --yes';

export const help = `
Forwards chosen events to a handler again, in order of creation, with content
type application/json and the Api-Token. Where a search shows records with the
event inside, the handler gets the event, byte for byte, once for each eventId;
--hand-over record sends the whole record. No journal is read or written, so the
handler may get events that it has had: \`webhooks recover\` forwards only missed
events.

Choose events by filters or by ids on standard input, from the service or from
an export. On a terminal, replay asks before it forwards more than 100 events.
Events that the handler refuses, and those not sent before Ctrl-C, are listed on
standard output, and make the exit code 1. Nothing is retried. If an id is not
found, nothing is sent, and the exit code is 1.`;

export const examples = [
  `hooktrail webhooks replay --id 0f8fad5b-d9cb-469f-a165-70867728950e \\
      --forward-to http://127.0.0.1:3000/hooks`,
  `hooktrail webhooks replay --failed --since 2h --rate 10 \\
      --forward-to http://127.0.0.1:3000/hooks`,
  'hooktrail webhooks replay --from export/ --forward-to 3000',
  'hooktrail webhooks replay - --forward-to http://127.0.0.1:3000/in < ids.txt',
];

export function declare(command: Command): void {
  command.argument('[-]', 'read the ids of the events from standard input, one per line');
  addFromFlag(addFilterFlags(command))
    .option('--forward-to <url>', 'the handler that gets the events', handlerUrl('--forward-to'))
    .addOption(forwardConcurrency())
    .addOption(rateFlag())
    .addOption(forwardTimeout())
    .addOption(handOverFlag())
    .option('--dry-run', 'list what would be replayed, and forward nothing')
    .option('-y, --yes', 'do not ask, however many events there are');
  addFormatFlags(command);
  addConnectionFlags(command);
}

export async function run(call: Call<Flags>): Promise<void> {
  const { flags, args } = call;
  const [word = '-'] = args;
  if (word !== '-')
    throw new UsageError(
      `webhooks replay takes only -, but was given '${word}'`,
      isGuid(word)
        ? { correction: { typed: word, meant: '--id', followedBy: [word] } }
        : { next: advise`events are chosen by filters: see ${hooktrail('help filters')}` },
    );
  const forwardTo = handlerOf(flags);
  const { filters, format } = eventOptions(call);
  const source = sourceOf(call, filters);
  const { replayAsProfile } = await import('./replay.ts');
  const options = { ...DEFAULTS, ...flags, filters, source, mayBeEmpty: args[0] === '-', format };
  await replayAsProfile({ ...options, forwardTo, target: flags.forwardTo }, call);
}

function sourceOf({ flags, args, context }: Call<Flags>, filters: EventFilters): ReplaySource {
  const hasIds = args[0] === '-';
  if (flags.from !== undefined) {
    if (!hasIds || flags.from !== '-') return { from: flags.from, hasIds };
    throw new UsageError('standard input cannot hold both the ids and, by --from -, the events', {
      next: 'choose them by --id, or give the events as a file',
    });
  }
  if (hasIds) return 'ids';
  if (filters.texts().length > 0) return 'search';
  if (!context.stdin.isTerminal) return 'ids';
  throw new UsageError('no event is chosen', {
    next: 'give filters such as --id or --since, or ids on standard input with -',
  });
}
