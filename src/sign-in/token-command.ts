import type { Command } from 'commander';
import type { Call } from '../command.ts';
import { addConnectionFlags } from '../settings/setting-names.ts';
import type { SettingFlags } from '../settings/settings.ts';

interface Flags extends SettingFlags {
  readonly json?: true;
}

export const help = `
The token is valid for at least another minute: it is refreshed first if needed.
With --json, origin is the origin of the event service that the token is for;
unknown values are null.`;

export const examples = [
  `curl -H "Authorization: Bearer $(hooktrail token)" \\
      -H 'Accept: application/vnd.acme.v1+json' \\
      https://events.example.com/v1/event-types`,
  'export HOOKTRAIL_ACCESS_TOKEN="$(hooktrail token --profile staging)"',
  'hooktrail token --json | jq -r .expiresAt',
];

export function declare(command: Command): void {
  command.option('--json', 'print one JSON object: token, expiresAt, scope, origin');
  addConnectionFlags(command);
}

export async function run(call: Call<Flags>): Promise<void> {
  const { flags, context } = call;
  const { openSession } = await import('./session.ts');
  const { settings, tokens } = await openSession(call);
  const token = await tokens.accessToken();
  if (!flags.json) return await context.stdout.write(`${token}\n`);
  const { expiresAt, scope } = tokens.latest() ?? {};
  const shown = {
    token,
    expiresAt: expiresAt === undefined ? null : new Date(expiresAt).toISOString(),
    scope: scope ?? null,
    origin: settings.baseUrl?.origin ?? null,
  };
  await context.stdout.write(`${JSON.stringify(shown, null, 2)}\n`);
}
