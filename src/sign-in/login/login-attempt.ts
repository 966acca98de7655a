import { advise, hooktrail } from '../../advice.ts';
import type { Call } from '../../command.ts';
import { NotSignedInError } from '../../errors.ts';
import type { Vault } from '../../secrets/vault.ts';
import type { SettingName } from '../../settings/setting-names.ts';
import type { SettingFlags, Settings } from '../../settings/settings.ts';
import type { Lines } from '../../terminal/prompt.ts';
import { terminalSafeLine } from '../../terminal/terminal-text.ts';
import type { ClientProof } from '../client-authentication.ts';
import { NEW_SIGN_IN } from '../provider-failure.ts';
import { OPTIONAL_LIMITS } from '../token-endpoint.ts';

export interface SignInFlags extends SettingFlags {
  readonly clientSecretStdin?: boolean;
  readonly publicClient?: true;
  readonly replace?: boolean;
  readonly browser: boolean;
  readonly paste?: true;
  readonly device?: true;
  readonly clientCredentials?: true;
  readonly timeout?: number;
}

export interface Attempt extends Pick<Call<SignInFlags>, 'flags' | 'settings' | 'context' | 'reporter'> {
  readonly lines: Lines;
  readonly typed: Partial<Record<SettingName, string>>;
}

export interface SignInSetup {
  readonly settings: Settings<(typeof NEEDED)[number]>;
  readonly proof: ClientProof;
  readonly vault: Vault;
}

export const NEEDED = ['authUrl', 'baseUrl', 'clientId', 'vendor'] as const;

const TIMEOUT_MS = 300_000;

export function usesBrowser({ clientCredentials, device }: SignInFlags): boolean {
  return !clientCredentials && !device;
}

/** For answers that come at once, or not at all. */
export const OPTIONAL = { limits: OPTIONAL_LIMITS, advice: NEW_SIGN_IN };

const AFTER_REFUSAL: Readonly<Record<string, string>> = {
  access_denied: 'sign in again and allow the access',
  authorization_declined: 'sign in again and allow the access',
  invalid_scope: 'use --scope with the scopes issued to the client',
  unauthorized_client: 'check --client-id with whoever issued it',
};

export function refusal(error: string, description?: string): NotSignedInError {
  return new NotSignedInError(`the sign-in was refused: ${terminalSafeLine(error)}`, {
    details: description ? [description] : [],
    next: AFTER_REFUSAL[error] ?? NEW_SIGN_IN.again,
  });
}

/**
 * Waits for somebody to sign in. The signal of `wait` aborts when time is up or the program is interrupted.
 * Throws `NotSignedInError` when time is up.
 */
export async function withinTime<Result>(
  { flags: { timeout = TIMEOUT_MS, device, paste }, context: { clock, signal } }: Attempt,
  wait: (signal: AbortSignal, over: AbortController) => Promise<Result>,
): Promise<Result> {
  const over = new AbortController();
  const either = AbortSignal.any([over.signal, signal]);
  const or = device || paste ? '' : '; --paste needs no redirect to this machine';
  const late = clock.sleep(timeout, either).then(() => {
    const error = new NotSignedInError(`nobody signed in within ${timeout / 1000} s`, {
      next: advise`run the same command again (--timeout waits longer${or}); if the browser showed an error, check --client-id${device ? '' : ' and --redirect-uri'}, or run ${hooktrail('doctor')}`,
    });
    over.abort(error);
    throw error;
  });
  try {
    return await Promise.race([wait(either, over), late]);
  } finally {
    over.abort(new Error('over'));
  }
}
