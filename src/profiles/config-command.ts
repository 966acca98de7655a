import { advise, hooktrail } from '../advice.ts';
import type { Call, CommandModule } from '../command.ts';
import { UsageError } from '../errors.ts';
import { parseSetting, settingNames, settingOfKey } from '../settings/setting-names.ts';
import {
  changeConfig,
  chooseProfile,
  configPath,
  readConfig,
  type SavedProfile,
  savedText,
} from '../settings/settings.ts';
import { terminalSafeLine } from '../terminal/terminal-text.ts';

export const list: CommandModule = {
  examples: ['hooktrail config', 'hooktrail config list --profile staging --json'],
  declare: (command) => command.option('--json', 'print the settings as a JSON object'),
  run: listSettings,
};

async function listSettings(call: Call<{ readonly json?: true }>): Promise<void> {
  const { flags, context, reporter } = call;
  const { profile, saved } = await readProfile(call);
  if (flags.json) {
    const { printJson } = await import('../formats/item-writer.ts');
    return await printJson(saved, undefined, context, reporter);
  }
  if (Object.keys(saved).length === 0) reporter.notice(`nothing is saved in the profile '${profile}'`);
  for (const [key, value] of Object.entries(saved))
    await context.stdout.write(`${terminalSafeLine(`${key}=${value}`)}\n`);
}

async function readProfile({ flags, context }: Call): Promise<{ profile: string; saved: SavedProfile }> {
  const config = await readConfig(context);
  const { profile, profileExists } = chooseProfile(flags, context.environment, config);
  return { profile, saved: (profileExists && config.profiles[profile]) || {} };
}

export const get: CommandModule = {
  examples: ['hooktrail config get base-url', 'hooktrail config get vendor --profile staging'],
  declare: (command) => command.argument('<key>', 'a setting, such as base-url'),
  run: getSetting,
};

async function getSetting(call: Call): Promise<void> {
  const { key } = settingNames[settingOfKey(call.args[0] as string)];
  const { profile, saved } = await readProfile(call);
  const value = saved[key];
  if (value === undefined) {
    throw new UsageError(`${key} is not saved in the profile '${profile}'`, {
      next: advise`save it with ${hooktrail('config set', key, 'VALUE')}`,
    });
  }
  const { stdout } = call.context;
  await stdout.write(`${stdout.isTerminal ? terminalSafeLine(value) : value}\n`);
}

export const set: CommandModule = {
  examples: [
    'hooktrail config set base-url https://events.example.com/v1',
    'hooktrail config set timezone Europe/Berlin',
    'hooktrail config set fields createdOn,eventType,eventId --profile staging',
  ],
  declare: (command) =>
    command
      .argument('<key>', 'a setting, such as base-url; key=value works too')
      .argument('[value]', 'its value, checked before it is saved'),
  run: setSetting,
};

async function setSetting(call: Call): Promise<void> {
  const [first = '', second] = call.args;
  // As `config list` prints it.
  const [, typed = first, text = second] = (second === undefined && /^([^=]*)=(.*)$/s.exec(first)) || [];
  const name = settingOfKey(typed);
  const { key } = settingNames[name];
  if (text === undefined)
    throw new UsageError(`config set needs <value>`, {
      next: advise`${hooktrail('config unset', key)} removes it; ${hooktrail('config set --help')} shows examples`,
    });
  let value = savedText(text, parseSetting(name, text, key));
  if (name === 'passphraseFile') {
    const { resolve } = await import('node:path');
    const { secretOfFile } = await import('../secrets/given-secret.ts');
    const { homeFolder } = await import('../files/folders.ts');
    // Other commands run in other folders.
    value = resolve(value.replace(/^~(?=\/|$)/, homeFolder(call.context)));
    await secretOfFile(key, value, call.context);
  }
  if (name === 'fields' || name === 'nameField') {
    const { parseFieldPath, parseFieldPaths } = await import('../items/field-path.ts');
    if (name === 'fields') parseFieldPaths(value, key);
    else parseFieldPath(value, key);
  }
  const { profile } = await changeSetting(key, value, call);
  call.reporter.notice(`saved ${key} in profile '${profile}'`);
}

/** Saves a setting, or removes it, and returns what was saved before. */
async function changeSetting(key: string, text: string | undefined, { flags, context }: Call) {
  let profile = '';
  let before: string | undefined;
  await changeConfig(context, (config) => {
    ({ profile } = chooseProfile(flags, context.environment, config));
    before = config.profiles[profile]?.[key];
    if (text === undefined) delete config.profiles[profile]?.[key];
    else config.profiles[profile] = { ...config.profiles[profile], [key]: text };
  });
  return { profile, before };
}

export const unset: CommandModule = {
  examples: ['hooktrail config unset issuer', 'hooktrail config unset redirect-uri --profile staging'],
  declare: (command) => command.argument('<key>', 'a setting, such as issuer'),
  run: unsetSetting,
};

async function unsetSetting(call: Call): Promise<void> {
  const { key } = settingNames[settingOfKey(call.args[0] as string)];
  const { profile, before } = await changeSetting(key, undefined, call);
  const outcome = `${before === undefined ? `${key} is not saved in` : `removed ${key} from`} profile '${profile}'`;
  call.reporter.notice(outcome);
}

export const path: CommandModule = {
  examples: ['hooktrail config path', 'ls -l "$(hooktrail config path)"'],
  run: async ({ context }) => await context.stdout.write(`${configPath(context)}\n`),
};
