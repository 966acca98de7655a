import type { Command } from 'commander';
import { advise, hooktrail } from '../advice.ts';
import type { Call } from '../command.ts';
import { UsageError } from '../errors.ts';
import type { SettingFlags } from '../settings/settings.ts';
import { addChangeFlags, type ChangeFlags, callbackUrl, givenNames, pointOut } from './subscription-flags.ts';

interface Flags extends ChangeFlags, Omit<SettingFlags, 'marketplace'> {
  readonly url?: string;
  readonly type?: readonly string[];
  readonly marketplace?: readonly string[];
}

export const help = `
Asks, creates a subscription, and prints its id. The service sends the Api-Token
only in this answer, so it is saved with your other secrets before anything is
printed. \`subscriptions token\` prints it, and \`webhooks listen --subscription\`
uses it. No request is repeated: if the answer is lost, look at \`subscriptions\`.
A type must be on offer (case is ignored); a pattern such as 'order.*' stands
for the types that match now, not for types offered later. The service requires
at least one marketplace: a terminal offers those of your other subscriptions.`;

export const examples = [
  "hooktrail subscriptions create --url https://a.example.com --type 'order.*'",
  `hooktrail subscriptions create --url https://hooks.example.com/in \\
      --type order.created,order.paid --marketplace 10000 --dry-run`,
];

export function declare(command: Command): void {
  command
    .option('--url <url>', 'the address that deliveries go to', callbackUrl)
    .option('--type <name>', 'deliver this type (repeatable, or with commas)', givenNames('--type'))
    .option(
      '--marketplace <id>',
      'deliver events of this marketplace (repeatable, or with commas)',
      givenNames('--marketplace'),
    );
  addChangeFlags(command, 'subscriptionId, savedIn');
}

export async function run(call: Call<Flags>): Promise<void> {
  const { flags, reporter } = call;
  // The setting `marketplace` is a filter of events, so the flag must not reach it.
  const { url, type, marketplace, ...others } = flags;
  if (url === undefined || type === undefined)
    throw new UsageError(`${missingFlags(flags)}: needed for a subscription`, {
      next:
        type === undefined
          ? advise`${hooktrail('event-types')} lists the types on offer`
          : 'give the address of your webhook, as in --url https://hooks.example.com/in',
    });
  pointOut(url, reporter);
  const { createSubscription } = await import('./create-subscription.ts');
  const content = { url, types: type, marketplaces: marketplace ?? [] };
  await createSubscription(content, { ...call, flags: others });
}

function missingFlags({ url, type, marketplace }: Flags): string {
  const missing = Object.entries({ '--url': url, '--type': type, '--marketplace': marketplace })
    .filter(([, value]) => value === undefined)
    .map(([flag]) => flag);
  const last = missing.pop();
  return missing.length === 0 ? `${last}` : `${missing.join(', ')} and ${last}`;
}
