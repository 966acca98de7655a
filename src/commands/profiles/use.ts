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
  const { savedProfileName, unknownProfile } = await import('../../settings/settings.ts');
  const typed = args[0] as string;
  let name = typed;
  await changeConfig(context, (config) => {
    const saved = savedProfileName(typed, config);
    if (saved === undefined) throw unknownProfile(typed, config);
    config.profile = name = saved;
  });
  reporter.notice(`switched to profile '${name}'`);
}
