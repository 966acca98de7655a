import type { Command } from 'commander';
import type { Call, CommandModule } from '../command.ts';
import type { SettingFlags } from '../settings/settings.ts';
import { addChangeFlags, addSubscriptionArgument, type ChangeFlags } from './subscription-flags.ts';

type SwitchCall = Call<ChangeFlags & SettingFlags>;

export const enable: CommandModule = {
  help: `
Asks, and switches a subscription on. Nothing else changes: it is read, and
written back whole under its ETag.`,
  examples: [
    'hooktrail subscriptions enable 0f8fad5b-d9cb-469f-a165-70867728950e',
    'hooktrail subscriptions enable hooks.example.com --dry-run',
  ],
  declare,
  run: (call: SwitchCall) => switchTo(true, call),
};

export const disable: CommandModule = {
  help: `
Asks, and switches a subscription off. Nothing else changes. Deliveries stop,
and \`subscriptions\` no longer lists it: note the id, by which \`subscriptions
enable\` switches it on again.`,
  examples: [
    'hooktrail subscriptions disable 0f8fad5b-d9cb-469f-a165-70867728950e',
    'hooktrail subscriptions disable hooks.example.com --dry-run',
  ],
  declare,
  run: (call: SwitchCall) => switchTo(false, call),
};

function declare(command: Command): void {
  addSubscriptionArgument(command);
  addChangeFlags(command, 'subscriptionId, written, changes, subscription');
}

async function switchTo(isOn: boolean, call: SwitchCall): Promise<void> {
  const { changeSubscription } = await import('./change-subscription.ts');
  const { IS_ENABLED } = await import('./subscription-text.ts');
  const question = isOn ? 'Switch this subscription on?' : 'Switch this subscription off?';
  await changeSubscription(
    call.args[0] as string,
    question,
    (now) => now.with(IS_ENABLED, String(isOn)),
    call,
  );
}
