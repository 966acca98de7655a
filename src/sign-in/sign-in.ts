import type { Context, Environment } from '../context.ts';
import { NotSignedInError, ServiceError, UnreachableError, UsageError } from '../errors.ts';
import { TransportError } from '../http/transport.ts';
import { createTransport } from '../http/undici-client.ts';
import { withLock } from '../lock/lock.ts';
import { givenSecret, isSecretGiven } from '../secrets/given-secret.ts';
import { KeychainError } from '../secrets/keychain.ts';
import { checkStore, findSignIns, openVault } from '../secrets/stored-sign-ins.ts';
import { storeSurely, type Vault } from '../secrets/vault.ts';
import {
  isLoopback,
  parseSetting,
  type SettingName,
  settingNames,
  urlText,
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
} from '../settings/settings.ts';
import { canPrompt, confirm, type Lines, promptSecret, promptText, withLines } from '../terminal/prompt.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { durationWords, terminalSafeLine } from '../terminal/terminal-text.ts';
import {
  type AuthorizationAnswer,
  type AuthorizationRequest,
  checkResponse,
  createAuthorizationRequest,
  type ExpectedRedirect,
  expectedOf,
  issuerText,
  pastedBeside,
  receivePasted,
} from './authorization.ts';
import { grantByDevice } from './device-sign-in.ts';
import { listenForRedirect, type PageName } from './redirect-listener.ts';
import { BOUND, type BoundSettings, bindingOf, savedSettings, signInLockName } from './session.ts';
import {
  exchangeCode,
  OPTIONAL_LIMITS,
  providerUnreachable,
  readMetadata,
  type TokenGrant,
  type TokenRequestWorld,
  withProvider,
} from './token-endpoint.ts';

export interface SignInFlags extends SettingFlags {
  readonly clientSecretStdin?: boolean;
  /** True to change the addresses of a signed-in profile without asking. */
  readonly replace?: boolean;
}

export interface SignInOptions {
  readonly browser: boolean;
  readonly paste: boolean;
  readonly device: boolean;
  readonly timeoutMs: number;
}

/** Everything that a sign-in needs before it opens the browser. */
interface SignInSetup {
  readonly settings: Settings<(typeof NEEDED)[number]>;
  readonly clientSecret: string;
  /** A store that was checked to accept secrets. */
  readonly vault: Vault;
}

const NEEDED = ['authUrl', 'baseUrl', 'clientId', 'vendor'] as const;

/** The settings that a sign-in saves, whatever they came from; others stay as the profile has them. */
const SAVED = [...NEEDED, 'scope', 'redirectUri', 'issuer', 'store'] as const;

/** Signs in from start to end: by the browser's redirect, a pasted address, or a code on another device. */
export async function signIn(
  flags: SignInFlags,
  options: SignInOptions,
  context: Context,
  reporter: Reporter,
): Promise<void> {
  if (isSecretGiven('HOOKTRAIL_ACCESS_TOKEN', context.environment)) {
    reporter.warning('HOOKTRAIL_ACCESS_TOKEN is set: commands use it, not what is signed in to here');
  }
  const typed: Partial<Record<SettingName, string>> = {};
  await withLines(context, async (lines) => {
    try {
      const setup = await prepareSignIn(flags, typed, options, context, lines, reporter);
      if (options.device) await signInByDevice(setup, options, context, reporter);
      else await signInByRedirect(setup, options, context, lines, reporter);
    } catch (error) {
      await saveTyped(typed, flags, context, reporter);
      throw error;
    }
  });
}

/**
 * Tries the store and the provider, then asks on a terminal for the settings that are missing and the client secret;
 * what is typed is added to `typed`. Throws one `UsageError` naming everything that is missing, the store's own error if
 * it is unusable, or `UnreachableError`.
 */
