import type { Command } from 'commander';
import type { Action, Call } from '../../command.ts';
import { UsageError } from '../../errors.ts';
import { addFilterFlags, eventFilters, type FilterFlags } from '../../events/event-flags.ts';
import { addConnectionFlags } from '../../settings/setting-flags.ts';
import type { SettingFlags } from '../../settings/settings.ts';
import { redraws } from '../../terminal/palette.ts';

interface Flags extends FilterFlags, SettingFlags {}

export function declare(command: Command, action: Action): void {
  addConnectionFlags(addFilterFlags(command))
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
  const { withService } = await import('../../sign-in/connect.ts');
  const { browse } = await import('../../browse/browse.ts');
  // A line printed between would stand in the middle of the list.
  const unseen = () => {};
  const silent = { ...reporter, trace: unseen, notice: unseen };
  await withService({ ...call, reporter: silent }, (service) => browse(call, service, filters));
}
