import type { Call } from '../command.ts';
import type { Context, Environment } from '../context.ts';
import { NotSignedInError, UnreachableError, UsageError } from '../errors.ts';
import { createTransport } from '../http/undici-client.ts';
import { withLock } from '../lock/lock.ts';
import { givenSecret, isSecretGiven } from '../secrets/given-secret.ts';
import { KeychainError } from '../secrets/keychain.ts';
import { checkStore, findSignIns, openVault } from '../secrets/stored-sign-ins.ts';
import { type AccessToken, type Secrets, storeSurely, type Vault } from '../secrets/vault.ts';
import {
  isLoopback,
  parseSetting,
  type SettingName,
  settingNames,
  urlText,
  withoutQuotes,
  withScheme,
} from '../settings/setting-names.ts';
import {
  changeConfig,
  chooseProfile,
  loadSettings,
  missingSettings,
  readConfig,
  type SavedProfile,
  type SettingFlags,
  type Settings,
  savedProfileName,
} from '../settings/settings.ts';
import { canPrompt, confirm, type Lines, promptSecret, promptText, withLines } from '../terminal/prompt.ts';
import { durationWords, terminalSafeLine } from '../terminal/terminal-text.ts';
import {
  type AuthorizationAnswer,
  type AuthorizationRequest,
  checkResponse,
  createAuthorizationRequest,
  issuerText,
  pastedBeside,
  receivePasted,
} from './authorization.ts';
import {
  audienceOf,
  type ClientProof,
  givenProof,
  keptProof,
  methodWords,
  wantedMethod,
} from './client-authentication.ts';
import { clientScopes, NEW_CLIENT, requestAsClient } from './client-credentials.ts';
import { type OpenedRequest, pushIfRequired } from './pushed-request.ts';
import { listenForRedirect, type PageName, receiveRedirect } from './redirect-listener.ts';
import { BOUND, type BoundSettings, bindingOf, savedSettings } from './session.ts';
import { signInLock } from './sign-in-lock.ts';
import {
  authorizeDevice,
  exchangeCode,
  exchangeDeviceCode,
  findEndpoint,
  type Grant,
  mayPass,
  NEW_SIGN_IN,
  OPTIONAL_LIMITS,
  type Provider,
  promisesIssuer,
  RefusedGrantError,
  send,
  withProvider,
} from './token-endpoint.ts';

/** The flags of `login`. */
export interface SignInFlags extends SettingFlags {
  readonly clientSecretStdin?: boolean;
  /** True if the client has no secret. */
  readonly publicClient?: true;
  /** True to change the addresses of a signed-in profile without asking. */
  readonly replace?: boolean;
  readonly browser: boolean;
  readonly paste?: true;
  readonly device?: true;
  /** True to sign in as the client itself, with no person. */
  readonly clientCredentials?: true;
  /** Milliseconds to wait for the person. */
  readonly timeout?: number;
}

/** One run of `login`. */
interface Attempt extends Pick<Call<SignInFlags>, 'flags' | 'context' | 'reporter'> {
  readonly lines: Lines;
  /** The settings that were typed, and the store that was chosen, as far as the run has come. */
  readonly typed: Partial<Record<SettingName, string>>;
}

/** Everything that a sign-in needs before it opens the browser. */
interface SignInSetup {
  readonly settings: Settings<(typeof NEEDED)[number]>;
  readonly proof: ClientProof;
  /** A store that was checked to accept secrets. */
  readonly vault: Vault;
}

const NEEDED = ['authUrl', 'baseUrl', 'clientId', 'vendor'] as const;

/** The settings that a sign-in saves, whatever they came from; others stay as the profile has them. */
const SAVED = [...NEEDED, 'scope', 'redirectUri', 'issuer', 'store'] as const;

const TIMEOUT_MS = 300_000;

/** Signs in from start to end: by the browser's redirect, a pasted address, or a code on another device. */
export async function signIn({ flags, context, reporter }: Call<SignInFlags>): Promise<void> {
  if (isSecretGiven('HOOKTRAIL_ACCESS_TOKEN', context.environment))
    reporter.warning('HOOKTRAIL_ACCESS_TOKEN is set: commands use it, not what is signed in to here');
  await withLines(context, async (lines) => {
    const attempt = { flags, context, reporter, lines, typed: {} };
    try {
      const setup = await prepareSignIn(attempt);
      await methodOf(flags)(setup, attempt);
    } catch (error) {
      await saveTyped(attempt);
      throw error;
    }
  });
}