async function prepareSignIn(
  flags: SignInFlags,
  typed: Partial<Record<SettingName, string>>,
  { device }: SignInOptions,
  context: Context,
  lines: Lines,
  reporter: Reporter,
): Promise<SignInSetup> {
  const asks = canPrompt(context);
  let clientSecret = await givenClientSecret(flags, context, lines);
  const known = await loadSettings(flags, context);
  const missing = NEEDED.filter((name) => known[name] === undefined);
  if (missing.length > 0 && !asks) throw incomplete(missing, clientSecret === undefined);
  const store = await chooseStore(known, context, reporter);
  if (known.authUrl && !device) await checkProvider(known.authUrl, context, reporter);
  for (const name of missing) {
    const text = await askSetting(name, context);
    if (name === 'authUrl' && !device)
      await checkProvider(parseSetting(name, text, settingNames[name].flag), context, reporter);
    typed[name] = text;
    if (store !== undefined) typed.store = store;
  }
  const chosen = store === undefined ? {} : { store };
  const settings = await loadSettings({ ...flags, ...typed, ...chosen }, context, NEEDED);
  if (!flags.replace) await confirmReplacement(settings, context, reporter);
  const binding = bindingOf(settings);
  const vault = openVault(settings.store, binding, context);
  // A new file asks for a passphrase, which comes last; an old one may hold the client secret.
  const isFirst = settings.store === 'file' && !(await findSignIns('file', binding, context)).own;
  if (isFirst && asks) clientSecret ??= await promptSecret('Client secret', context);
  await vault.probe(true);
  if (!flags.clientSecretStdin) clientSecret ??= (await vault.read())?.clientSecret;
  if (asks) clientSecret ??= await promptSecret('Client secret', context);
  if (clientSecret === undefined) throw incomplete([], true);
  return { settings, clientSecret, vault };
}

async function givenClientSecret(
  { clientSecretStdin }: SignInFlags,
  context: Context,
  lines: Lines,
): Promise<string | undefined> {
  if (!clientSecretStdin) return await givenSecret('HOOKTRAIL_CLIENT_SECRET', context);
  // On a terminal the line would be visible while it is typed: it is asked for, hidden.
  if (canPrompt(context)) return undefined;
  const line = (await lines.next())?.trim();
  if (line) return line;
  throw new UsageError('--client-secret-stdin: the first line of standard input is empty');
}

/** Tries the store. Without a keychain a terminal offers the encrypted file: returns `file` if that was wanted. */
async function chooseStore(
  { store, given }: Settings,
  context: Context,
  reporter: Reporter,
): Promise<'file' | undefined> {
  try {
    await checkStore(store, context);
    return undefined;
  } catch (error) {
    const isChosen = given.store?.source === settingNames.store.flag;
    if (!(error instanceof KeychainError) || isChosen || !canPrompt(context)) throw error;
    reporter.say(error.message);
    await confirm('Keep the secrets in an encrypted file instead?', context, error);
    await checkStore('file', context);
    return 'file';
  }
}

/** Asks the provider's sign-in address for any answer at all. Throws `UnreachableError`. */
async function checkProvider(authUrl: URL, context: Context, reporter: Reporter): Promise<void> {
  const url = new URL(`${urlText(authUrl)}/connect/authorize`);
  const { signal } = context;
  try {
    const ask = ({ transport }: TokenRequestWorld) =>
      transport.send({ method: 'GET', url, signal, keepBytes: 0 });
    const { status } = await withProvider(context, reporter, ask, OPTIONAL_LIMITS);
    if (status === 404)
      reporter.warning(`there is nothing at ${url.href} (404)`, {
        kind: 'sign-in',
        next: 'check --auth-url if the browser says so too',
      });
  } catch (error) {
    if (!(error instanceof TransportError)) throw error;
    throw providerUnreachable(error, 'run `hooktrail login` again');
  }
}

/** An example of a good answer. */
const EXAMPLES: Partial<Record<SettingName, string>> = {
  authUrl: 'https://id.example.com',
  baseUrl: 'https://events.example.com/v1',
  vendor: 'acme',
};

async function askSetting(name: (typeof NEEDED)[number], context: Context): Promise<string> {
  const { meaning, flag } = settingNames[name];
  const example = EXAMPLES[name];
  const question = `${meaning.charAt(0).toUpperCase()}${meaning.slice(1)} (${flag})${example ? `, such as ${example}` : ''}`;
  const check = (text: string) => {
    try {
      parseSetting(name, meantBy(name, text), flag);
      return undefined;
    } catch (error) {
      return (error as Error).message;
    }
  };
  return meantBy(name, await promptText(question, context, check));
}

