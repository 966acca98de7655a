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
  store: { key: 'store', flag: '--store', variable: 'HOOKTRAIL_STORE', meaning: 'where secrets live' },
} as const;

export type SettingName = keyof typeof settingNames;

export const settingOrder = Object.keys(settingNames) as SettingName[];
