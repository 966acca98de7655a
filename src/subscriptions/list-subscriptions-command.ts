import type { Command } from 'commander';
import type { Call } from '../command.ts';
import { addListFlags, type FormatFlags, formatOptions } from '../formats/format-flags.ts';
import { formatTraits } from '../formats/format-registry.ts';
import { tableNote } from '../formats/table-note.ts';
import { memberPath, parseFieldPaths } from '../items/field-path.ts';
import type { SettingFlags } from '../settings/settings.ts';

interface Flags extends FormatFlags, SettingFlags {
  readonly all?: true;
}

export const help = `
The subscriptions of the customer who is signed in that are switched on, as the
service lists them. Those that are off or gone are not in that list: --all adds
each that had events in the last 30 days, with a state. Addresses often carry a
secret: tables, CSV and Markdown show the host and the harmless part of the
path; JSON has the whole address.`;

export const examples = [
  'hooktrail subscriptions',
  'hooktrail subscriptions list --all',
  "hooktrail subscriptions list --jq '.[].callbackUrl'",
];

export function declare(command: Command): void {
  command.option('--all', 'also those that are off or gone and had events in the last 30 days');
  addListFlags(command);
}

const COLUMNS = [
  ...['callbackUrl', 'isEnabled'].map(memberPath),
  ...parseFieldPaths('subscriptionRules.eventTypes,subscriptionRules.marketplaces'),
  memberPath('subscriptionId'),
];

/** Columns may be missing in some services. */
const usual = (areAllWanted: boolean) => ({
  fields: areAllWanted ? [memberPath('state'), ...COLUMNS] : COLUMNS,
  areFieldsSaved: true,
});

export async function run(call: Call<Flags>): Promise<void> {
  const { flags } = call;
  const format = formatOptions(flags, 'subscriptions');
  const isExact = !formatTraits(format.format).hasColumns;
  const note = (count: number) =>
    tableNote(call, { facts: [`${count} ${count === 1 ? 'subscription' : 'subscriptions'}`] });
  const areAllWanted = flags.all === true;
  // A table on a terminal is followed by a longer notice instead.
  const ownNote = format.format === 'table' ? {} : { note };
  const own = { ...ownNote, ...(format.fields ? {} : usual(areAllWanted)) };
  const options = isExact ? format : { ...format, ...own };
  const { printSubscriptions } = await import('./subscriptions.ts');
  await printSubscriptions({ isMasked: !isExact, areAllWanted, format: options }, call);
}
