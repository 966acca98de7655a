import type { Command } from 'commander';
import type { Action, Call } from '../../command.ts';

export function declare(command: Command, action: Action): void {
  command
    .argument('<key>', 'a setting, such as base-url')
    .argument('<value>', 'its value, checked before it is saved')
    .addHelpText(
      'after',
      `
Examples:
  $ hooktrail config set base-url https://events.example.com/v1
  $ hooktrail config set store file --profile staging`,
    )
    .action(action(run));
}

async function run({ flags, args, context, reporter }: Call): Promise<void> {
  const { changeConfig } = await import('../../settings/config-file.ts');
  const { settingNames, settingOfKey } = await import('../../settings/setting-names.ts');
  const { chooseProfile } = await import('../../settings/settings.ts');
  const { parseSetting } = await import('../../settings/setting-values.ts');
  const [name, text] = [settingOfKey(args[0] as string), args[1] as string];
  const { key } = settingNames[name];
  parseSetting(name, text, key);
  let profile = '';
  await changeConfig(context, (config) => {
    ({ profile } = chooseProfile(flags, context.environment, config));
    config.profiles[profile] = { ...config.profiles[profile], [key]: text };
  });
  reporter.notice(`saved ${key} in profile '${profile}'`);
}
