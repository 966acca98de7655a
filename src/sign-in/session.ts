import { advise, hooktrail } from '../advice.ts';
import type { Call } from '../command.ts';
import type { Context, Environment } from '../context.ts';
import { NotSignedInError, UsageError } from '../errors.ts';
import { traced } from '../http/redaction.ts';
import { createService, type Service, type TokenSource } from '../http/service.ts';
import { createTransport } from '../http/undici-client.ts';
import { givenSecret, isHeaderSafe, isSecretGiven } from '../secrets/given-secret.ts';
import type { KeychainError } from '../secrets/keychain-error.ts';
import type { AccessToken, Binding, Vault } from '../secrets/vault.ts';
import { type SettingName, settingNames } from '../settings/setting-names.ts';
import { resolveSettings, type SavedConfig, type Settings } from '../settings/settings.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { givenMethod } from './client-authentication.ts';

export const BOUND = ['authUrl', 'baseUrl', 'clientId'] as const;
export type BoundSettings = Settings<(typeof BOUND)[number]>;

export function bindingOf({ profile, authUrl, baseUrl, clientId }: BoundSettings): Binding {
  return { profile, authUrl: authUrl.href, clientId, serviceOrigin: baseUrl.origin };
}

/**
 * Returns a profile's saved settings, with additions from the environment; undefined if they do not identify
 * a sign-in.
 */
export function savedSettings(
  profile: string,
  config: SavedConfig,
  environment: Environment = {},
): BoundSettings | undefined {
  try {
    return resolveSettings({ profile }, environment, config, BOUND);
  } catch (error) {
    if (error instanceof UsageError) return undefined;
    throw error;
  }
}

/** Milliseconds before a token's expiry when it is refreshed. */
const MARGIN_MS = 60_000;
/**
 * The margin in milliseconds for a token just stored by another process: the provider may grant tokens
 * shorter than `MARGIN_MS`.
 */
const SHORT_MARGIN_MS = 5_000;

/** `latest`: the last token supplied; undefined for a token from the environment. */
export interface Session extends TokenSource {
  latest(): AccessToken | undefined;
}

/**
 * Returns this run's settings and the source of its access tokens: `HOOKTRAIL_ACCESS_TOKEN` unchanged, or
 * else the stored sign-in, refreshed when needed. Throws `UsageError` for invalid settings, and for missing
 * ones: those in `needed`, and those that identify a stored sign-in.
 */
export async function openSession<Needed extends SettingName = never>(
  { settings: given, context, reporter }: Pick<Call, 'settings' | 'context' | 'reporter'>,
  needed: readonly Needed[] = [],
): Promise<{ settings: Settings<Needed>; tokens: Session }> {
  if (isSecretGiven('HOOKTRAIL_ACCESS_TOKEN', context.environment)) {
    const settings = given.checked(needed);
    const accessToken = () => givenToken(context);
    return { settings, tokens: { accessToken, replace: async () => undefined, latest: () => undefined } };
  }
  // Two credentials of the client are a mistake, even if this run needs none.
  givenMethod(context.environment);
  const settings = given.checked([...BOUND, ...needed]);
  // Not loaded for a token from the environment: it needs `node:crypto`.
  const { openVault } = await import('../secrets/stored-sign-ins.ts');
  const vault = openVault(settings.store, bindingOf(settings), context);
  await vault.startReading?.();
  return { settings, tokens: storedSession(settings, vault, context, reporter) };
}

/**
 * Runs `work` with the signed-in event service, and then closes its connections. Throws `UsageError` if
 * settings are missing, `NotSignedInError` if nothing is stored for them.
 */
export async function withService<Result>(
  call: Pick<Call, 'settings' | 'context' | 'reporter'>,
  work: (service: Service, settings: Settings<'baseUrl' | 'vendor'>) => Promise<Result>,
): Promise<Result> {
  const { context, reporter } = call;
  const { settings, tokens } = await openSession(call, ['baseUrl', 'vendor']);
  const transport = traced(createTransport(context), reporter, context.clock);
  try {
    return await work(createService(settings, tokens, transport, context), settings);
  } finally {
    await transport.close();
  }
}

