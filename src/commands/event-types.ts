import type { Command } from 'commander';
import type { Action, Call } from '../command.ts';
import {
  addFormatFlags,
  addOutputFileFlag,
  type FormatFlags,
  formatOptions,
} from '../output/format-flags.ts';
import { addConnectionFlags } from '../settings/setting-names.ts';
import type { SettingFlags } from '../settings/settings.ts';

interface Flags extends FormatFlags, SettingFlags {
  readonly match?: string;
}

export function declare(command: Command, action: Action): void {
  command.option('--match <text>', 'only those with this text in a value, ignoring case');
  addFormatFlags(command);
  addOutputFileFlag(command);
  addConnectionFlags(command)
    .addHelpText(
      'after',
      `
Examples:
  $ hooktrail event-types
  $ hooktrail event-types --match sign --json`,
    )
    .action(action(run));
}

/** The command line in its final form. */
function optionsOf({ flags }: Call<Flags>) {
  return { match: flags.match, format: formatOptions(flags, 'event-types') };
}

async function run(call: Call<Flags>): Promise<void> {
  const { match, format } = optionsOf(call);
  const { context, reporter } = call;
  const { withService } = await import('../sign-in/session.ts');
  await withService(call, async (service, settings) => {
    const { askEventTypes, keepEventTypes, matchingItems } = await import('../events/event-types.ts');
    const { createItemWriter } = await import('../output/create-item-writer.ts');
    const writer = await createItemWriter(format, context, reporter);
    try {
      const { items: all } = (await askEventTypes(service, context.clock)).page;
      await keepEventTypes(all, settings, context);
      const items = match === undefined ? all : matchingItems(all, match);
      if (items.count > 0) await writer.write(items, true);
    } catch (error) {
      await writer.abort();
      throw error;
    }
    await writer.end();
  });
}