function methodOf({ clientCredentials, device }: SignInFlags) {
  if (clientCredentials) return signInAsClient;
  return device ? signInByDevice : signInByRedirect;
}

/** False if no page of the provider is needed on this machine. */
function usesBrowser({ clientCredentials, device }: SignInFlags): boolean {
  return !clientCredentials && !device;
}

/**
 * Tries the store and the provider, then asks on a terminal for the settings that are missing and the client
 * secret. Throws one `UsageError` naming everything that is missing, the store's own error if it is unusable,
 * or `UnreachableError`.
 */
async function prepareSignIn(attempt: Attempt): Promise<SignInSetup> {
  const { flags, context, typed } = attempt;
  const asks = canPrompt(context);
  const method = wantedMethod(flags, context.environment);
  const needsSecret = method === undefined || method === 'secret';
  // What cannot be used is found out before anything is asked of anybody.
  if (method === 'key') await givenProof(method, '', context);
  let clientSecret = needsSecret ? await givenClientSecret(attempt) : undefined;
  const known = await loadSettings(flags, context);
  const missing = NEEDED.filter((name) => known[name] === undefined);
  if (missing.length > 0 && !asks) throw incomplete(missing, needsSecret && clientSecret === undefined);
  const chosen = await chooseStore(known, attempt);
  if (known.authUrl && usesBrowser(flags)) await checkProvider({ ...known, authUrl: known.authUrl }, attempt);
  for (const name of missing) {
    const text = await (name === 'authUrl' ? askProvider(known, attempt) : askSetting(name, context));
    Object.assign(typed, chosen, { [name]: text });
  }
  const settings = await loadSettings({ ...flags, ...typed, ...chosen }, context, NEEDED);
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
  // No person should sign in in vain.
  if (proof.method === 'assertion' && !flags.clientCredentials) await proof.read();
  return { settings, proof, vault };
}

/**
 * Returns the client secret: as given, as stored, or as typed on a terminal. A client without one is a public
 * client.
 */
async function findSecret(given: string | undefined, vault: Vault, attempt: Attempt): Promise<ClientProof> {
  const { flags, context } = attempt;
  const stored = given === undefined && !flags.clientSecretStdin ? await vault.read() : undefined;
  if (stored?.client === 'none' && !flags.clientCredentials) return { method: 'none' };
  let secret = given ?? stored?.clientSecret;
  if (canPrompt(context)) secret ??= await askClientSecret(attempt);
  if (secret === undefined) throw incomplete([], true);
  return secret === '' ? { method: 'none' } : { method: 'secret', secret };
}

/**
 * Asks for the client secret. An empty answer says that there is none; the client itself cannot sign in
 * without one.
 */
async function askClientSecret({ flags, context, reporter }: Attempt): Promise<string> {
  if (flags.clientCredentials) return await promptSecret('Client secret', context);
  reporter.notice('A public client has no secret: press Enter alone.');
  return await promptSecret('Client secret', context, { isOptional: true });
}

async function givenClientSecret({ flags, context, lines }: Attempt): Promise<string | undefined> {
  if (!flags.clientSecretStdin) return await givenSecret('HOOKTRAIL_CLIENT_SECRET', context);
  // On a terminal the line would be visible while it is typed: it is asked for, hidden.
  if (canPrompt(context)) return undefined;
  const line = (await lines.next())?.trim();
  if (line) return line;
  const next = 'send the client secret there, or run `hooktrail login` on a terminal and be asked';
  throw new UsageError('--client-secret-stdin: the first line of standard input is empty', { next });
}

/**
 * Tries the store. Without a keychain a terminal offers the encrypted file: returns that store if it was
 * wanted.
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

/** Asks for the provider's address until there is a page to sign in at, or the same address comes twice. */
async function askProvider(known: Settings, attempt: Attempt): Promise<string> {
  const next = 'check the address; typed once more, it is taken as it is';
  for (let last: string | undefined; ; ) {
    const text = await askSetting('authUrl', attempt.context);
    if (!usesBrowser(attempt.flags) || text === last) return text;
    const authUrl = parseSetting('authUrl', text, settingNames.authUrl.flag);
    if (await checkProvider({ ...known, authUrl }, attempt, next)) return text;
    last = text;
  }
}

/**
 * Asks the provider's sign-in address for any answer; warns and returns false if it is 404. Throws
 * `UnreachableError`.
 */
