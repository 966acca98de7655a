import { advise, hooktrail } from '../../advice.ts';
import { type Context, trimValue } from '../../context.ts';
import { UsageError } from '../../errors.ts';
import { TOKEN_LIMITS } from '../../http/transport.ts';
import { givenSecret } from '../../secrets/given-secret.ts';
import { KeychainError } from '../../secrets/keychain-error.ts';
import { checkStore, findSignIns, openVault } from '../../secrets/stored-sign-ins.ts';
import type { Vault } from '../../secrets/vault.ts';
import {
  parseSetting,
  type SettingName,
  settingNames,
  withoutQuotes,
  withScheme,
} from '../../settings/setting-names.ts';
import { missingSettings, readConfig, type Settings } from '../../settings/settings.ts';
import { canPrompt, confirm, promptSecret, promptText } from '../../terminal/prompt.ts';
import { authorizationUrl } from '../authorization.ts';
import { audienceOf, type ClientProof, givenProof, wantedMethod } from '../client-authentication.ts';
import { BOUND, type BoundSettings, bindingOf, savedSettings } from '../session.ts';
import { OPTIONAL_LIMITS, type Provider, send, withProvider } from '../token-endpoint.ts';
import { type Attempt, NEEDED, OPTIONAL, type SignInSetup, usesBrowser } from './login-attempt.ts';

/**
 * Tests the store and the provider, then asks on a terminal for missing settings and the client secret.
 * Throws one `UsageError` for everything that is missing, the store's own error if it is unusable, or
 * `UnreachableError`.
 */
export async function prepareSignIn(attempt: Attempt): Promise<SignInSetup> {
  const { flags, context, typed } = attempt;
  const asks = canPrompt(context);
  const method = wantedMethod(flags, context.environment);
  const needsSecret = method === undefined || method === 'secret';
  // Detect an unusable key before asking the person anything.
  if (method === 'key') await givenProof(method, '', context);
  let clientSecret = needsSecret ? await givenClientSecret(attempt) : undefined;
  const known = attempt.settings.checked();
  const needs = { secret: needsSecret && clientSecret === undefined };
  const chosen = await askMissing(known, needs, attempt);
  const settings = attempt.settings.with({ ...typed, ...chosen }).checked(NEEDED);
  if (!flags.replace) await confirmReplacement(settings, attempt);
  const binding = bindingOf(settings);
  const vault = openVault(settings.store, binding, context);
  // A new file asks for a passphrase, which comes last; an old one may hold the client secret.
  const isFirst = settings.store === 'file' && !(await findSignIns('file', binding, context)).own;
  if (isFirst && asks && needsSecret) clientSecret ??= await askClientSecret(attempt);
  await vault.probe(true);
  if (needsSecret) return { settings, proof: await findSecret(clientSecret, vault, attempt), vault };
  if (method === 'none') return { settings, proof: { method }, vault };
  const proof = await givenProof(method, audienceOf(settings), context);
  // Detect an expired assertion before a person signs in.
  if (proof.method === 'assertion' && !flags.clientCredentials) await proof.read();
  return { settings, proof, vault };
}

/**
 * Asks on a terminal for missing settings, after testing the store and the provider. Returns the store if
 * another one was chosen.
 */
async function askMissing(
  known: Settings,
  needs: { readonly secret: boolean },
  attempt: Attempt,
): Promise<{ store?: 'file' }> {
  const { flags, context, typed } = attempt;
  const missing = NEEDED.filter((name) => known[name] === undefined);
  if (missing.length > 0 && !canPrompt(context)) throw incomplete(missing, needs.secret);
  const chosen = await chooseStore(known, attempt);
  if (known.authUrl && usesBrowser(flags)) await checkProvider({ ...known, authUrl: known.authUrl }, attempt);
  for (const name of missing) {
    const text = await (name === 'authUrl' ? askProvider(known, attempt) : askSetting(name, context));
    Object.assign(typed, chosen, { [name]: text });
  }
  return chosen;
}

async function findSecret(given: string | undefined, vault: Vault, attempt: Attempt): Promise<ClientProof> {
  const { flags, context } = attempt;
  const stored = given === undefined && !flags.clientSecretStdin ? await vault.read() : undefined;
  if (stored?.client === 'none' && !flags.clientCredentials) return { method: 'none' };
  let secret = given ?? stored?.clientSecret;
  if (canPrompt(context)) secret ??= await askClientSecret(attempt);
  if (secret === undefined) throw incomplete([], true);
  return secret === '' ? { method: 'none' } : { method: 'secret', secret };
}

/** An empty answer means a public client; the client itself cannot sign in without a secret. */
async function askClientSecret({ flags, context, reporter }: Attempt): Promise<string> {
  if (flags.clientCredentials) return await promptSecret('Client secret', context);
  reporter.notice('A public client has no secret: just press Enter.');
  return await promptSecret('Client secret', context, { isOptional: true });
}

