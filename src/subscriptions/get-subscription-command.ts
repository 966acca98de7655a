import type { Command } from 'commander';
import type { Call } from '../command.ts';
import {
  addListFlags,
  choosesFormat,
  type FormatFlags,
  formatOptions,
  type OutputFlags,
} from '../formats/format-flags.ts';
import { tableNote } from '../formats/table-note.ts';
import type { SettingFlags } from '../settings/settings.ts';
import { addSubscriptionArgument } from './subscription-flags.ts';

interface Flags extends FormatFlags, OutputFlags, SettingFlags {}

export const help = `
Prints one subscription, with its whole callback address, exactly as the service
wrote it. It is named by its id, or by a part of the address of one that is
switched on. Without a format it is one JSON object, indented on a terminal, and
--jq runs over that object; --json is an array of one.`;

export const examples = [
  'hooktrail subscriptions get 0f8fad5b-d9cb-469f-a165-70867728950e',
  'hooktrail subscriptions get hooks.example.com --jq .subscriptionRules',
];

export function declare(command: Command): void {
  addSubscriptionArgument(command);
  addListFlags(command);
}

export async function run(call: Call<Flags>): Promise<void> {
  const { flags, args, context } = call;
  const format = formatOptions(flags, 'subscriptions');
  const isForProgram = flags.jq !== undefined || !context.stdout.isTerminal;
  const usual = isForProgram ? ('ndjson' as const) : ('pretty' as const);
  const isUsual = !choosesFormat(flags) && (flags.jq !== undefined || !flags.outputFile);
  const note = () => tableNote(call, { facts: ['1 subscription'] });
  const chosen = format.format === 'markdown' ? { ...format, note } : format;
  const options = isUsual ? { ...format, format: usual } : chosen;
  const { printSubscription } = await import('./subscriptions.ts');
  await printSubscription(args[0] as string, options, call);
}