async function checkProvider(
  settings: Settings<'authUrl'>,
  attempt: Attempt,
  next = 'check --auth-url if the browser says so too',
): Promise<boolean> {
  const url = new URL(`${urlText(settings.authUrl)}/connect/authorize`);
  const { signal } = attempt.context;
  const ask = (provider: Provider) => send(provider, { method: 'GET', url, signal, keepBytes: 0 });
  const { status } = await withProvider({ clientId: '', ...settings }, attempt, ask, OPTIONAL);
  if (status !== 404) return true;
  attempt.reporter.warning(`there is nothing at ${url.href} (404)`, { kind: 'sign-in', next });
  return false;
}

/** For answers that are there at once, or not at all. */
const OPTIONAL = { limits: OPTIONAL_LIMITS, advice: NEW_SIGN_IN };

/** An example of a good answer. */
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

/**
 * Understands what people are given: a whole media type for its vendor, and an address without its scheme.
 */
function meantBy(name: SettingName, text: string): string {
  if (name === 'vendor') return parseSetting(name, text, settingNames[name].flag);
  return name === 'authUrl' || name === 'baseUrl' ? (withScheme(text) ?? text) : text;
}

/**
 * Asks before a sign-in replaces one at other addresses, which could no longer be found. Throws `UsageError`
 * without a terminal, or if the answer is no.
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
    next: 'give them as flags or variables, or run `hooktrail login` on a terminal and be asked',
  });
}

async function signInByRedirect(setup: SignInSetup, attempt: Attempt): Promise<void> {
  const { settings } = setup;
  const { flags, context, reporter, lines } = attempt;
  const port = flags.paste ? undefined : await listenForRedirect(settings.redirectUri);
  try {
    const own = await createAuthorizationRequest(settings, port?.redirectUri ?? settings.redirectUri);
    const push = (provider: Provider) => pushIfRequired(own, provider, setup.proof);
    const request = await withProvider(settings, attempt, push, OPTIONAL);
    const onStray = (reason: string) =>
      reporter.trace(`a request to the redirect URI was rejected: ${reason}`);
    const reception = port && receiveRedirect(port, request, context.clock, onStray);
    const answer = await withinTime(attempt, (signal, over) => {
      announce(request, attempt, over);
      const waiting = { ...context, signal };
      if (!reception) return receivePasted(request, waiting, lines, reporter);
      return canPrompt(context)
        ? pastedBeside(reception.answer, request, waiting, reporter)
        : reception.answer;
    });
    let page: PageName = answer.kind === 'code' ? 'failed' : answer.kind;
    try {
      const isUnnamed = answer.kind === 'foreign';
      const checked = isUnnamed ? await confirmUnnamed(answer, request, settings, attempt) : answer;
      if (checked.kind === 'refused') throw refusal(checked.error, checked.description);
      page = 'failed';
      const exchange = (provider: Provider) =>
        exchangeCode(provider, setup.proof, checked.parameters, request);
      const grant = await withProvider(settings, attempt, exchange, { advice: NEW_SIGN_IN });
      await keepGrant(grant, isUnnamed ? withoutIssuer(setup) : setup, attempt);
      page = 'signedIn';
    } finally {
      const named = page === 'foreign' && answer.kind === 'foreign' ? issuerText(answer.issuer) : undefined;
      await reception?.conclude(page, named);
    }
  } finally {
    port?.close();
  }
}

/**
 * Returns an answer that names no issuer as one that need not, if the provider's metadata does not promise to
 * name one (RFC 9207 section 2.4) and a person at the terminal confirms it. Throws `NotSignedInError` for any
 * other answer of a foreign issuer.
 */
async function confirmUnnamed(
  { issuer, parameters }: Extract<AuthorizationAnswer, { kind: 'foreign' }>,
  request: AuthorizationRequest,
  settings: SignInSetup['settings'],
  attempt: Attempt,
): Promise<Exclude<AuthorizationAnswer, { kind: 'foreign' }>> {
  const { context, reporter } = attempt;
  const refused = new NotSignedInError(
    `the answer to the sign-in names ${issuerText(issuer)}, not ${request.issuer}`,
    {
      details: ['another provider may have answered in place of yours (a mix-up attack, RFC 9207)'],
      next:
        issuer === undefined
          ? 'if your provider names none, run the same command with --issuer none'
          : 'if that is your provider, give what it names with --issuer; otherwise check --auth-url',
    },
  );
  if (issuer !== undefined || !canPrompt(context)) throw refused;
  // Metadata that cannot be read may promise one.
  if (await withProvider(settings, attempt, promisesIssuer, OPTIONAL).catch(() => true)) throw refused;
  const provider = urlText(settings.authUrl);
  reporter.say(
    `The answer to the sign-in does not name its provider, and ${provider} does not promise that.`,
  );
  await confirm(`Did you sign in at ${settings.authUrl.host}?`, context, refused);
  const answer = await checkResponse(parameters, { ...request, issuer: 'none' });
  if (answer.kind === 'stray' || answer.kind === 'foreign') throw refused;
  return answer;
}

