import type { Call } from '../command.ts';
import type { Context } from '../context.ts';
import { NotSignedInError, UnreachableError, UsageError } from '../errors.ts';
import { apiUrl, describeError, serviceError } from '../http/service.ts';
import { isSecretGiven } from '../secrets/given-secret.ts';
import { listSecretFiles } from '../secrets/secret-files.ts';
import { openVault } from '../secrets/stored-sign-ins.ts';
import { bindingHash } from '../secrets/vault.ts';
import { settingNames, urlText } from '../settings/setting-names.ts';
import { readConfig, type SavedConfig, type Settings } from '../settings/settings.ts';
import { claimsOf, type ProofMethod, storedMethod } from './client-authentication.ts';
import { RefusalNote } from './refusal-note.ts';
import { bindingOf, givenToken, openSession, savedSettings, withoutSignIn, withService } from './session.ts';
import { abandonedMark } from './spending-mark.ts';

export interface SignInState {
  readonly profile: string;
  readonly signedIn: boolean;
  readonly subject: string | null;
  readonly source: 'environment' | 'stored' | null;
  readonly authUrl: string | null;
  readonly baseUrl: string | null;
  readonly clientId: string | null;
  readonly vendor: string | null;
  /** The granted scope, or else the one that would be requested. */
  readonly scope: string | null;
  /** ISO 8601, UTC: expiry of the access token. */
  readonly expiresAt: string | null;
  readonly renewable: boolean;
  readonly clientAuthentication: ProofMethod | null;
  readonly grant: 'refresh_token' | 'client_credentials' | null;
  /** ISO 8601, UTC: when the identity provider refused to renew this sign-in. */
  readonly refusedAt: string | null;
  /** The refused part: the sign-in, or this client for its id or secret. */
  readonly refused: 'sign-in' | 'client' | null;
  /** ISO 8601, UTC: when a process that is gone sent the refresh token, which may be spent. */
  readonly perhapsSpentAt: string | null;
  readonly store: 'keychain' | 'file' | null;
  readonly place: string | null;
}

/** Reads the stored sign-in without any request. Throws if the store is unusable. */
export async function readSignInState(settings: Settings, context: Context): Promise<SignInState> {
  const { profile, authUrl, baseUrl, clientId, vendor, scope } = settings;
  const fromEnvironment = isSecretGiven('HOOKTRAIL_ACCESS_TOKEN', context.environment);
  const given = fromEnvironment ? await givenToken(context) : undefined;
  const stored = fromEnvironment ? undefined : await readStored(settings, context);
  const isUsable = stored?.isUsable === true;
  const source = isUsable ? 'stored' : null;
  return {
    profile,
    signedIn: fromEnvironment || isUsable,
    subject: subjectOf(given ?? stored?.token),
    source: fromEnvironment ? 'environment' : source,
    authUrl: authUrl ? urlText(authUrl) : null,
    baseUrl: baseUrl ? urlText(baseUrl) : null,
    clientId: clientId ?? null,
    vendor: vendor ?? null,
    scope: fromEnvironment ? null : (stored?.scope ?? scope),
    ...(stored?.state ?? NOTHING_STORED),
  };
}

type StoredState = Pick<
  SignInState,
  | 'expiresAt'
  | 'renewable'
  | 'clientAuthentication'
  | 'grant'
  | 'refusedAt'
  | 'refused'
  | 'perhapsSpentAt'
  | 'store'
  | 'place'
>;

const NOTHING_STORED: StoredState = {
  expiresAt: null,
  renewable: false,
  clientAuthentication: null,
  grant: null,
  refusedAt: null,
  refused: null,
  perhapsSpentAt: null,
  store: null,
  place: null,
};

interface StoredSignIn {
  readonly isUsable: boolean;
  readonly token: string | undefined;
  readonly scope: string | undefined;
  readonly state: StoredState;
}

/** Returns undefined without the settings that identify a sign-in. */
async function readStored(settings: Settings, context: Context): Promise<StoredSignIn | undefined> {
  const { authUrl, baseUrl, clientId } = settings;
  if (!authUrl || !baseUrl || !clientId) return undefined;
  const binding = bindingOf({ ...settings, authUrl, baseUrl, clientId });
  const vault = openVault(settings.store, binding, context);
  // A missing store holds nothing.
  const stored = await vault.read().catch((error): undefined => {
    if (withoutSignIn(error, settings) === error) throw error;
  });
  const { access, refreshToken, grant = refreshToken && 'refresh_token' } = stored ?? {};
  const mark = await abandonedMark(stored, vault, context);
  const renewable = grant !== undefined && mark === undefined;
  const refusal = stored && new RefusalNote(binding, context).read(stored);
  const lasts = access !== undefined && (access.expiresAt ?? Number.POSITIVE_INFINITY) > context.clock.now();
  return {
    isUsable: lasts || (renewable && refusal === undefined),
    token: access?.token,
    scope: access?.scope,
    state: {
      expiresAt: isoTime(access?.expiresAt),
      renewable,
      clientAuthentication: stored ? storedMethod(stored, context.environment) : null,
      grant: grant || null,
      refusedAt: isoTime(refusal?.at),
      refused: refusal?.of ?? null,
      perhapsSpentAt: isoTime(mark?.since),
      store: vault.kind,
      place: access || grant ? vault.place : null,
    },
  };
}