/** Understands what people are given: a whole media type for its vendor, and an address without its scheme. */
function meantBy(name: SettingName, text: string): string {
  if (name === 'vendor') return /^(?:application\/)?vnd\.(.+)\.v\d+\+json$/i.exec(text)?.[1] ?? text;
  if ((name !== 'authUrl' && name !== 'baseUrl') || /^[a-z][a-z0-9+.-]*:\/\//i.test(text)) return text;
  // A name alone is more likely a mistake.
  if (!/^[^/]*[.:]|^localhost\b/.test(text) || !URL.canParse(`https://${text}`)) return text;
  return `${isLoopback(new URL(`https://${text}`)) ? 'http' : 'https'}://${text}`;
}

/**
 * Asks before a sign-in replaces one at other addresses, which could no longer be found. Throws `UsageError` without a
 * terminal, or if the answer is no.
 */
async function confirmReplacement(
  settings: BoundSettings,
  context: Context,
  reporter: Reporter,
): Promise<void> {
  const { profile, profileExists } = settings;
  if (!profileExists) return;
  const saved = savedSettings(profile, await readConfig(context));
  if (!saved) return;
  const changes = BOUND.filter((name) => String(saved[name]) !== String(settings[name]));
  if (changes.length === 0) return;
  if (!(await findSignIns(saved.store, bindingOf(saved), context)).own) return;
  const details = changes.map(
    (name) => `${settingNames[name].meaning}: ${String(saved[name])}, would become ${String(settings[name])}`,
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
  const lines = missingSettings(names).details;
  const secret = '--client-secret-stdin or HOOKTRAIL_CLIENT_SECRET: client secret';
  const all = secretToo ? [...lines, secret] : lines;
  return new UsageError(all.length === 1 ? 'a setting is missing' : 'settings are missing', {
    details: all,
    next: 'give them as flags or variables, or run `hooktrail login` on a terminal and be asked',
  });
}

async function signInByDevice(
  setup: SignInSetup,
  { timeoutMs }: SignInOptions,
  context: Context,
  reporter: Reporter,
): Promise<void> {
  const { settings, clientSecret } = setup;
  const grant = await withinTime(timeoutMs, context, (signal) =>
    grantByDevice(settings, clientSecret, { ...context, signal }, reporter),
  );
  await keepGrant(grant, setup, context, reporter);
}

async function signInByRedirect(
  setup: SignInSetup,
  options: SignInOptions,
  context: Context,
  lines: Lines,
  reporter: Reporter,
): Promise<void> {
  const { settings } = setup;
  const port = options.paste ? undefined : await listenForRedirect(settings.redirectUri);
  try {
    const redirectUri = port?.redirectUri ?? settings.redirectUri;
    const request = await createAuthorizationRequest({ ...settings, redirectUri });
    const expected = { state: request.state, ...expectedOf(settings) };
    const reception = port?.receive(expected, context.clock, (reason) =>
      reporter.trace(`a request to the redirect URI was rejected: ${reason}`),
    );
    announce(request, options, context, reporter);
    const answer = await withinTime(options.timeoutMs, context, (signal) => {
      const waiting = { ...context, signal };
      if (!reception) return receivePasted(redirectUri.url, expected, waiting, lines, reporter);
      if (!canPrompt(context)) return reception.answer;
      return pastedBeside(reception.answer, redirectUri.url, expected, waiting);
    });
    let page: PageName = answer.kind === 'code' ? 'failed' : answer.kind;
    try {
      if (answer.kind === 'foreign')
        await finishWithoutIssuer(answer, expected, request, setup, context, reporter);
      else await finish(answer, request, setup, context, reporter);
      page = 'signedIn';
    } finally {
      await reception?.conclude(page, answer.kind === 'foreign' ? issuerText(answer.issuer) : undefined);
    }
  } finally {
    port?.close();
  }
}

/**
 * Finishes with an answer that names no issuer, if the provider's metadata does not promise one (RFC 9207 section 2.4)
 * and a person at the terminal confirms it, which is saved. Throws `NotSignedInError` for any other answer of a foreign
 * issuer.
 */
async function finishWithoutIssuer(
  { issuer, parameters }: Extract<AuthorizationAnswer, { kind: 'foreign' }>,
  expected: ExpectedRedirect,
  request: AuthorizationRequest,
  setup: SignInSetup,
  context: Context,
  reporter: Reporter,
): Promise<void> {
  const { settings } = setup;
  const refused = otherIssuer(issuer, settings);
  if (issuer !== undefined || !canPrompt(context)) throw refused;
  const { namesIssuer } = await withProvider(
    context,
    reporter,
    ({ transport }) => readMetadata(settings, transport, 'namesIssuer'),
    OPTIONAL_LIMITS,
    // Metadata that cannot be read may promise one.
  ).catch(() => ({ namesIssuer: true }));
  if (namesIssuer) throw refused;
  const provider = urlText(settings.authUrl);
  reporter.say(
    `The answer to the sign-in does not name its provider, and ${provider} does not promise that.`,
  );
  await confirm(`Did you sign in at ${settings.authUrl.host}?`, context, refused);
  const answer = await checkResponse(parameters, { ...expected, issuer: 'none' });
  if (answer.kind === 'stray' || answer.kind === 'foreign') throw refused;
  const given = { ...settings.given, issuer: { text: 'none', source: 'the answer to a question' } };
  const confirmed = { ...setup, settings: { ...settings, issuer: 'none', given } };
  await finish(answer, request, confirmed, context, reporter);
}

/** Exchanges the code of an answer and stores the tokens. Throws `NotSignedInError` for an answer without a code. */
async function finish(
  answer: Exclude<AuthorizationAnswer, { kind: 'foreign' }>,
  { redirectUri, codeVerifier }: AuthorizationRequest,
  setup: SignInSetup,
  context: Context,
  reporter: Reporter,
): Promise<void> {
  if (answer.kind === 'refused') throw refusal(answer);
  const { settings, clientSecret } = setup;
  const exchange = { callbackParameters: answer.parameters, redirectUri: redirectUri.text, codeVerifier };
  const grant = await withProvider(context, reporter, (world) =>
    exchangeCode(settings, clientSecret, exchange, world),
  ).catch(throwExchangeFailure);
  await keepGrant(grant, setup, context, reporter);
}

/** Stores the tokens, saves the profile and prints a summary of the sign-in. An interrupt waits. */
async function keepGrant(
  grant: TokenGrant,
  { settings, clientSecret, vault }: SignInSetup,
  context: Context,
  reporter: Reporter,
): Promise<void> {
  const { accessToken: token, expiresAt, scope, refreshToken } = grant;
  const uninterrupted = { ...context, signal: new AbortController().signal };
  const elsewhere = await withLock(signInLockName(settings), uninterrupted, () =>
    storeSurely(vault, { refreshToken, clientSecret, access: { token, expiresAt, scope } }, context.clock),
  );
  const { given, profile } = settings;
  const isKept = (name: SettingName) => name === 'store' || given[name]?.source !== 'the default';
  await saveSettings(
    profile,
    Object.fromEntries(SAVED.filter(isKept).map((name) => [name, given[name]?.text])),
    context,
  );
  reportSignIn(settings, elsewhere ?? vault.place, grant, context, reporter);
}

/** Unlike a refresh, a failed exchange cannot be repeated: the code is used up or too old. */
function throwExchangeFailure(error: unknown): never {
  if (error instanceof UnreachableError && error.cause instanceof TransportError)
    throw providerUnreachable(error.cause, 'run `hooktrail login` again');
  if (error instanceof ServiceError) {
    const { details, status } = error;
    // The next step for a wrong address is the same as for a refresh; only "try later" differs.
    const next = error.next?.startsWith('check ') ? error.next : 'run `hooktrail login` again later';
    const parts = { details, next, cause: error };
    throw new ServiceError(error.message, status === undefined ? parts : { ...parts, status });
  }
  throw error;
}

function refusal({
  error,
  description,
}: Extract<AuthorizationAnswer, { kind: 'refused' }>): NotSignedInError {
  const next: Readonly<Record<string, string>> = {
    access_denied: 'sign in again and allow the access',
    invalid_scope: 'request with --scope the scopes issued to the client',
    unauthorized_client: 'check --client-id with whoever issued it',
  };
  return new NotSignedInError(`the sign-in was refused: ${terminalSafeLine(error)}`, {
    details: description ? [description] : [],
    next: next[error] ?? 'run `hooktrail login` again',
  });
}

function otherIssuer(issuer: string | undefined, settings: BoundSettings): NotSignedInError {
  const expected = expectedOf(settings).issuer;
  return new NotSignedInError(`the answer to the sign-in names ${issuerText(issuer)}, not ${expected}`, {
    details: ['another provider may have answered in place of yours (a mix-up attack, RFC 9207)'],
    next:
      issuer === undefined
        ? 'if your provider names none, run `hooktrail login --issuer none`'
        : 'if that is your provider, give what it names with --issuer; otherwise check --auth-url',
  });
}

async function saveSettings(profile: string, texts: SettingFlags, context: Context): Promise<void> {
  const saved: SavedProfile = Object.fromEntries(
    Object.entries(texts).flatMap(([name, text]) =>
      text === undefined ? [] : [[settingNames[name as SettingName].key, text]],
    ),
  );
  await changeConfig(context, (config) => {
    // The first profile becomes the default.
    if (Object.keys(config.profiles).length === 0) config.profile = profile;
    config.profiles[profile] = { ...config.profiles[profile], ...saved };
  });
}

/** Saves what was typed into a sign-in that failed, so that only the client secret is asked for again. */
async function saveTyped(
  typed: SettingFlags,
  flags: SignInFlags,
  context: Context,
  reporter: Reporter,
): Promise<void> {
  if (Object.keys(typed).length === 0) return;
  try {
    const { profile } = chooseProfile(flags, context.environment, await readConfig(context));
    await saveSettings(profile, { store: flags.store, ...typed } as SettingFlags, context);
    reporter.notice(`what you typed is saved in the profile '${profile}', but for the client secret`);
  } catch {
    // The error of the sign-in itself is reported instead.
  }
}

/** Prints a summary of the sign-in on standard error. */
function reportSignIn(
  { profile, authUrl, baseUrl, scope, store }: BoundSettings,
  place: string,
  grant: TokenGrant,
  { clock, environment }: Pick<Context, 'clock' | 'environment'>,
  reporter: Reporter,
): void {
  reporter.success(`Signed in at ${urlText(authUrl)}`);
  reporter.notice(`  profile   ${profile}`);
  reporter.notice(`  service   ${urlText(baseUrl)}`);
  reporter.notice(`  token     ${lifetimeText(grant, clock.now())}`);
  reporter.notice(`  secrets   ${place}`);
  if (store === 'file' && !isSecretGiven('HOOKTRAIL_PASSPHRASE', environment))
    reporter.notice(
      'Commands ask for the passphrase. Where nobody can type it, seal the file with a key: `hooktrail keygen --help`.',
    );
  const withheld = scope.split(' ').filter((name) => !(grant.scope ?? scope).split(' ').includes(name));
  if (withheld.length > 0) reporter.warning(`not granted: ${withheld.join(' ')}`, { kind: 'sign-in' });
}

function lifetimeText({ expiresAt, refreshToken }: TokenGrant, now: number): string {
  const end = expiresAt === undefined ? '' : `for ${durationWords(Math.max(0, expiresAt - now))}`;
  if (refreshToken === undefined)
    return `${end || 'of unknown lifetime'}, then sign in again (no refresh token was granted)`;
  return `${end}${end ? ', ' : ''}renewed when needed`;
}

/**
 * Waits so many milliseconds for somebody to sign in. `wait` is given a signal that aborts when time is up or the program
 * is interrupted. Throws `NotSignedInError` when time is up.
 */
async function withinTime<Result>(
  milliseconds: number,
  { clock, signal }: Pick<Context, 'clock' | 'signal'>,
  wait: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const over = new AbortController();
  const either = AbortSignal.any([over.signal, signal]);
  const late = clock.sleep(milliseconds, either).then(() => {
    const error = new NotSignedInError(`nobody signed in within ${milliseconds / 1000} s`, {
      next: 'run `hooktrail login` again (--timeout waits longer; --paste needs no redirect to this machine); if the browser showed an error, check --client-id, or run `hooktrail doctor`',
    });
    over.abort(error);
    throw error;
  });
  try {
    return await Promise.race([wait(either), late]);
  } finally {
    over.abort(new Error('over'));
  }
}

/** Always shows the URL, and opens it in a browser if one is wanted and is on this machine. */
function announce(
  { url, redirectUri }: Pick<AuthorizationRequest, 'url' | 'redirectUri'>,
  { browser, paste }: Pick<SignInOptions, 'browser' | 'paste'>,
  context: Context,
  reporter: Reporter,
): void {
  const { environment, machine, browser: opener } = context;
  const command = environment['HOOKTRAIL_BROWSER'] || undefined;
  // A remote machine without a display has no browser, or a text browser that would take over the terminal.
  const near = command !== undefined || !isRemote(environment) || hasDisplay(environment);
  const opens = browser && near;
  if (!paste) {
    for (const line of remoteAdvice(environment, machine, redirectUri.url, canPrompt(context)))
      reporter.notice(line);
  }
  reporter.notice(opens ? 'Sign in in the browser. If it does not open, go to' : 'Sign in in a browser at');
  reporter.say(url.href);
  // Not awaited: a failure may take a while to show.
  if (opens) {
    const opening =
      command === REDIRECTS_ONLY ? visitWithoutBrowser(url, context.signal) : opener.open(url, command);
    opening.catch((error: Error) => {
      reporter.warning(`the browser could not be started: ${error.message}`, { kind: 'sign-in' });
      reporter.notice('Open the URL above by hand: the sign-in is still waiting.');
    });
  }
}

/** The `HOOKTRAIL_BROWSER` for a provider that approves sign-ins by itself, as a sandbox can. */
export const REDIRECTS_ONLY = 'hooktrail';

const MAX_REDIRECTS = 10;

/** Opens an address as a browser would, following redirects, without one. */
export async function visitWithoutBrowser(url: URL, signal: AbortSignal): Promise<void> {
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

/** Advice for a browser on another machine, whose redirect does not reach this one by itself; no lines if it does. */
export function remoteAdvice(
  environment: Environment,
  { hostname, isContainer }: Pick<Context['machine'], 'hostname' | 'isContainer'>,
  redirectUri: URL,
  canPaste: boolean,
): string[] {
  const port = redirectUri.port || '80';
  const paste = canPaste
    ? 'or paste below the URL that the browser ends up at'
    : 'or run `hooktrail login --paste` and paste the URL that the browser ends up at';
  if (environment['CODESPACES'] === 'true') {
    return [`This is a codespace: forward port ${port} to your machine in VS Code ("Ports"),`, paste];
  }
  if (isRemote(environment)) {
    const target = redirectUri.hostname === '[::1]' ? '[::1]' : '127.0.0.1';
    return [
      'This is an SSH session: for a browser on your own machine, forward the port from there first,',
      `  ssh -N -L ${port}:${target}:${port} ${hostname}`,
      paste,
    ];
  }
  if (environment['REMOTE_CONTAINERS'] || environment['DEVCONTAINER']) {
    return [`This is a dev container: forward port ${port} to your machine in VS Code ("Ports"),`, paste];
  }
  if (environment['WSL_DISTRO_NAME'] || environment['WSL_INTEROP']) {
    return [
      `This is WSL: a browser on Windows reaches port ${port} here only with localhost forwarding`,
      '(.wslconfig: localhostForwarding=true, or networkingMode=mirrored);',
      paste,
    ];
  }
  if (isContainer && !hasDisplay(environment)) {
    return [
      `This is a container: a browser outside does not reach its port ${port}, published`,
      'or not; run the container with the network of its host (`--network host`),',
      paste,
    ];
  }
  return [];
}