/** The setup with `--issuer none`, which is saved. */
function withoutIssuer({ settings, ...setup }: SignInSetup): SignInSetup {
  const given = { ...settings.given, issuer: { text: 'none', source: 'the answer to a question' } };
  return { ...setup, settings: { ...settings, issuer: 'none', given } };
}

const AFTER_REFUSAL: Readonly<Record<string, string>> = {
  access_denied: 'sign in again and allow the access',
  invalid_scope: 'request with --scope the scopes issued to the client',
  unauthorized_client: 'check --client-id with whoever issued it',
};

function refusal(error: string, description?: string): NotSignedInError {
  return new NotSignedInError(`the sign-in was refused: ${terminalSafeLine(error)}`, {
    details: description ? [description] : [],
    next: AFTER_REFUSAL[error] ?? NEW_SIGN_IN.again,
  });
}

/** Signs in without a person, as the client itself. */
async function signInAsClient({ settings, proof, vault }: SignInSetup, attempt: Attempt): Promise<void> {
  const ask = (provider: Provider) => requestAsClient(provider, proof);
  const access = await withProvider(settings, attempt, ask, { advice: NEW_CLIENT });
  const secrets = { ...keptProof(proof), access, grant: 'client_credentials' } as const;
  const asked = clientScopes(settings);
  await keepSignIn(secrets, { settings, proof, vault }, attempt, { asked, after: 'renewed when needed' });
}

async function signInByDevice(setup: SignInSetup, attempt: Attempt): Promise<void> {
  const grant = await withinTime(attempt, (signal) => {
    const ask = (provider: Provider) => grantByDevice(provider, setup, attempt, signal);
    return withProvider(setup.settings, attempt, ask, { advice: NEW_SIGN_IN });
  });
  await keepGrant(grant, setup, attempt);
}

/** Between two polls if the provider gives no interval; `slow_down` adds as many (RFC 8628 section 3.5). */
const INTERVAL_SECONDS = 5;

/**
 * Gets tokens for a code that the person enters in a browser on any device (RFC 8628). Throws
 * `NotSignedInError` if the provider does not offer this, if the person refuses, or if the code expires.
 */
async function grantByDevice(
  provider: Provider,
  { settings, proof }: SignInSetup,
  { context: { clock }, reporter }: Attempt,
  signal: AbortSignal,
): Promise<Grant> {
  const endpoint = await findEndpoint(provider, 'device_authorization_endpoint');
  if (endpoint === undefined)
    throw new NotSignedInError('the identity provider offers no sign-in by a code on another device', {
      details: ['its metadata names no device_authorization_endpoint of its own'],
      next: 'run `hooktrail login --paste`: it needs no redirect to this machine either',
    });
  const device = await authorizeDevice(provider, proof, endpoint, settings.scope);
  const expiresAt = clock.now() + device.expires_in * 1000;
  const late = new NotSignedInError('nobody signed in before the code expired', { next: NEW_SIGN_IN.again });
  reporter.notice('Sign in with a browser on any device. The page is');
  reporter.say(terminalSafeLine(device.verification_uri_complete ?? device.verification_uri));
  reporter.notice('The code is');
  reporter.say(terminalSafeLine(device.user_code));
  // A tiny interval would be a flood of requests.
  let interval = Math.max(1, device.interval ?? INTERVAL_SECONDS);
  for (;;) {
    const left = expiresAt - clock.now();
    await clock.sleep(Math.min(interval * 1000, left), signal);
    if (interval * 1000 >= left) throw late;
    try {
      return await exchangeDeviceCode(provider, proof, device.device_code);
    } catch (error) {
      const code = error instanceof RefusedGrantError ? error.error : undefined;
      if (code === 'access_denied') throw refusal(code);
      if (code === 'expired_token') throw late;
      if (code === 'authorization_pending') continue;
      // RFC 8628 section 3.5: poll less often after a time-out, too.
      if (code !== 'slow_down' && !mayPass(error)) throw error;
      interval += INTERVAL_SECONDS;
    }
  }
}

