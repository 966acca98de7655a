import type { Command } from 'commander';
import { UsageError } from '../errors.ts';
import { didYouMean } from './command-words.ts';

/** Every setting with the names it has on the command line, in the environment and in messages. */
export const settingNames = {
  authUrl: {
    key: 'auth-url',
    flag: '--auth-url',
    variable: 'HOOKTRAIL_AUTH_URL',
    meaning: 'identity provider',
  },
  baseUrl: { key: 'base-url', flag: '--base-url', variable: 'HOOKTRAIL_BASE_URL', meaning: 'event service' },
  clientId: { key: 'client-id', flag: '--client-id', variable: 'HOOKTRAIL_CLIENT_ID', meaning: 'client id' },
  vendor: {
    key: 'vendor',
    flag: '--vendor',
    variable: 'HOOKTRAIL_VENDOR',
    meaning: 'vendor of the media type',
  },
  scope: { key: 'scope', flag: '--scope', variable: 'HOOKTRAIL_SCOPE', meaning: 'scopes' },
  redirectUri: {
    key: 'redirect-uri',
    flag: '--redirect-uri',
    variable: 'HOOKTRAIL_REDIRECT_URI',
    meaning: 'redirect URI',
  },
  issuer: { key: 'issuer', flag: '--issuer', variable: 'HOOKTRAIL_ISSUER', meaning: 'expected issuer' },
  timezone: {
    key: 'timezone',
    flag: '--timezone',
    variable: 'HOOKTRAIL_TIMEZONE',
    meaning: 'zone of times shown and typed',
  },
  fields: { key: 'fields', flag: '--fields', variable: 'HOOKTRAIL_FIELDS', meaning: 'columns of tables' },
  errorFormat: {
    key: 'error-format',
    flag: '--error-format',
    variable: 'HOOKTRAIL_ERROR_FORMAT',
    meaning: 'form of errors and warnings: text or json',
  },
  store: { key: 'store', flag: '--store', variable: 'HOOKTRAIL_STORE', meaning: 'where secrets live' },
} as const;

export type SettingName = keyof typeof settingNames;

export const settingOrder = Object.keys(settingNames) as SettingName[];

/** The defaults of settings. */
export const settingDefaults = {
  scope: 'event_api offline_access',
  redirectUri: 'http://127.0.0.1:8976/callback',
  store: 'keychain',
  timezone: 'UTC',
  errorFormat: 'text',
} as const satisfies { readonly [Name in SettingName]?: string };

/**
 * The setting that a key such as `base-url` names. Throws `UsageError` that suggests the nearest key, or says where
 * secrets belong.
 */
export function settingOfKey(key: string): SettingName {
  const name = settingOrder.find((candidate) => settingNames[candidate].key === key);
  if (name) return name;
  const keys = settingOrder.map((candidate) => settingNames[candidate].key);
  if (/secret|token|password|passphrase/i.test(key)) {
    throw new UsageError(`'${key}' is not saved in the settings: secrets never are`, {
      next: '`hooktrail login` puts them where secrets live',
    });
  }
  throw new UsageError(`there is no setting '${key}'`, {
    details: [`settings: ${keys.join(', ')}`],
    ...didYouMean(key, keys),
  });
}

/** The placeholder and the help text of each setting's flag. */
const flagTexts: { readonly [Name in SettingName]?: readonly [placeholder: string, text: string] } = {
  authUrl: ['url', 'the identity provider, where sign-in happens'],
  baseUrl: ['url', 'the event service'],
  clientId: ['id', 'the client id assigned to you'],
  vendor: ['name', 'the vendor of application/vnd.<vendor>.v1+json'],
  scope: ['scopes', `the scopes to ask for, separated by spaces (default: ${settingDefaults.scope})`],
  redirectUri: ['url', `where sign-in returns to (default: ${settingDefaults.redirectUri})`],
  issuer: ['url', "the issuer a redirect must name, or 'none' (default: the auth URL)"],
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

/** The flag that names the zone of times. */
export function addTimezoneFlag(command: Command): Command {
  return add(command, ['timezone']);
}

/** The heading of the flags below, which help shows in one line. */
export const CONNECTION = 'Connection:';

/** Flags that override, for one call, which service is asked; `doctor` also checks another identity provider. */
export function addConnectionFlags(
  command: Command,
  names: readonly SettingName[] = ['baseUrl', 'vendor'],
): Command {
  return add(command, names, CONNECTION);
}

function add(command: Command, names: readonly SettingName[], group?: string): Command {
  for (const name of names) {
    const [placeholder, text] = flagTexts[name] as readonly [string, string];
    const { flag, variable } = settingNames[name];
    const option = command.createOption(`${flag} <${placeholder}>`, `${text} [${variable}]`);
    command.addOption(group ? option.helpGroup(group) : option);
  }
  return command;
}
