import type { Environment } from '../context.ts';

/** Everything a client needs to use a service, as `hooktrail sandbox` prints it. */
export interface ServiceSettings {
  readonly authUrl: string;
  readonly baseUrl: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly vendor: string;
  readonly redirectUri: string;
  readonly scope: string;
  readonly issuer: string;
}

/** The same settings as environment variables. */
export function environmentOf(settings: ServiceSettings): Environment {
  return {
    HOOKTRAIL_AUTH_URL: settings.authUrl,
    HOOKTRAIL_BASE_URL: settings.baseUrl,
    HOOKTRAIL_CLIENT_ID: settings.clientId,
    HOOKTRAIL_CLIENT_SECRET: settings.clientSecret,
    HOOKTRAIL_VENDOR: settings.vendor,
    HOOKTRAIL_REDIRECT_URI: settings.redirectUri,
    HOOKTRAIL_SCOPE: settings.scope,
    HOOKTRAIL_ISSUER: settings.issuer,
  };
}

/** `export NAME='value'` lines for a POSIX shell. */
export function exportLines(settings: ServiceSettings): string {
  return Object.entries(environmentOf(settings))
    .map(([name, value]) => `export ${name}='${String(value).replaceAll("'", `'\\''`)}'\n`)
    .join('');
}