/** Keeps what a person was granted. */
async function keepGrant(
  { access, refreshToken }: Grant,
  { settings, proof, vault }: SignInSetup,
  attempt: Attempt,
): Promise<void> {
  const asked = settings.scope.split(' ');
  const how = asked.includes('offline_access') ? 'granted' : 'asked for by --scope';
  const after = refreshToken ? 'renewed when needed' : `then sign in again (no refresh token was ${how})`;
  const secrets = { refreshToken, ...keptProof(proof), access };
  await keepSignIn(secrets, { settings, proof, vault }, attempt, { asked, after });
}

/**
 * Stores the secrets, saves the profile and prints a summary of the sign-in. An interrupt waits. `asked` are
 * the scopes that were requested, `after` says what follows the end of the token.
 */
async function keepSignIn(
  secrets: Secrets & { readonly access: AccessToken },
  { settings, proof, vault }: SignInSetup,
  { context, reporter }: Attempt,
  { asked, after }: { readonly asked: readonly string[]; readonly after: string },
): Promise<void> {
  const { clock, environment } = context;
  const { access } = secrets;
  const uninterrupted = { ...context, signal: new AbortController().signal };
  const store = () => storeSurely(vault, { ...secrets, issuer: audienceOf(settings) }, clock);
  const { name, place } = signInLock(settings, context);
  const elsewhere = await withLock(name, uninterrupted, store, place);
  const { given, profile, authUrl, baseUrl, store: storeKind } = settings;
  const isKept = (name: SettingName) => name === 'store' || given[name]?.source !== 'the default';
  const kept = SAVED.filter(isKept).map((name) => [name, given[name]?.text]);
  const isDefault = await saveSettings(profile, Object.fromEntries(kept), context);
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
  if (storeKind === 'file' && !isSecretGiven('HOOKTRAIL_PASSPHRASE', environment))
    reporter.notice(
      'Commands ask for the passphrase. Where nobody can type it, seal the file with a key: `hooktrail keygen --help`.',
    );
  // An answer without scopes grants those that were asked for (RFC 6749 section 5.1).
  const granted = access.scope?.split(' ') ?? asked;
  const withheld = asked.filter((name) => !granted.includes(name));
  if (withheld.length > 0) reporter.warning(`not granted: ${withheld.join(' ')}`, { kind: 'sign-in' });
}

/** Saves the settings of a profile. Returns whether that made it the default. */
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

/** Saves what was typed into a sign-in that failed, so that only the client secret is asked for again. */
async function saveTyped({ typed, flags, context, reporter }: Attempt): Promise<void> {
  if (Object.keys(typed).length === 0) return;
  try {
    const { profile } = chooseProfile(flags, context.environment, await readConfig(context));
    await saveSettings(profile, { store: flags.store, ...typed } as SettingFlags, context);
    const rest = 'but for the client secret; flags such as --client-id change it';
    reporter.notice(`what you typed is saved in the profile '${profile}', ${rest}`);
  } catch {
    // The error of the sign-in itself is reported instead.
  }
}

/**
 * Waits for somebody to sign in. `wait` is given a signal that aborts when time is up or the program is
 * interrupted. Throws `NotSignedInError` when time is up.
 */