function isoTime(milliseconds: number | undefined): string | null {
  return milliseconds === undefined ? null : new Date(milliseconds).toISOString();
}

/**
 * Claims with a person's name, the most readable first (OpenID Connect Core 1.0 section 5.1, RFC 7519 section
 * 4.1).
 */
const NAMES = ['preferred_username', 'email', 'name', 'sub'] as const;

/** Returns the subject of a JSON Web Token; not verified, since nothing depends on it. */
function subjectOf(token: string | undefined): string | null {
  const claims = claimsOf(token ?? '');
  const name = NAMES.map((claim) => claims[claim]).find((value) => typeof value === 'string' && value);
  return typeof name === 'string' ? name.slice(0, 200) : null;
}

/** Warns of an unknown profile, or of variables that override it: they are easily forgotten. */
export async function warnOfOverrides(
  { profile, given }: Settings,
  { context, reporter }: Pick<Call, 'context' | 'reporter'>,
): Promise<void> {
  const saved = (await readConfig(context)).profiles[profile];
  if (!saved) return reporter.warning(`there is no profile '${profile}'`, { kind: 'usage' });
  const variables = Object.entries(settingNames).flatMap(([name, { key, variable }]) => {
    const { source, text } = given[name as keyof typeof given] ?? {};
    return source === variable && saved[key] !== undefined && saved[key] !== text ? [variable] : [];
  });
  if (variables.length === 0) return;
  const [verb, list] = [variables.length === 1 ? 'overrides' : 'override', variables.join(', ')];
  reporter.warning(`${list} ${verb} what the profile '${profile}' saves`, { kind: 'usage' });
}

/** `refused` and `not-renewed` concern the identity provider, the others the service. */
export type CheckResult = 'accepted' | 'rejected' | 'unreachable' | 'failed' | 'refused' | 'not-renewed';

/**
 * Requests the event types, the service's cheapest answer, with a valid token. Returns the kind of failure,
 * if any.
 */
export async function checkSignIn(
  call: Pick<Call, 'settings' | 'context' | 'reporter'>,
): Promise<{ result: CheckResult; error: unknown } | undefined> {
  const { context } = call;
  let hasToken = false;
  try {
    const { tokens } = await openSession(call);
    await tokens.accessToken();
    hasToken = true;
    await withService(call, async (service) => {
      const response = await service.send({ url: apiUrl(service.baseUrl, '/event-types') });
      if (response.status !== 200) throw serviceError(response, 'GET event-types');
      // A portal or a proxy may answer any path with a page, and another API with its own JSON.
      const { errorObject: body = {} } = describeError(response);
      if ('items' in body || 'count' in body) return;
      throw serviceError(response, 'GET event-types is not a collection');
    });
    return undefined;
  } catch (error) {
    context.signal.throwIfAborted();
    // No request was sent.
    if (error instanceof UsageError) throw error;
    const isRefused = error instanceof NotSignedInError;
    if (!hasToken) return { result: isRefused ? 'refused' : 'not-renewed', error };
    if (isRefused) return { result: 'rejected', error };
    return { result: error instanceof UnreachableError ? 'unreachable' : 'failed', error };
  }
}

/**
 * Returns the profiles with stored secrets that the provider has not refused to renew. Both stores write a
 * file for each sign-in, so no keychain has to be opened, which might prompt the user.
 */
export async function signedInProfiles(
  config: SavedConfig,
  context: Pick<Context, 'environment' | 'machine'>,
): Promise<Set<string>> {
  const stored = await listSecretFiles(context, undefined);
  const isSignedIn = (profile: string) => {
    const settings = savedSettings(profile, config);
    if (!settings) return false;
    const binding = bindingOf(settings);
    if (new RefusalNote(binding, context).exists) return false;
    const own = `${profile}/${bindingHash(binding)}.${settings.store === 'file' ? 'vault' : 'access'}`;
    return stored.some(({ signIn, kind }) => `${signIn}.${kind}` === own);
  };
  return new Set(Object.keys(config.profiles).filter(isSignedIn));
}