async function givenClientSecret({ flags, context, lines }: Attempt): Promise<string | undefined> {
  if (!flags.clientSecretStdin) return await givenSecret('HOOKTRAIL_CLIENT_SECRET', context);
  // On a terminal the line would be visible while typed, so a hidden prompt asks for it.
  if (canPrompt(context)) return undefined;
  const line = trimValue((await lines.next()) ?? '');
  if (line) return line;
  const next = advise`send the client secret there, or run ${hooktrail('login')} on a terminal and be asked`;
  throw new UsageError('--client-secret-stdin: the first line of standard input is empty', { next });
}

/**
 * Tests the store. Without a keychain, offers the encrypted file on a terminal, and returns it if accepted.
 */
async function chooseStore(
  { store, given }: Settings,
  { context, reporter }: Attempt,
): Promise<{ store?: 'file' }> {
  try {
    await checkStore(store, context);
    return {};
  } catch (error) {
    const isChosen = given.store?.source === settingNames.store.flag;
    if (!(error instanceof KeychainError) || isChosen || !canPrompt(context)) throw error;
    reporter.say(error.message);
    await confirm('Keep the secrets in an encrypted file instead?', context, error);
    await checkStore('file', context);
    return { store: 'file' };
  }
}

/** Some providers are slow with their first page; failures to connect are still reported soon. */
const FIRST_PAGE = { ...OPTIONAL, limits: { ...TOKEN_LIMITS, connect: OPTIONAL_LIMITS.connect } };

async function askProvider(known: Settings, attempt: Attempt): Promise<string> {
  const next = 'check the address; if you type it again, it is accepted as it is';
  for (let last: string | undefined; ; ) {
    const text = await askSetting('authUrl', attempt.context);
    if (!usesBrowser(attempt.flags) || text === last) return text;
    const authUrl = parseSetting('authUrl', text, settingNames.authUrl.flag);
    if (await checkProvider({ ...known, authUrl }, attempt, next)) return text;
    last = text;
  }
}

/** Requests the provider's sign-in address; warns and returns false on 404. Throws `UnreachableError`. */
async function checkProvider(
  settings: Settings<'authUrl'>,
  attempt: Attempt,
  next = 'check --auth-url if the browser says so too',
): Promise<boolean> {
  const url = authorizationUrl(settings, {});
  const { signal } = attempt.context;
  const ask = (provider: Provider) => send(provider, { method: 'GET', url, signal, keepBytes: 0 });
  const { status } = await withProvider({ clientId: '', ...settings }, attempt, ask, FIRST_PAGE);
  if (status !== 404) return true;
  attempt.reporter.warning(`there is nothing at ${url.href} (404)`, { kind: 'sign-in', next });
  return false;
}

const EXAMPLES: Partial<Record<SettingName, string>> = {
  authUrl: 'https://id.example.com',
  baseUrl: 'https://events.example.com/v1',
  vendor: 'acme',
};

async function askSetting(name: (typeof NEEDED)[number], context: Context): Promise<string> {
  const { meaning, flag } = settingNames[name];
  const example = EXAMPLES[name] ? `, such as ${EXAMPLES[name]}` : '';
  const question = `${meaning.charAt(0).toUpperCase()}${meaning.slice(1)} (${flag})${example}`;
  const check = (text: string) => {
    try {
      parseSetting(name, meantBy(name, withoutQuotes(text)), flag);
      return undefined;
    } catch (error) {
      return (error as Error).message;
    }
  };
  return meantBy(name, withoutQuotes(await promptText(question, context, check)));
}

function meantBy(name: SettingName, text: string): string {
  if (name === 'vendor') return parseSetting(name, text, settingNames[name].flag);
  return name === 'authUrl' || name === 'baseUrl' ? (withScheme(text) ?? text) : text;
}

/**
 * Asks before replacing a sign-in at other addresses, which could then no longer be found. Throws
 * `UsageError` without a terminal, or if declined.
 */
async function confirmReplacement(settings: BoundSettings, { context, reporter }: Attempt): Promise<void> {
  const { profile, profileExists } = settings;
  const saved = profileExists ? savedSettings(profile, await readConfig(context)) : undefined;
  const changes = saved ? BOUND.filter((name) => String(saved[name]) !== String(settings[name])) : [];
  if (!saved || changes.length === 0) return;
  if (!(await findSignIns(saved.store, bindingOf(saved), context)).own) return;
  const details = changes.map(
    (name) => `${settingNames[name].meaning}: ${saved[name]}, would become ${settings[name]}`,
  );
  const refused = new UsageError(`the profile '${profile}' is signed in elsewhere`, {
    details,
    next: 'choose another profile with --profile NAME, or replace this one with --replace',
  });
  if (!canPrompt(context)) throw refused;
  reporter.say(`The profile '${profile}' is signed in elsewhere:`);
  for (const line of details) reporter.say(`  ${line}`);
  await confirm('Replace its sign-in?', context, refused);
}

function incomplete(names: readonly SettingName[], secretToo: boolean): UsageError {
  const secret =
    '--client-secret-stdin or HOOKTRAIL_CLIENT_SECRET: client secret (--public-client if it has none)';
  const details = [...missingSettings(names).details, ...(secretToo ? [secret] : [])];
  return new UsageError(details.length === 1 ? 'a setting is missing' : 'settings are missing', {
    details,
    next: advise`give them as flags or variables, or run ${hooktrail('login')} on a terminal and be asked`,
  });
}
