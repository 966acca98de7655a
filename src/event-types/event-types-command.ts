import type { Command } from 'commander';
import type { Call } from '../command.ts';
import { addListFlags, type FormatFlags, formatOptions } from '../formats/format-flags.ts';
import { tableNote } from '../formats/table-note.ts';
import { wholeNumber } from '../settings/flag-values.ts';
import type { SettingFlags } from '../settings/settings.ts';

interface Flags extends FormatFlags, SettingFlags {
  readonly match?: string;
  readonly limit?: number;
}

export const examples = ['hooktrail event-types', 'hooktrail event-types --match sign --json'];

export function declare(command: Command): void {
  command
    .option('--match <text>', 'only those with this text in a value, ignoring case')
    .option('-n, --limit <number>', 'stop after this many event types', wholeNumber('--limit', 1));
  addListFlags(command);
}

/** The command line in its final form. */
function optionsOf(call: Call<Flags>) {
  const { flags } = call;
  const note = (count: number) =>
    tableNote(call, { facts: [`${count} ${count === 1 ? 'event type' : 'event types'}`] });
  return { match: flags.match, limit: flags.limit, format: { ...formatOptions(flags, 'event-types'), note } };
}

export async function run(call: Call<Flags>): Promise<void> {
  const options = optionsOf(call);
  const { listEventTypes } = await import('./list-event-types.ts');
  await listEventTypes(options, call);
}
