import { advise, hooktrail } from '../../advice.ts';
import type { Context } from '../../context.ts';
import { withLock } from '../../lock/lock.ts';
import { isPassphraseGiven } from '../../secrets/file-vault.ts';
import type { AccessToken, Secrets } from '../../secrets/vault.ts';
import { type SettingName, settingNames, urlText } from '../../settings/setting-names.ts';
import {
  changeConfig,
  chooseProfile,
  readConfig,
  type SavedProfile,
  type SettingFlags,
  savedProfileName,
} from '../../settings/settings.ts';
import { durationWords } from '../../terminal/terminal-text.ts';
import { audienceOf, keptProof, methodWords } from '../client-authentication.ts';
import { RefusalNote } from '../refusal-note.ts';
import { bindingOf } from '../session.ts';
import { signInLock } from '../sign-in-lock.ts';
import { storeSurely } from '../store-surely.ts';
import { type Grant, scopesIn } from '../token-endpoint.ts';
import type { Attempt, SignInSetup } from './login-attempt.ts';
import { NEEDED } from './login-attempt.ts';

/** Settings saved by a sign-in, from any source; the rest of the profile stays unchanged. */
const SAVED = [...NEEDED, 'scope', 'redirectUri', 'issuer', 'store'] as const;

export async function keepGrant(
  { access, refreshToken }: Grant,
  { settings, proof, vault }: SignInSetup,
  attempt: Attempt,
): Promise<void> {
  const asked = scopesIn(settings.scope);
  const how = asked.includes('offline_access') ? 'granted' : 'asked for by --scope';
  const after = refreshToken ? 'renewed when needed' : `then sign in again (no refresh token was ${how})`;
  const secrets = { refreshToken, ...keptProof(proof), access };
  await keepSignIn(secrets, { settings, proof, vault }, attempt, { asked, after });
}

/**
 * Stores the secrets, saves the profile and prints a summary of the sign-in. An interrupt has to wait.
 * `asked`: the requested scopes; `after`: text about the time after the token's expiry.
 */
export async function keepSignIn(
  secrets: Secrets & { readonly access: AccessToken },
  { settings, proof, vault }: SignInSetup,
  { context, reporter }: Attempt,
  { asked, after }: { readonly asked: readonly string[]; readonly after: string },
): Promise<void> {
  const { clock } = context;
  const { access } = secrets;
  const uninterrupted = { ...context, signal: new AbortController().signal };
  const store = () => storeSurely(vault, { ...secrets, issuer: audienceOf(settings) }, clock);
  const { name, place } = signInLock(settings, context);
  const elsewhere = await withLock(name, uninterrupted, store, place);
  new RefusalNote(bindingOf(settings), context).remove();
  const { given, profile, authUrl, baseUrl, store: storeKind } = settings;
  const isKept = (name: SettingName) => name === 'store' || given[name]?.source !== 'the default';
  const kept = SAVED.filter(isKept).map((name) => [name, given[name]?.text]);
  const { keyFile } = context.memory;
  const chosen = keyFile === undefined ? {} : { passphraseFile: keyFile };
  const isDefault = await saveSettings(profile, { ...Object.fromEntries(kept), ...chosen }, context);
  reporter.success(`Signed in at ${urlText(authUrl)}`);
  const isNews = isDefault && profile !== 'default';
  reporter.notice(
    `  profile   ${profile}${isNews ? ', which commands without --profile use from now on' : ''}`,
  );
  reporter.notice(`  service   ${urlText(baseUrl)}`);
  if (proof.method !== 'secret')
    reporter.notice(`  client    ${settings.clientId}, ${methodWords[proof.method]}`);
  const { expiresAt } = access;
  const left = expiresAt && durationWords(Math.max(0, expiresAt - clock.now()));
  reporter.notice(`  token     ${left ? `for ${left}` : 'of unknown lifetime'}, ${after}`);
  reporter.notice(`  secrets   ${elsewhere ?? vault.place}`);
  if (keyFile !== undefined) reporter.notice(`  key       ${keyFile}`);
  if (storeKind === 'file' && !(await isPassphraseGiven(profile, context)))
    reporter.notice(
      advise`Commands ask for the passphrase. Where nobody can type it, seal the file with a key (${hooktrail('keygen --help')}), or save a file that has the passphrase: ${hooktrail('config set passphrase-file PATH')}.`,
    );
  // An answer without scopes grants the requested ones (RFC 6749 section 5.1).
  const granted = access.scope === undefined ? asked : scopesIn(access.scope);
  const isGranted = (name: string) =>
    granted.includes(name) || (name === 'offline_access' && secrets.refreshToken !== undefined);
  const withheld = asked.filter((name) => !isGranted(name));
  if (withheld.length > 0) reporter.warning(`not granted: ${withheld.join(' ')}`, { kind: 'sign-in' });
}

async function saveSettings(profile: string, texts: SettingFlags, context: Context): Promise<boolean> {
  let isNewDefault = false;
  const saved: SavedProfile = {};
  for (const [name, text] of Object.entries(texts))
    if (text !== undefined) saved[settingNames[name as SettingName].key] = text;
  await changeConfig(context, (config) => {
    // The first profile becomes the default, as does one that follows a deleted default.
    isNewDefault = savedProfileName(config.profile ?? 'default', config) === undefined;
    if (isNewDefault) config.profile = profile;
    config.profiles[profile] = { ...config.profiles[profile], ...saved };
  });
  return isNewDefault;
}

/** Saves the answers typed in a failed sign-in, so that only the client secret has to be typed again. */
export async function saveTyped({ typed, flags, context, reporter }: Attempt): Promise<void> {
  if (Object.keys(typed).length === 0) return;
  try {
    const { profile } = chooseProfile(flags, context.environment, await readConfig(context));
    await saveSettings(profile, { store: flags.store, ...typed } as SettingFlags, context);
    const rest = 'except the client secret; flags such as --client-id change them';
    reporter.notice(`your answers are saved in the profile '${profile}', ${rest}`);
  } catch {
    // The sign-in's own error is reported instead.
  }
}
