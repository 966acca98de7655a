import type { Context } from '../context.ts';
import { NotSignedInError, ServiceError, UnreachableError } from '../errors.ts';
import { traced } from '../http/redaction.ts';
import { TOKEN_LIMITS } from '../http/transport.ts';
import { createTransport } from '../http/undici-transport.ts';
import type { Vault } from '../secrets/vault.ts';
import { changeConfig, type SavedProfile } from '../settings/config-file.ts';
import { settingNames, settingOrder } from '../settings/setting-names.ts';
import { type RedirectUri, urlText } from '../settings/setting-values.ts';
import type { SettingFlags, Settings } from '../settings/settings.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { terminalSafeLine } from '../terminal/terminal-safe.ts';
import type { Answer } from './redirect-listener.ts';
import { type BoundSettings, bindingOf, withSignInLock } from './session.ts';
import { exchangeCode, type TokenGrant } from './token-endpoint.ts';

export interface Completion {
  readonly answer: Answer;
  readonly settings: BoundSettings;
  readonly redirectUri: RedirectUri;
  readonly codeVerifier: string;
  readonly clientSecret: string;
  readonly vault: Vault;
}

/**
 * Exchanges the code, stores what comes back and saves the profile.
 * Throws `NotSignedInError` where the provider refused, `ServiceError` and `UnreachableError` as the exchange does.
 */
export async function completeSignIn(
  { answer, settings, redirectUri, codeVerifier, clientSecret, vault }: Completion,
  context: Context,
  reporter: Reporter,
): Promise<TokenGrant> {
  if (answer.kind === 'refused') throw refusal(answer);
  const transport = traced(createTransport(context, TOKEN_LIMITS), reporter, context.clock);
  try {
    const exchange = {
      callbackParameters: answer.parameters,
      redirectUri: redirectUri.text,
      codeVerifier,
      clientSecret,
    };
    const world = { transport, clock: context.clock };
    const grant = await exchangeCode(settings, exchange, world).catch(failed);
    await withSignInLock(bindingOf(settings), context, () => store(grant, clientSecret, vault));
    await saveProfile(settings, context);
    return grant;
  } finally {
    await transport.close();
  }
}

async function store(grant: TokenGrant, clientSecret: string, vault: Vault): Promise<void> {
  // A refresh token of an earlier sign-in may be another user's: it must not take over when this one ends.
  if (grant.refreshToken === undefined) await vault.delete();
  const { accessToken: token, expiresAt, scope, refreshToken } = grant;
  await vault.write({ refreshToken, clientSecret, access: { token, expiresAt, scope } });
}

/** Other than a refresh, an exchange that failed leaves nothing to try again with: the code is used up or too old. */
function failed(error: unknown): never {
  if (error instanceof UnreachableError) {
    const next = 'check the network and --auth-url (HOOKTRAIL_AUTH_URL), then run `hooktrail login` again';
    throw new UnreachableError(error.message, { details: error.details, next, cause: error });
  }
  if (error instanceof ServiceError) {
    const next = 'run `hooktrail login` again later';
    throw new ServiceError(error.message, { details: error.details, next, cause: error });
  }
  throw error;
}

/** Every setting that does not come from the defaults, as text, and the store, which may come from the environment. */
export function settingTexts({ given }: Settings): SettingFlags {
  const names = settingOrder.filter(
    (name) => name === 'store' || (given[name] && given[name].source !== 'the default'),
  );
  return Object.fromEntries(names.map((name) => [name, given[name]?.text]));
}

async function saveProfile(settings: Settings, context: Context): Promise<void> {
  const texts = Object.entries(settingTexts(settings)).map(([name, text]) => [
    settingNames[name as keyof typeof settingNames].key,
    text,
  ]);
  await changeConfig(context, (config) => {
    // The first profile is the one meant where none is named.
    if (Object.keys(config.profiles).length === 0) config.profile = settings.profile;
    config.profiles[settings.profile] = Object.fromEntries(texts) as SavedProfile;
  });
}

function refusal({ error, description }: Extract<Answer, { kind: 'refused' }>): NotSignedInError {
  const next: Readonly<Record<string, string>> = {
    access_denied: 'sign in again and allow the access',
    invalid_scope: 'ask with --scope for the scopes issued to the client',
    unauthorized_client: 'check --client-id with whoever issued it',
  };
  return new NotSignedInError(`the sign-in was refused: ${terminalSafeLine(error)}`, {
    details: description ? [description] : [],
    next: next[error] ?? 'run `hooktrail login` again',
  });
}

/** Tells on standard error what a finished sign-in is good for. */
export function reportSignIn(
  { settings, vault }: Pick<Completion, 'settings' | 'vault'>,
  grant: TokenGrant,
  { clock }: Pick<Context, 'clock'>,
  reporter: Reporter,
): void {
  const { authUrl, baseUrl, scope } = settings;
  reporter.success(`Signed in at ${urlText(authUrl)}`);
  reporter.notice(`  profile   ${settings.profile}`);
  reporter.notice(`  service   ${urlText(baseUrl)}`);
  reporter.notice(`  token     ${lifetime(grant, clock.now())}`);
  reporter.notice(`  secrets   ${vault.place}`);
  const withheld = scope.split(' ').filter((name) => !(grant.scope ?? scope).split(' ').includes(name));
  if (withheld.length > 0) reporter.warning(`not granted: ${withheld.join(' ')}`);
}

function lifetime({ expiresAt, refreshToken }: TokenGrant, now: number): string {
  const end = expiresAt === undefined ? '' : `for ${lengthText(Math.max(0, expiresAt - now))}`;
  if (refreshToken === undefined)
    return `${end || 'of unknown lifetime'}, then sign in again (no refresh token was granted)`;
  return `${end}${end ? ', ' : ''}renewed when needed`;
}

function lengthText(milliseconds: number): string {
  const seconds = Math.round(milliseconds / 1000);
  const [number, unit] = seconds < 120 ? [seconds, 'second'] : [Math.round(seconds / 60), 'minute'];
  return `${number} ${unit}${number === 1 ? '' : 's'}`;
}
