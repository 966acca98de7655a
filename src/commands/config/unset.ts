import type { Command } from 'commander';
import type { Action, Call } from '../../command.ts';

export function declare(command: Command, action: Action): void {
  command
    .argument('<key>', 'a setting, such as issuer')
    .addHelpText(
      'after',
      `
Examples:
  $ hooktrail config unset issuer
  $ hooktrail config unset redirect-uri --profile staging`,
    )
    .action(action(run));
}

async function run({ flags, args, context, reporter }: Call): Promise<void> {
  const { changeConfig } = await import('../../settings/config-file.ts');
  const { settingNames, settingOfKey } = await import('../../settings/setting-names.ts');
  const { chooseProfile } = await import('../../settings/settings.ts');
  const { key } = settingNames[settingOfKey(args[0] as string)];
  let profile = '';
  await changeConfig(context, (config) => {
    ({ profile } = chooseProfile(flags, context.environment, config));
    delete config.profiles[profile]?.[key];
  });
  reporter.notice(`removed ${key} from profile '${profile}'`);
}
