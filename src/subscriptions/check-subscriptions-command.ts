import type { Command } from 'commander';
import type { Call } from '../command.ts';
import { addConnectionFlags, addTimezoneFlag } from '../settings/setting-names.ts';
import type { SettingFlags } from '../settings/settings.ts';
import type { CheckFlags } from './check-subscriptions.ts';

export const help = `
Checks the callback addresses of subscriptions from this machine: the name, the
connection, the certificate (issuer, expiry, host) and, over a verified
connection only, the status of the answer to HEAD. Any answer means reachable.
No event, query or secret is sent, and no redirect is followed. It asks before
it connects to hosts that are not in your settings. The exit code is 1 if an
endpoint is broken. The service may see something different from this machine.`;

export const examples = [
  'hooktrail subscriptions check',
  'hooktrail subscriptions check hooks.example.com --yes --json',
];

export function declare(command: Command): void {
  command
    .argument('[word]', 'an id, or a part of addresses; without it all that are on')
    .option('--allow-private', 'also connect to private addresses')
    .option('-y, --yes', 'do not ask; needed without a terminal')
    .option('--json', 'print what was found as a JSON array');
  addTimezoneFlag(command);
  addConnectionFlags(command);
}

export async function run(call: Call<CheckFlags & SettingFlags>): Promise<void> {
  const zone = call.settings.zone;
  const { checkSubscriptions } = await import('./check-subscriptions.ts');
  await checkSubscriptions(call.args[0], zone, call);
}
