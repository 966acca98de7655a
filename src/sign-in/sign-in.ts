import type { Context, Environment } from '../context.ts';
import { NotSignedInError, ServiceError, UnreachableError } from '../errors.ts';
import { traced } from '../http/redaction.ts';
import { TOKEN_LIMITS } from '../http/transport.ts';
import { TransportError } from '../http/transport-error.ts';
import { createTransport } from '../http/undici-transport.ts';
import { withLock } from '../lock/lock.ts';
import { storeSurely } from '../secrets/vault.ts';
import { changeConfig, type SavedProfile } from '../settings/config-file.ts';
import { type SettingName, settingNames, settingOrder } from '../settings/setting-names.ts';
import { type RedirectUri, urlText } from '../settings/setting-values.ts';
import type { SettingFlags, Settings } from '../settings/settings.ts';
import { canPrompt, type Lines, withLines } from '../terminal/prompt.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { terminalSafeLine } from '../terminal/terminal-safe.ts';
import {
  type Answer,
  type AuthorizationRequest,
  createAuthorizationRequest,
  expectedOf,
  issuerText,
} from './authorization.ts';
import { type BoundSettings, signInLockName } from './bound-settings.ts';
import { pastedBeside, receivePasted } from './pasted-redirect.ts';
import { listenForRedirect, type PageName } from './redirect-listener.ts';
import { prepareSignIn, type SignInFlags, type SignInSetup } from './sign-in-setup.ts';
import { exchangeCode, type TokenGrant } from './token-endpoint.ts';

interface SignInOptions {
  readonly browser: boolean;
  readonly paste: boolean;
  readonly device: boolean;
  readonly timeoutSeconds: number;
}

/** Signs in from start to end: by the browser's redirect, a pasted address, or a code on another device. */
export async function signIn(
  flags: SignInFlags,
  options: SignInOptions,
  context: Context,
  reporter: Reporter,
): Promise<void> {
  await withLines(context, async (lines) => {
    const setup = await prepareSignIn(flags, context, lines, reporter);
    try {
      if (options.device) await signInByDevice(setup, options, context, reporter);
      else await signInByRedirect(setup, options, context, lines, reporter);
    } catch (error) {
      await rememberTyped(setup, context, reporter);
      throw error;
    }
  });
}

async function signInByDevice(
  setup: SignInSetup,
  { timeoutSeconds }: SignInOptions,
  context: Context,
  reporter: Reporter,
): Promise<void> {
  const { deviceGrant } = await import('./device-sign-in.ts');
  const grant = await withinTime(timeoutSeconds, context, (signal) =>
    deviceGrant(setup, { ...context, signal }, reporter),
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
    const answer = await withinTime(options.timeoutSeconds, context, (signal) => {
      const waiting = { ...context, signal };
      if (!reception) return receivePasted(redirectUri.url, expected, waiting, lines, reporter);
      if (!canPrompt(context)) return reception.answer;
      return pastedBeside(reception.answer, redirectUri.url, expected, waiting);
    });
    let page: PageName = answer.kind === 'code' ? 'failed' : answer.kind;
    try {
      await finish(answer, request, setup, context, reporter);
      page = 'signedIn';
    } finally {
      await reception?.conclude(page, answer.kind === 'foreign' ? issuerText(answer.issuer) : undefined);
    }
  } finally {
    port?.close();
  }
}

/** Exchanges the code of an answer and stores the tokens. Throws `NotSignedInError` for an answer without a code. */
async function finish(
  answer: Answer,
  { redirectUri, codeVerifier }: { redirectUri: RedirectUri; codeVerifier: string },
  setup: Completion,
  context: Context,
  reporter: Reporter,
): Promise<void> {
  if (answer.kind === 'refused') throw refusal(answer);
  if (answer.kind === 'foreign') throw otherIssuer(answer.issuer, setup.settings);
  const { settings, clientSecret } = setup;
  const transport = traced(createTransport(context, TOKEN_LIMITS), reporter, context.clock);
  try {
    const exchange = {
      callbackParameters: answer.parameters,
      redirectUri: redirectUri.text,
      codeVerifier,
      clientSecret,
    };
    const grant = await exchangeCode(settings, exchange, { transport, clock: context.clock }).catch(failed);
    await keepGrant(grant, setup, context, reporter);
  } finally {
    await transport.close();
  }
}

type Completion = { readonly settings: BoundSettings } & Pick<SignInSetup, 'clientSecret' | 'vault'>;