export async function givenToken(context: Context): Promise<string> {
  const given = (await givenSecret('HOOKTRAIL_ACCESS_TOKEN', context)) ?? '';
  if (isHeaderSafe(given)) return given;
  throw new UsageError(
    'HOOKTRAIL_ACCESS_TOKEN is not a token: it holds spaces, line ends or other characters',
    { next: 'put a valid token there, or unset the variable to use the stored sign-in' },
  );
}

function storedSession(settings: BoundSettings, vault: Vault, context: Context, reporter: Reporter): Session {
  const { clock } = context;
  let current: (AccessToken & { readonly until: number }) | undefined;
  let pending: Promise<string> | undefined;
  const timeLeft = ({ expiresAt = Number.POSITIVE_INFINITY }: AccessToken) => expiresAt - clock.now();

  const use = (access: AccessToken): string => {
    const left = timeLeft(access);
    // If the provider grants two minutes or less, not every request of this run may refresh the token.
    const usedFor = Math.max(left - MARGIN_MS, left / 2, SHORT_MARGIN_MS);
    current = { ...access, until: clock.now() + usedFor };
    return access.token;
  };
  const obtain = async (): Promise<string> => {
    const stored = await vault.read().catch((error) => {
      throw withoutSignIn(error, settings);
    });
    const access = stored?.access;
    return access && timeLeft(access) > MARGIN_MS ? use(access) : await renew(access?.token, undefined);
  };
  const renew = async (known: string | undefined, rejected: string | undefined): Promise<string> => {
    // Most runs find a valid token, and load none of this.
    const { refreshSignIn } = await import('./refresh.ts');
    const { signInLock } = await import('./sign-in-lock.ts');
    const { RefusalNote } = await import('./refusal-note.ts');
    const access = await refreshSignIn(settings, signInLock(settings, context), {
      refusal: new RefusalNote(bindingOf(settings), context),
      vault,
      context,
      reporter,
      serves: (access) =>
        access.token !== rejected &&
        timeLeft(access) > (access.token === known ? MARGIN_MS : SHORT_MARGIN_MS),
      lasts: (access) => access.token !== rejected && timeLeft(access) > 0,
    });
    if (access) return use(access);
    throw await notSignedIn(settings, context);
  };
  const share = async (work: Promise<string>): Promise<string> => {
    pending = work;
    try {
      return await work;
    } finally {
      pending = undefined;
    }
  };
  return {
    latest: () => current,
    accessToken: async () => {
      if (current && clock.now() < current.until) return current.token;
      return await (pending ?? share(obtain()));
    },
    replace: async (rejected) => {
      // Many requests may be rejected together; the first one replaces the token for all of them.
      while (pending) await pending;
      if (current && current.token !== rejected) return current.token;
      return await share(renew(rejected, rejected));
    },
  };
}

/**
 * Turns a failure to read the store into "not signed in" if nobody has signed in yet: a missing keychain
 * holds no sign-in. Returns any other failure unchanged.
 */
export function withoutSignIn(error: unknown, { profileExists }: Settings): unknown {
  const { holdsNothing, message = '' } = error as Partial<KeychainError>;
  if (profileExists || !holdsNothing) return error;
  return new NotSignedInError('not signed in', {
    details: [message],
    next: advise`run ${hooktrail('login')}, or ${hooktrail('login --store file')} where there is no keychain`,
  });
}

/**
 * Returns the error if nothing is stored: never signed in, or, with details, signed in to other addresses.
 */
export async function notSignedIn(settings: Settings, context: Context): Promise<NotSignedInError> {
  const { profile, store, given, authUrl, baseUrl, clientId } = settings;
  const message = `not signed in${profile === 'default' ? '' : ` with the profile '${profile}'`}`;
  const next = advise`run ${hooktrail('login')}`;
  const { findSignIns } = await import('../secrets/stored-sign-ins.ts');
  const binding = authUrl && baseUrl && clientId && bindingOf({ ...settings, authUrl, baseUrl, clientId });
  const found = binding ? await findSignIns(store, binding, context).catch(() => undefined) : undefined;
  if (!found?.others || found.own) return new NotSignedInError(message, { next });
  const details = BOUND.map(
    (name) => `${settingNames[name].meaning}: ${settings[name]} (from ${given[name]?.source})`,
  );
  return new NotSignedInError(`${message} to these addresses`, {
    details: [...details, 'the stored sign-in is for other addresses, and its tokens are not sent to these'],
    next: advise`restore the address that was changed, or ${next} to sign in to these`,
  });
}
