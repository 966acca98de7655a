import type { Command } from 'commander';
import type { Call } from '../command.ts';
import { UsageError } from '../errors.ts';
import type { SettingFlags } from '../settings/settings.ts';
import {
  addChangeFlags,
  addSubscriptionArgument,
  type ChangeFlags,
  callbackUrl,
  givenNames,
  pointOut,
} from './subscription-flags.ts';
import type { Update } from './update-subscription.ts';

interface Flags extends ChangeFlags, SettingFlags, Update {}

export const help = `
Reads the subscription, shows what would change, and asks. Then it is written
back whole: everything that no flag names stays byte for byte, including whether
it is on. If somebody else changed it meanwhile, nothing is written, and their
change is shown (exit code 1). A type must be on offer (case is ignored); a
pattern such as 'order.*' stands for the types that match now, not for types
offered later.`;

export const examples = [
  `hooktrail subscriptions update 0f8fad5b-d9cb-469f-a165-70867728950e \\
      --url https://hooks.example.com/v2`,
  "hooktrail subscriptions update hooks.example.com --add-type 'order.*'",
  `hooktrail subscriptions update hooks.example.com --remove-type order.paid \\
      --dry-run`,
];

export function declare(command: Command): void {
  addSubscriptionArgument(command)
    .option('--url <url>', 'the address that deliveries go to from now on', callbackUrl)
    .option(
      '--add-type <name>',
      'also deliver this type (repeatable, or with commas)',
      givenNames('--add-type'),
    )
    .option(
      '--remove-type <name>',
      'no longer deliver this type (repeatable, or with commas)',
      givenNames('--remove-type'),
    )
    .option(
      '--add-marketplace <id>',
      'also deliver events of this marketplace (repeatable)',
      givenNames('--add-marketplace'),
    )
    .option(
      '--remove-marketplace <id>',
      'no longer deliver events of this marketplace (repeatable)',
      givenNames('--remove-marketplace'),
    );
  addChangeFlags(command, 'subscriptionId, written, changes, subscription');
}

export async function run(call: Call<Flags>): Promise<void> {
  const { flags, args, reporter } = call;
  const { url, addType, removeType, addMarketplace, removeMarketplace } = flags;
  if (![url, addType, removeType, addMarketplace, removeMarketplace].some(Boolean))
    throw new UsageError('nothing to change: no flag is given', {
      next: 'give --url, --add-type, --remove-type, --add-marketplace or --remove-marketplace',
    });
  if (url !== undefined) pointOut(url, reporter);
  const { updateSubscription } = await import('./update-subscription.ts');
  await updateSubscription(args[0] as string, flags, call);
}
