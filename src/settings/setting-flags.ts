import { type Command, Option } from 'commander';
import { type SettingName, settingDefaults, settingNames } from './setting-names.ts';

/** The placeholder and the help text of each setting's flag. */
const flagTexts: { readonly [Name in SettingName]: readonly [placeholder: string, text: string] } = {
  authUrl: ['url', 'the identity provider, where sign-in happens'],
  baseUrl: ['url', 'the event service'],
  clientId: ['id', 'the client id assigned to you'],
  vendor: ['name', 'the vendor of the media type application/vnd.<vendor>.v1+json'],
  scope: ['scopes', `the scopes to ask for, separated by spaces (default: ${settingDefaults.scope})`],
  redirectUri: ['url', `where sign-in returns to (default: ${settingDefaults.redirectUri})`],
  issuer: ['url', "the issuer a redirect must name, or 'none' (default: the auth URL)"],
  hints: ['on|off', `say below a table on a terminal what to do next (default: ${settingDefaults.hints})`],
  timezone: [
    'zone',
    `show and read times in this zone: UTC, local, Europe/Berlin (default: ${settingDefaults.timezone})`,
  ],
  store: ['where', `where secrets live: keychain or file (default: ${settingDefaults.store})`],
};

/** Flags that say who signs in and where the result is kept. */
export function addIdentityFlags(command: Command): Command {
  return add(command, ['authUrl', 'clientId', 'scope', 'redirectUri', 'issuer', 'store']);
}

/** Flags that say which event service is asked. */
export function addServiceFlags(command: Command): Command {
  return add(command, ['baseUrl', 'vendor']);
}

/** The flag that turns next steps off. */
export function addHintsFlag(command: Command): Command {
  return add(command, ['hints']);
}

/** The flag that names the zone of times. */
export function addTimezoneFlag(command: Command): Command {
  return add(command, ['timezone']);
}

/** The heading of the flags below, which help shows in one line. */
export const CONNECTION = 'Connection:';

/** Flags that override, for one call, where a stored sign-in is looked up and which service is asked. */
export function addConnectionFlags(command: Command): Command {
  return add(command, ['authUrl', 'baseUrl', 'clientId', 'vendor'], CONNECTION);
}

function add(command: Command, names: readonly SettingName[], group?: string): Command {
  for (const name of names) {
    const [placeholder, text] = flagTexts[name];
    const { flag, variable } = settingNames[name];
    const option = new Option(`${flag} <${placeholder}>`, `${text} [${variable}]`);
    command.addOption(group ? option.helpGroup(group) : option);
  }
  return command;
}