/** Stores the tokens, saves the profile and prints a summary of the sign-in. An interrupt waits. */
async function keepGrant(
  grant: TokenGrant,
  setup: Completion,
  context: Context,
  reporter: Reporter,
): Promise<void> {
  const { settings, clientSecret, vault } = setup;
  const { accessToken: token, expiresAt, scope, refreshToken } = grant;
  const uninterrupted = { ...context, signal: new AbortController().signal };
  const elsewhere = await withLock(signInLockName(settings), uninterrupted, () =>
    storeSurely(vault, { refreshToken, clientSecret, access: { token, expiresAt, scope } }, context.clock),
  );
  await saveProfile(settings.profile, settingTexts(settings), context);
  reportSignIn(settings, elsewhere ?? vault.place, grant, context, reporter);
}

/** Unlike a refresh, a failed exchange cannot be repeated: the code is used up or too old. */
function failed(error: unknown): never {
  if (error instanceof UnreachableError) {
    const step = error.cause instanceof TransportError ? error.cause.setupStep : undefined;
    const next =
      step ?? 'check the network and --auth-url (HOOKTRAIL_AUTH_URL), then run `hooktrail login` again';
    throw new UnreachableError(error.message, { details: error.details, next, cause: error });
  }
  if (error instanceof ServiceError) {
    // The next step for a wrong address is the same as for a refresh; only "try later" differs.
    const next = error.next?.startsWith('check ') ? error.next : 'run `hooktrail login` again later';
    throw new ServiceError(error.message, { details: error.details, next, cause: error });
  }
  throw error;
}

function refusal({ error, description }: Extract<Answer, { kind: 'refused' }>): NotSignedInError {
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

/** Returns the settings to save, as text: all that are not defaults, and the store. */
function settingTexts({ given }: Settings): SettingFlags {
  const kept = settingOrder.filter(
    (name) => name === 'store' || ![undefined, 'the default'].includes(given[name]?.source),
  );
  return Object.fromEntries(kept.map((name) => [name, given[name]?.text]));
}

async function saveProfile(profile: string, texts: SettingFlags, context: Context): Promise<void> {
  const saved = savedTexts(texts);
  await changeConfig(context, (config) => {
    // The first profile becomes the default.
    if (Object.keys(config.profiles).length === 0) config.profile = profile;
    config.profiles[profile] = saved;
  });
}

/** Saves the settings that were typed into a sign-in that failed, so that only the client secret is asked for again. */
async function rememberTyped(
  { settings: { profile }, typed }: SignInSetup,
  context: Context,
  reporter: Reporter,
): Promise<void> {
  if (Object.keys(typed).length === 0) return;
  try {
    await changeConfig(context, (config) => {
      if (Object.keys(config.profiles).length === 0) config.profile = profile;
      config.profiles[profile] = { ...config.profiles[profile], ...savedTexts(typed) };
    });
    reporter.notice(`what you typed is saved in the profile '${profile}', but for the client secret`);
  } catch {
    // The error of the sign-in itself is reported instead.
  }
}

function savedTexts(texts: SettingFlags): SavedProfile {
  return Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [settingNames[name as SettingName].key, text]),
  );
}

/** Prints a summary of the sign-in on standard error. */
function reportSignIn(
  { profile, authUrl, baseUrl, scope }: BoundSettings,
  place: string,
  grant: TokenGrant,
  { clock }: Pick<Context, 'clock'>,
  reporter: Reporter,
): void {
  reporter.success(`Signed in at ${urlText(authUrl)}`);
  reporter.notice(`  profile   ${profile}`);
  reporter.notice(`  service   ${urlText(baseUrl)}`);
  reporter.notice(`  token     ${lifetime(grant, clock.now())}`);
  reporter.notice(`  secrets   ${place}`);
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

/**
 * Waits up to `seconds` for somebody to sign in. `wait` is given a signal that aborts when time is up or the program is
 * interrupted. Throws `NotSignedInError` when time is up.
 */
async function withinTime<Result>(
  seconds: number,
  { clock, signal }: Pick<Context, 'clock' | 'signal'>,
  wait: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const over = new AbortController();
  const either = AbortSignal.any([over.signal, signal]);
  const late = clock.sleep(seconds * 1000, either).then(() => {
    const error = tooLate(seconds);
    over.abort(error);
    throw error;
  });
  try {
    return await Promise.race([wait(either), late]);
  } finally {
    over.abort(new Error('over'));
  }
}

function tooLate(seconds: number): NotSignedInError {
  return new NotSignedInError(`nobody signed in within ${seconds} s`, {
    next: 'run `hooktrail login` again (--timeout SECONDS waits longer; --paste needs no redirect to this machine)',
  });
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
      reporter.warning(`the browser could not be started: ${error.message}`);
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
