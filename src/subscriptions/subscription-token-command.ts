import type { Command } from 'commander';
import { advise, hooktrail } from '../advice.ts';
import type { Call } from '../command.ts';
import { UsageError } from '../errors.ts';
import { pastedGuid } from '../items/guids.ts';
import { addConnectionFlags } from '../settings/setting-names.ts';
import type { SettingFlags } from '../settings/settings.ts';
import { addSubscriptionArgument } from './subscription-flags.ts';

export const help = `
Prints the Api-Token that \`subscriptions create\` or \`renew\` saved here, and
nothing else, for a handler of your own. The service shows a token only once: if
none is saved here, \`subscriptions renew\` gets another.`;

export const examples = [
  'hooktrail subscriptions token 0f8fad5b-d9cb-469f-a165-70867728950e',
  'export API_TOKEN="$(hooktrail subscriptions token hooks.example.com)"',
];

export function declare(command: Command): void {
  addSubscriptionArgument(command);
  addConnectionFlags(command);
}

export async function run(call: Call<SettingFlags>): Promise<void> {
  const { context, reporter } = call;
  const settings = call.settings.checked();
  const id = await idOfWord(call.args[0] as string, call);
  const { openApiTokens } = await import('../secrets/api-tokens.ts');
  const saved = openApiTokens(settings, context).of(id);
  const token = await saved.read();
  if (token === undefined)
    throw new UsageError(`no Api-Token is saved here for the subscription ${id}`, {
      next: advise`${hooktrail('subscriptions renew', id)} gets another, and makes the present one invalid`,
    });
  if (await saved.isInDoubt())
    reporter.warning('a renewal was begun, but its outcome is unknown: this token may be invalid', {
      kind: 'service',
      next: advise`${hooktrail('subscriptions renew', id)} gets another`,
    });
  await context.stdout.write(`${token}\n`);
}

async function idOfWord(word: string, call: Call<SettingFlags>): Promise<string> {
  const given = pastedGuid(word);
  if (given !== undefined) return given;
  const { withService } = await import('../sign-in/session.ts');
  const { idOf } = await import('./change-subscription.ts');
  return await withService(call, (service) => idOf(word, service, call));
}
