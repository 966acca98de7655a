import { UsageError } from '../errors.ts';
import { suggestion } from './nearest.ts';

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
  hints: {
    key: 'hints',
    flag: '--hints',
    variable: 'HOOKTRAIL_HINTS',
    meaning: 'next steps below tables',
  },
  timezone: {
    key: 'timezone',
    flag: '--timezone',
    variable: 'HOOKTRAIL_TIMEZONE',
    meaning: 'zone of times shown and typed',
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
  hints: 'on',
  timezone: 'UTC',
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
    next: suggestion(key, keys),
  });
}
