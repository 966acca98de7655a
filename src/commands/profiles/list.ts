import type { Command } from 'commander';
import type { Action, Call } from '../../command.ts';

interface Flags {
  readonly json?: true;
}

export function declare(command: Command, action: Action): void {
  command
    .option('--json', 'print the profiles as a JSON array')
    .addHelpText(
      'after',
      `
Examples:
  $ hooktrail profiles
  $ hooktrail profiles list --json`,
    )
    .action(action(run));
}

async function run({ flags, context, reporter }: Call<Flags>): Promise<void> {
  const { readConfig } = await import('../../settings/config-file.ts');
  const { chooseProfile } = await import('../../settings/settings.ts');
  const config = await readConfig(context);
  const active = chooseProfile(flags, context.environment, config).profile;
  const profiles = Object.entries(config.profiles).map(([name, saved]) => ({
    name,
    active: name === active,
    baseUrl: saved['base-url'] ?? null,
    authUrl: saved['auth-url'] ?? null,
    clientId: saved['client-id'] ?? null,
  }));
  if (flags.json) {
    const { printJson } = await import('../../output/print-json.ts');
    await printJson(profiles, undefined, context, reporter, JSON.stringify(profiles));
    return;
  }
  if (profiles.length === 0) {
    reporter.notice('no profiles yet: `hooktrail login` saves one');
    return;
  }
  const { renderTable } = await import('../../output/table-drawing.ts');
  const rows = profiles.map((profile) => [
    profile.active ? '*' : '',
    profile.name,
    profile.baseUrl ?? '-',
    profile.authUrl ?? '-',
    profile.clientId ?? '-',
  ]);
  const header = ['', 'profile', 'event service', 'identity provider', 'client id'];
  await context.stdout.write(await renderTable(header, rows, context.stdout, reporter));
}
