import type { Command } from 'commander';
import type { Replay } from '../../browse/browse.ts';
import type { Action, Call } from '../../command.ts';
import { UsageError } from '../../errors.ts';
import {
  addFilterFlags,
  addFromFlag,
  eventFilters,
  type FilterFlags,
  type FromFlags,
} from '../../events/event-flags.ts';
import { addConnectionFlags } from '../../settings/setting-names.ts';
import type { SettingFlags } from '../../settings/settings.ts';
import { loadTimeZone } from '../../settings/settings.ts';
import { redraws } from '../../terminal/palette.ts';
import type { TimeZone } from '../../time/time-zone.ts';
import {
  type ForwardFlags,
  forwardTimeout,
  forwardTimeoutOf,
  handlerUrl,
} from '../../webhooks/webhook-flags.ts';

interface Flags extends FilterFlags, FromFlags, ForwardFlags, SettingFlags {
  readonly forwardTo?: URL;
}

/** Few enough to come fast, many enough for several screens. */
const PAGE_SIZE = 200;
const CONCURRENCY = 2;

export const commonFlags = [
  '--failed',
  '--since',
  '--until',
  '--type',
  '--subscription',
  '--where',
  '--from',
  '--timezone',
];

export function declare(command: Command, action: Action): void {
  addFromFlag(addFilterFlags(command))
    .option(
      '--forward-to <url>',
      'the handler to which the key r replays an open event',
      handlerUrl('--forward-to'),
    )
    .addOption(forwardTimeout());
  addConnectionFlags(command)
    .addHelpText(
      'after',
      `
Keys:
  arrows, page up, page down, home, end   move
  enter   open the event; n and p show the next and the previous one, esc closes
  /       filter what was read, as you type; esc clears the filter
  w       filter by a condition of --where, or by a text as --grep does;
          again to filter further; esc removes the latest filter
  g       group what was read by a field; enter shows the events of a group
  f       show only failures
  r       read again; in an open event, send it to the handler of --forward-to
          again, as \`webhooks replay\` does
  y       copy the event's id, to tmux's buffer or the terminal's clipboard
  z       show times in UTC, in the local zone, in that of --timezone
  o       open a report, which is deleted at the end
  ?       list the keys
  q       quit

Examples:
  $ hooktrail events browse --failed --since 24h
  $ hooktrail events browse --type document.signed`,
    )
    .action(action(run));
}

/** The command line in its final form. */
function optionsOf({ flags, context }: Call<Flags>, zone: TimeZone) {
  const filters = eventFilters(flags, context.clock.now(), zone);
  if (!context.stdin.isTerminal || !context.stdout.isTerminal || !redraws(context.environment)) {
    throw new UsageError('events browse needs a terminal to show its list on and to read keys from', {
      next: 'use `hooktrail events search` with the same filters',
    });
  }
  if (flags.from === '-')
    throw new UsageError('--from - cannot be browsed: the keys are read from standard input');
  const { from, forwardTo } = flags;
  return { filters, from, forwardTo, forwardTimeout: forwardTimeoutOf(flags) };
}

type Options = ReturnType<typeof optionsOf>;

async function run(call: Call<Flags>): Promise<void> {
  const { context, reporter } = call;
  const options = optionsOf(call, await loadTimeZone(call.flags, context));
  const { filters, from } = options;
  const { browse } = await import('../../browse/browse.ts');
  const replay = await replayer(options, call);
  if (from !== undefined) {
    const { storedEvents } = await import('../../events/stored-events.ts');
    await browse(call, filters, (chosen) => storedEvents(from, chosen, { context }), replay);
    return;
  }
  const { withService } = await import('../../sign-in/session.ts');
  const { findEvents } = await import('../../events/find-events.ts');
  // A line printed meanwhile would appear in the middle of the list.
  const unseen = () => {};
  const silent = { ...reporter, trace: unseen, notice: unseen };
  const { clock, signal } = context;
  const reading = { pageSize: PAGE_SIZE, concurrency: CONCURRENCY, clock, signal };
  await withService({ ...call, reporter: silent }, (service) =>
    browse(call, filters, (chosen) => findEvents(service, chosen, reading), replay),
  );
}

/** Replays one event; undefined without a handler. A passphrase for the Api-Token is asked for now, before the list. */
async function replayer(
  { forwardTo, forwardTimeout }: Options,
  { flags, context, reporter }: Call<Flags>,
): Promise<Replay | undefined> {
  if (forwardTo === undefined) return undefined;
  const { loadSettings } = await import('../../settings/settings.ts');
  const { apiTokenOrWarning } = await import('../../webhooks/api-token.ts');
  const { replayOne } = await import('../../webhooks/replay.ts');
  const apiToken = await apiTokenOrWarning(await loadSettings(flags, context), context, reporter);
  return (event) => replayOne(event.text(0), { forwardTo, timeout: forwardTimeout, apiToken }, context);
}
