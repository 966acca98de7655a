import type { Command } from 'commander';
import type { Action, Call } from '../../command.ts';

export function declare(command: Command, action: Action): void {
  command
    .argument(
      '<name>',
      'the profile that commands use when neither --profile nor HOOKTRAIL_PROFILE names one',
    )
    .addHelpText(
      'after',
      `
Examples:
  $ hooktrail profiles use staging
  $ hooktrail profiles use default`,
    )
    .action(action(run));
}

async function run({ args, context, reporter }: Call): Promise<void> {
  const { changeConfig } = await import('../../settings/config-file.ts');
  const { unknownProfile } = await import('../../settings/settings.ts');
  const name = args[0] as string;
  await changeConfig(context, (config) => {
    if (!Object.hasOwn(config.profiles, name)) throw unknownProfile(name, config);
    config.profile = name;
  });
  reporter.notice(`switched to profile '${name}'`);
}
