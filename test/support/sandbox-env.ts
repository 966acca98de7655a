import type { SandboxSettings } from './sandbox.ts';

/** Returns the environment for using a sandbox. The defaults of scopes and issuer fit. */
export function sandboxEnv(settings: SandboxSettings) {
  return {
    HOOKTRAIL_AUTH_URL: settings.authUrl,
    HOOKTRAIL_BASE_URL: settings.baseUrl,
    HOOKTRAIL_CLIENT_ID: settings.clientId,
    HOOKTRAIL_CLIENT_SECRET: settings.clientSecret,
    HOOKTRAIL_VENDOR: settings.vendor,
    HOOKTRAIL_REDIRECT_URI: settings.redirectUri,
  };
}
