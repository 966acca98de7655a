import type { Command } from 'commander';
import type { Action, Call } from '../../command.ts';
import { UsageError } from '../../errors.ts';

export function declare(command: Command, action: Action): void {
  command
    .argument('<key>', 'a setting, such as base-url')
    .addHelpText(
      'after',
      `
Examples:
  $ hooktrail config get base-url
  $ hooktrail config get vendor --profile staging`,
    )
    .action(action(run));
}

async function run({ flags, args, context }: Call): Promise<void> {
  const { readConfig } = await import('../../settings/config-file.ts');
  const { settingNames, settingOfKey } = await import('../../settings/setting-names.ts');
  const { chooseProfile } = await import('../../settings/settings.ts');
  const { key } = settingNames[settingOfKey(args[0] as string)];
  const config = await readConfig(context);
  const { profile } = chooseProfile(flags, context.environment, config);
  const value = config.profiles[profile]?.[key];
  if (value === undefined) {
    throw new UsageError(`${key} is not saved in the profile '${profile}'`, {
      next: `save it with \`hooktrail config set ${key} VALUE\``,
    });
  }
  const { terminalSafeLine } = await import('../../terminal/terminal-safe.ts');
  await context.stdout.write(`${context.stdout.isTerminal ? terminalSafeLine(value) : value}\n`);
}
