import type { Command } from 'commander';
import type { Action, Call } from '../command.ts';
import { addConnectionFlags } from '../settings/setting-flags.ts';
import type { SettingFlags } from '../settings/settings.ts';

export function declare(command: Command, action: Action): void {
  addConnectionFlags(command)
    .addHelpText(
      'after',
      `
The token is good for another minute at least: it is refreshed first if need be.

Examples:
  $ curl -H "Authorization: Bearer $(hooktrail token)" \\
      -H 'Accept: application/vnd.acme.v1+json' \\
      https://events.example.com/v1/event-types
  $ export HOOKTRAIL_ACCESS_TOKEN="$(hooktrail token --profile staging)"`,
    )
    .action(action(run));
}

async function run({ flags, context, reporter }: Call<SettingFlags>): Promise<void> {
  const { openSession } = await import('../sign-in/session.ts');
  const { tokens } = await openSession(flags, context, reporter);
  await context.stdout.write(`${await tokens.accessToken()}\n`);
}
