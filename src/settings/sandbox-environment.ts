import type { Environment } from '../context.ts';
import type { SandboxSettings } from '../sandbox/options.ts';
import { quotedWord } from './command-words.ts';

/** A sandbox's settings as environment variables. */
export function environmentOf(settings: SandboxSettings): Environment {
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
export function exportLines(settings: SandboxSettings): string {
  return Object.entries(environmentOf(settings))
    .map(([name, value]) => `export ${name}=${quotedWord(String(value))}\n`)
    .join('');
}