async function withinTime<Result>(
  { flags: { timeout = TIMEOUT_MS, device, paste }, context: { clock, signal } }: Attempt,
  wait: (signal: AbortSignal, over: AbortController) => Promise<Result>,
): Promise<Result> {
  const over = new AbortController();
  const either = AbortSignal.any([over.signal, signal]);
  const or = device || paste ? '' : '; --paste needs no redirect to this machine';
  const late = clock.sleep(timeout, either).then(() => {
    const error = new NotSignedInError(`nobody signed in within ${timeout / 1000} s`, {
      next: `run the same command again (--timeout waits longer${or}); if the browser showed an error, check --client-id${device ? '' : ' and --redirect-uri'}, or run \`hooktrail doctor\``,
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

/**
 * Always shows the URL, and opens it in a browser if one is wanted and is on this machine. `over` aborts at
 * the end.
 */
function announce(request: OpenedRequest, attempt: Attempt, over: AbortController): void {
  const { url, redirectUri, validSeconds } = request;
  const { flags, context, reporter } = attempt;
  const { environment, browser } = context;
  const command = environment['HOOKTRAIL_BROWSER'] || undefined;
  // A remote machine without a display has no browser, or a text browser that would take over the terminal.
  const opens = flags.browser && (command !== undefined || !isRemote(environment) || hasDisplay(environment));
  // Who names a browser command knows how to reach a browser from here.
  const needsAdvice = !flags.paste && command === undefined;
  const advice = needsAdvice ? remoteAdvice(context, redirectUri.url, url) : [];
  for (const line of advice) reporter.notice(line);
  if (advice.length > 0) {
    const how = canPrompt(context) ? 'paste below' : 'run the same command with --paste and paste';
    reporter.notice(`or ${how} the URL that the browser ends up at`);
  }
  reporter.notice(opens ? 'Sign in in the browser. If it does not open, go to' : 'Sign in in a browser at');
  reporter.say(url.href);
  if (validSeconds !== undefined) reporter.notice(`This address is valid for ${validSeconds} s.`);
  // Not awaited: a failure may take a while to show.
  if (opens) {
    const opening =
      command === REDIRECTS_ONLY ? visitWithoutBrowser(url, context.signal) : browser.open(url, command);
    opening.catch((error: Error) => {
      if (over.signal.aborted) return;
      if (command === REDIRECTS_ONLY)
        return over.abort(new UnreachableError(`signing in without a browser failed: ${error.message}`));
      reporter.warning(`the browser could not be started: ${error.message}`, { kind: 'sign-in' });
      reporter.notice('Open the URL above by hand: the sign-in is still waiting.');
    });
  }
}

/** The `HOOKTRAIL_BROWSER` for a provider that approves sign-ins by itself, as a sandbox can. */
export const REDIRECTS_ONLY = 'hooktrail';

const MAX_REDIRECTS = 10;

/** Opens an address as a browser would, following redirects, without one. */
async function visitWithoutBrowser(url: URL, signal: AbortSignal): Promise<void> {
  const transport = createTransport({ environment: {} });
  try {
    let at = url;
    for (let hop = 0; hop < MAX_REDIRECTS; hop++) {
      const { status, headers } = await transport.send({ method: 'GET', url: at, signal });
      if (status < 300 || status > 399 || !headers.location) return;
      at = new URL(headers.location, at.href);
    }
  } finally {
    await transport.close();
  }
}

/** True if the environment says that the browser is on another machine. */
function isRemote(environment: Environment): boolean {
  return Boolean(environment['SSH_CONNECTION'] || environment['SSH_TTY']);
}

function hasDisplay(environment: Environment): boolean {
  return Boolean(environment['DISPLAY'] || environment['WAYLAND_DISPLAY']);
}

/**
 * Advice for a browser on another machine, whose redirect does not reach this one by itself; no lines if it
 * does.
 */
function remoteAdvice({ environment, machine }: Context, redirectUri: URL, signInUrl: URL): string[] {
  const { CODESPACES, REMOTE_CONTAINERS, DEVCONTAINER, WSL_DISTRO_NAME, WSL_INTEROP } = environment;
  const port = redirectUri.port || '80';
  const forwarded = (place: string) => [
    `This is a ${place}: forward port ${port} to your machine in VS Code ("Ports"),`,
  ];
  if (CODESPACES === 'true') return forwarded('codespace');
  if (isRemote(environment)) {
    // A provider on this machine, such as a sandbox, is as far from that browser.
    const ends = isLoopback(signInUrl) ? [redirectUri, signInUrl] : [redirectUri];
    const forwards = ends.map((end) => {
      const target = end.hostname === '[::1]' ? '[::1]' : '127.0.0.1';
      const at = end.port || (end.protocol === 'https:' ? '443' : '80');
      return `-L ${at}:${target}:${at}`;
    });
    return [
      `This is an SSH session: for a browser on your own machine, forward the port${ends[1] ? 's' : ''} from there first,`,
      `  ssh -N ${forwards.join(' ')} ${machine.hostname}`,
    ];
  }
  if (REMOTE_CONTAINERS || DEVCONTAINER) return forwarded('dev container');
  if (WSL_DISTRO_NAME || WSL_INTEROP)
    return [
      `This is WSL: a browser on Windows reaches port ${port} here only with localhost forwarding`,
      '(.wslconfig: localhostForwarding=true, or networkingMode=mirrored);',
    ];
  if (machine.isContainer && !hasDisplay(environment))
    return [
      `This is a container: a browser outside does not reach its port ${port}, published`,
      'or not; run the container with the network of its host (`--network host`),',
    ];
  return [];
}
