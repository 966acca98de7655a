import type { Command } from 'commander';
import type { Action, Call, CommandModule } from '../command.ts';
import { UsageError } from '../errors.ts';
import { parseSetting, settingNames, settingOfKey } from '../settings/setting-names.ts';
import { changeConfig, chooseProfile, configPath, readConfig } from '../settings/settings.ts';
import { terminalSafeLine } from '../terminal/terminal-text.ts';

interface ListFlags {
  readonly json?: true;
}

export const list: CommandModule = {
  declare(command: Command, action: Action) {
    command
      .option('--json', 'print the settings as a JSON object')
      .addHelpText(
        'after',
        `
Examples:
  $ hooktrail config
  $ hooktrail config list --profile staging --json`,
      )
      .action(action(listSettings));
  },
};

async function listSettings({ flags, context, reporter }: Call<ListFlags>): Promise<void> {
  const config = await readConfig(context);
  const { profile } = chooseProfile(flags, context.environment, config);
  const saved = config.profiles[profile] ?? {};
  if (flags.json) {
    const { printJson } = await import('../output/formats.ts');
    return await printJson(saved, undefined, context, reporter, JSON.stringify(saved));
  }
  if (Object.keys(saved).length === 0) reporter.notice(`nothing is saved in the profile '${profile}'`);
  for (const [key, value] of Object.entries(saved))
    await context.stdout.write(`${terminalSafeLine(`${key}=${value}`)}\n`);
}

export const get: CommandModule = {
  declare(command: Command, action: Action) {
    command
      .argument('<key>', 'a setting, such as base-url')
      .addHelpText(
        'after',
        `
Examples:
  $ hooktrail config get base-url
  $ hooktrail config get vendor --profile staging`,
      )
      .action(action(getSetting));
  },
};

async function getSetting({ flags, args, context }: Call): Promise<void> {
  const { key } = settingNames[settingOfKey(args[0] as string)];
  const config = await readConfig(context);
  const { profile } = chooseProfile(flags, context.environment, config);
  const value = config.profiles[profile]?.[key];
  if (value === undefined) {
    throw new UsageError(`${key} is not saved in the profile '${profile}'`, {
      next: `save it with \`hooktrail config set ${key} VALUE\``,
    });
  }
  await context.stdout.write(`${context.stdout.isTerminal ? terminalSafeLine(value) : value}\n`);
}

export const set: CommandModule = {
  declare(command: Command, action: Action) {
    command
      .argument('<key>', 'a setting, such as base-url; key=value works too')
      .argument('[value]', 'its value, checked before it is saved')
      .addHelpText(
        'after',
        `
Examples:
  $ hooktrail config set base-url https://events.example.com/v1
  $ hooktrail config set timezone Europe/Berlin
  $ hooktrail config set fields createdOn,eventType,eventId --profile staging`,
      )
      .action(action(setSetting));
  },
};

async function setSetting({ flags, args, context, reporter }: Call): Promise<void> {
  const [first = '', second] = args;
  // As `config list` prints it.
  const [, typed = first, text = second] = (second === undefined && /^([^=]*)=(.*)$/s.exec(first)) || [];
  const name = settingOfKey(typed);
  const { key } = settingNames[name];
  if (text === undefined)
    throw new UsageError(`config set needs <value>`, {
      next: `\`hooktrail config unset ${key}\` removes it; \`hooktrail config set --help\` shows examples`,
    });
  parseSetting(name, text, key);
  let profile = '';
  await changeConfig(context, (config) => {
    ({ profile } = chooseProfile(flags, context.environment, config));
    config.profiles[profile] = { ...config.profiles[profile], [key]: text };
  });
  reporter.notice(`saved ${key} in profile '${profile}'`);
}

export const unset: CommandModule = {
  declare(command: Command, action: Action) {
    command
      .argument('<key>', 'a setting, such as issuer')
      .addHelpText(
        'after',
        `
Examples:
  $ hooktrail config unset issuer
  $ hooktrail config unset redirect-uri --profile staging`,
      )
      .action(action(unsetSetting));
  },
};

async function unsetSetting({ flags, args, context, reporter }: Call): Promise<void> {
  const { key } = settingNames[settingOfKey(args[0] as string)];
  let [profile, wasSaved] = ['', false];
  await changeConfig(context, (config) => {
    ({ profile } = chooseProfile(flags, context.environment, config));
    wasSaved = config.profiles[profile]?.[key] !== undefined;
    delete config.profiles[profile]?.[key];
  });
  reporter.notice(
    wasSaved ? `removed ${key} from profile '${profile}'` : `${key} is not saved in profile '${profile}'`,
  );
}

export const path: CommandModule = {
  declare(command: Command, action: Action) {
    command
      .addHelpText(
        'after',
        `
Examples:
  $ hooktrail config path
  $ ls -l "$(hooktrail config path)"`,
      )
      .action(action(async ({ context }: Call) => await context.stdout.write(`${configPath(context)}\n`)));
  },
};
