import type { Command } from 'commander';
import type { Call } from '../command.ts';
import type { SettingFlags } from '../settings/settings.ts';
import { addChangeFlags, addSubscriptionArgument, type ChangeFlags } from './subscription-flags.ts';

export const help = `
Asks, gets another Api-Token, and saves it before anything is printed. The old
one is invalid at once: \`webhooks listen --subscription\` takes the new one over
without a restart, and handlers of your own need it from \`subscriptions token\`.
The request is not repeated: if the answer is lost, renew again.`;

export const examples = [
  'hooktrail subscriptions renew 0f8fad5b-d9cb-469f-a165-70867728950e',
  'hooktrail subscriptions renew hooks.example.com',
];

export function declare(command: Command): void {
  addSubscriptionArgument(command);
  addChangeFlags(command, 'subscriptionId, savedIn');
}

export async function run(call: Call<ChangeFlags & SettingFlags>): Promise<void> {
  const { renewToken } = await import('./renew-subscription.ts');
  await renewToken(call.args[0] as string, call);
}
