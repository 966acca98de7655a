import type { Context } from '../context.ts';
import { NotSignedInError } from '../errors.ts';
import { isSecretGiven } from '../secrets/given-secret.ts';
import { openVault } from '../secrets/open-vault.ts';
import type { Secrets, Vault } from '../secrets/vault.ts';
import { urlText } from '../settings/setting-values.ts';
import type { Settings } from '../settings/settings.ts';
import { givenToken, withoutSignIn } from './session.ts';

/** The sign-in as `status --json` prints it: who, where, until when, and where the secrets are. */
export interface SignInState {
  readonly profile: string;
  readonly signedIn: boolean;
  /** Where the token comes from; null where there is none. */
  readonly source: 'environment' | 'stored' | null;
  readonly authUrl: string | null;
  readonly baseUrl: string | null;
  readonly clientId: string | null;
  readonly vendor: string | null;
  /** As granted, or else as it would be asked for. */
  readonly scope: string | null;
  /** ISO 8601, UTC: the end of the access token. */
  readonly expiresAt: string | null;
  /** True where a refresh token is there to get another one. */
  readonly renewable: boolean;
  readonly store: 'keychain' | 'file' | null;
  readonly place: string | null;
}

/** Reads what is there without asking any server. Throws where the store is unusable. */
export async function readSignInState(settings: Settings, context: Context): Promise<SignInState> {
  const fromEnvironment = isSecretGiven('HOOKTRAIL_ACCESS_TOKEN', context.environment);
  if (fromEnvironment) await givenToken(context);
  const vault = fromEnvironment ? undefined : await vaultOf(settings, context);
  const secrets = await secretsIn(vault, settings);
  const { access, refreshToken } = secrets;
  const renewable = refreshToken !== undefined;
  const alive =
    access !== undefined && (access.expiresAt === undefined || access.expiresAt > context.clock.now());
  const stored = renewable || alive;
  return {
    profile: settings.profile,
    signedIn: fromEnvironment || stored,
    source: fromEnvironment ? 'environment' : stored ? 'stored' : null,
    authUrl: shown(settings.authUrl),
    baseUrl: shown(settings.baseUrl),
    clientId: settings.clientId ?? null,
    vendor: settings.vendor ?? null,
    scope: fromEnvironment ? null : (access?.scope ?? settings.scope),
    expiresAt: access?.expiresAt === undefined ? null : new Date(access.expiresAt).toISOString(),
    renewable,
    store: vault?.kind ?? null,
    place: vault?.place ?? null,
  };
}

async function secretsIn(vault: Vault | undefined, settings: Settings): Promise<Secrets> {
  try {
    return (await vault?.read()) ?? {};
  } catch (error) {
    const meaning = withoutSignIn(error, settings);
    if (meaning instanceof NotSignedInError && meaning !== error) return {};
    throw error;
  }
}

function shown(url: URL | undefined): string | null {
  return url ? urlText(url) : null;
}

/** Without all of them, nothing can have been stored. */
async function vaultOf(settings: Settings, context: Context): Promise<Vault | undefined> {
  const { profile, authUrl, baseUrl, clientId, store } = settings;
  if (!authUrl || !baseUrl || !clientId) return undefined;
  return await openVault(
    store,
    { profile, authUrl: authUrl.href, clientId, serviceOrigin: baseUrl.origin },
    context,
  );
}
