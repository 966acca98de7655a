import type { Command } from 'commander';
import type { Action, Call } from '../../command.ts';
import { UsageError } from '../../errors.ts';
import {
  addFilterFlags,
  addFromFlag,
  eventFilters,
  type FilterFlags,
  type FromFlags,
} from '../../events/event-flags.ts';
import { addConnectionFlags } from '../../settings/setting-flags.ts';
import type { SettingFlags } from '../../settings/settings.ts';
import { redraws } from '../../terminal/palette.ts';

interface Flags extends FilterFlags, FromFlags, SettingFlags {}

/** Few enough to come fast, many enough for several screens. */
const PAGE_SIZE = 200;
const CONCURRENCY = 2;

export function declare(command: Command, action: Action): void {
  addConnectionFlags(addFromFlag(addFilterFlags(command)))
    .addHelpText(
      'after',
      `
Keys: arrows, page up and down, home and end move; enter opens the event, n and
p go on to the next and the previous one, esc goes back; / filters what was read
so far as you type, esc clears that; f shows failures only; r reads again; y
copies the event's id, to tmux's buffer or the terminal's clipboard; o opens a
report, which is deleted at the end; ? lists the keys; q leaves.

Examples:
  $ hooktrail events browse --failed --since 24h
  $ hooktrail events browse --type document.signed`,
    )
    .action(action(run));
}

async function run(call: Call<Flags>): Promise<void> {
  const { flags, context, reporter } = call;
  const filters = eventFilters(flags, context.clock.now());
  if (!context.stdin.isTerminal || !context.stdout.isTerminal || !redraws(context.environment)) {
    throw new UsageError('events browse needs a terminal to show its list on and to read keys from', {
      next: 'use `hooktrail events search` with the same filters',
    });
  }
  if (flags.from === '-')
    throw new UsageError('--from - cannot be browsed: standard input is where the keys come from');
  const { browse } = await import('../../browse/browse.ts');
  // A line printed between would stand in the middle of the list.
  const unseen = () => {};
  const silent = { ...reporter, trace: unseen, notice: unseen };
  const { clock, signal } = context;
  const reading = { pageSize: PAGE_SIZE, concurrency: CONCURRENCY, clock, signal };
  const { from } = flags;
  if (from !== undefined) {
    const { storedEvents } = await import('../../events/stored-events.ts');
    await browse(call, filters, (chosen) => storedEvents(from, chosen, { context }));
    return;
  }
  const { withService } = await import('../../sign-in/connect.ts');
  const { findEvents } = await import('../../events/find-events.ts');
  await withService({ ...call, reporter: silent }, (service) =>
    browse(call, filters, (chosen) => findEvents(service, chosen, reading)),
  );
}
