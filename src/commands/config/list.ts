import type { Command } from 'commander';
import type { Action, Call } from '../../command.ts';

interface Flags {
  readonly json?: true;
}

export function declare(command: Command, action: Action): void {
  command
    .option('--json', 'print the settings as a JSON object')
    .addHelpText(
      'after',
      `
Examples:
  $ hooktrail config
  $ hooktrail config list --profile staging --json`,
    )
    .action(action(run));
}

async function run({ flags, context, reporter }: Call<Flags>): Promise<void> {
  const { readConfig } = await import('../../settings/config-file.ts');
  const { chooseProfile } = await import('../../settings/settings.ts');
  const config = await readConfig(context);
  const { profile } = chooseProfile(flags, context.environment, config);
  const saved = config.profiles[profile] ?? {};
  if (flags.json) {
    const { printJson } = await import('../../output/print-json.ts');
    await printJson(saved, undefined, context, reporter, JSON.stringify(saved));
    return;
  }
  if (Object.keys(saved).length === 0) reporter.notice(`nothing is saved in the profile '${profile}'`);
  const { terminalSafeLine } = await import('../../terminal/terminal-safe.ts');
  for (const [key, value] of Object.entries(saved))
    await context.stdout.write(`${terminalSafeLine(`${key}=${value}`)}\n`);
}
