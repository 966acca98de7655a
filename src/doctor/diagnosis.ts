import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Call } from '../command.ts';
import type { Context } from '../context.ts';
import { ExitCode, HooktrailError } from '../errors.ts';
import { checkWritable, configFolder } from '../files/folders.ts';
import { readsSystemTrust } from '../http/certificates.ts';
import { proxyFor } from '../http/proxy.ts';
import { apiUrl, serviceError } from '../http/service.ts';
import { TransportError } from '../http/transport.ts';
import { createTransport } from '../http/undici-client.ts';
import { LockedError, withLock } from '../lock/lock.ts';
import { printJson } from '../output/formats.ts';
import { sessionBus } from '../secrets/dbus.ts';
import { openKeychain } from '../secrets/keychain.ts';
import { completeCommands, shellWord } from '../settings/flag-values.ts';
import { urlText } from '../settings/setting-names.ts';
import { loadSettings, type SettingFlags, type Settings } from '../settings/settings.ts';
import { listenForRedirect } from '../sign-in/redirect-listener.ts';
import { signInLockName, withService } from '../sign-in/session.ts';
import { readSignInState } from '../sign-in/sign-in-state.ts';
import { wrapWords } from '../terminal/cell-width.ts';
import { type Palette, paletteOf } from '../terminal/palette.ts';
import { runFlags } from '../terminal/reporter.ts';
import { terminalSafeLine } from '../terminal/terminal-text.ts';

/** Prints the diagnosis, as a JSON array if `asJson`. Returns 1 if something is broken. */
export async function printDiagnosis(call: Call<SettingFlags>, asJson: boolean): Promise<ExitCode> {
  const { context, reporter } = call;
  const { stdout } = context;
  const findings = await diagnose(call);
  if (asJson) await printJson(findings, undefined, context, reporter, JSON.stringify(findings, null, 2));
  else {
    const palette = await paletteOf(reporter.stdoutColor);
    await stdout.write(diagnosisText(findings, palette, stdout.isTerminal ? stdout.columns : undefined));
  }
  return findings.some(({ state }) => state === 'broken') ? ExitCode.failed : ExitCode.done;
}

/**
 * Checks everything that a sign-in and a request need, the machine first and the service last. A failed check does not
 * end the diagnosis.
 */
async function diagnose(call: Call<SettingFlags>): Promise<Finding[]> {
  const { flags, context } = call;
  const settings = await loadSettings(flags, context).catch((error: Error) => error);
  const usable = settings instanceof Error ? undefined : settings;
  const machine = await Promise.all(machineChecks(usable, context));
  context.signal.throwIfAborted();
  const network = usable ? await networkChecks(call, usable) : [];
  const findings = [
    ...machine,
    settings instanceof Error ? failed('settings', settings) : sources(settings),
    ...network,
  ];
  const run = runFlags(flags, context.environment);
  return findings.map(({ next, ...finding }) =>
    next ? { ...finding, next: completeCommands(next, run) } : finding,
  );
}

/** Names the sources of the settings: a forgotten variable is a common cause of trouble. */
function sources({ profile, profileExists, given }: Settings): Finding {
  const others = Object.values(given)
    .map(({ source }) => source)
    .filter((source) => /^(--|HOOKTRAIL_)/.test(source));
  const saved = profileExists ? `profile '${profile}'` : `profile '${profile}', which saves nothing`;
  return ok('settings', others.length > 0 ? `${saved}; overridden by ${others.join(', ')}` : saved);
}

/** The checks that only need this machine. */
function machineChecks(settings: Settings | undefined, context: Context): Promise<Finding>[] {
  const store = settings?.store ?? 'keychain';
  return [
    Promise.resolve(ok('node', `Node.js ${context.machine.runtime}`)),
    keychain(store, context),
    ...(context.machine.platform === 'linux' && store === 'keychain' ? [bus(context)] : []),
    folder(context),
    lock(context),
    ...(settings ? [redirectPort(settings)] : []),
    certificates(context),
  ];
}

async function keychain(store: 'keychain' | 'file', context: Context): Promise<Finding> {
  if (store === 'file')
    return ok('keychain', 'not used: the secrets are in an encrypted file (HOOKTRAIL_STORE, --store)');
  try {
    // No item has that name, so no system asks the user for permission to read it.
    await (await openKeychain(context)).get('doctor');
    return ok('keychain', 'the OS keychain is there, unlocked, and answers');
  } catch (error) {
    return failed('keychain', error);
  }
}

async function bus(context: Context): Promise<Finding> {
  const found = await sessionBus(context);
  if (found === 'absent')
    return broken(
      'd-bus',
      'there is no D-Bus session bus, which the keychain needs',
      'run hooktrail in a desktop session or under `dbus-run-session`, or use `--store file`',
    );
  if (found === 'other')
    return doubtful(
      'd-bus',
      'the session bus is not on a local socket',
      'if the keychain does not answer, check DBUS_SESSION_BUS_ADDRESS',
    );
  return ok('d-bus', `the session bus is ${found.socket.replace(/^\0/, '@')}`);
}

async function folder(context: Context): Promise<Finding> {
  const check = 'configuration';
  const place = configFolder(context);
  const existing = await nearest(place);
  try {
    await checkWritable(path.join(existing, 'config.json'), context.machine);
  } catch (error) {
    return broken(
      check,
      `${existing} is not writable (${(error as NodeJS.ErrnoException).code})`,
      'make it writable for this user, or choose another folder with HOOKTRAIL_CONFIG_DIR',
    );
  }
  if (existing !== place) return ok(check, `${place} will be created when something is saved`);
  const { mode, uid } = await stat(place);
  const { platform, userId } = context.machine;
  if (platform !== 'win32' && uid !== userId)
    return broken(check, `${place} belongs to another user`, `\`chown\` it to this user`);
  if (platform !== 'win32' && (mode & 0o022) !== 0)
    return broken(check, `others can write to ${place}`, `\`chmod 700 ${shellWord(place)}\``);
  if (platform !== 'win32' && (mode & 0o055) !== 0)
    return doubtful(
      check,
      `others can look into ${place}; each secret file is private`,
      `\`chmod 700 ${shellWord(place)}\``,
    );
  return ok(check, place);
}

/** The folder, or its nearest ancestor that exists. */
async function nearest(place: string): Promise<string> {
  const parent = path.dirname(place);
  const exists = await stat(place).catch(() => undefined);
  return exists || parent === place ? place : await nearest(parent);
}

async function lock(context: Context): Promise<Finding> {
  try {
    await withLock('doctor', context, async () => undefined, { patience: 0, subject: 'the check' });
    return ok('lock', 'locks can be taken and freed');
  } catch (error) {
    if (error instanceof LockedError) return failed('lock', error, 'doubtful');
    return failed('lock', error);
  }
}

async function redirectPort({ redirectUri }: Settings): Promise<Finding> {
  try {
    (await listenForRedirect(redirectUri)).close();
    return ok('redirect', `${redirectUri.text} is free for a sign-in`);
  } catch (error) {
    return failed('redirect', error, 'doubtful');
  }
}

async function certificates({ environment }: Context): Promise<Finding> {
  const check = 'certificates';
  if (environment['NODE_TLS_REJECT_UNAUTHORIZED'] === '0')
    return broken(
      check,
      'NODE_TLS_REJECT_UNAUTHORIZED=0 turns certificate checks off',
      "unset it, and name your company's authority with NODE_EXTRA_CA_CERTS",
    );
  const extra = environment['NODE_EXTRA_CA_CERTS'];
  if (!extra) {
    const trusted = (await readsSystemTrust())
      ? "Node's own authorities and those of the operating system are trusted"
      : "Node's own authorities are trusted";
    return ok(check, `${trusted}; NODE_EXTRA_CA_CERTS is not set`);
  }
  const text = await readFile(extra, 'utf8').catch((error: NodeJS.ErrnoException) => error);
  const next = 'set it to a file with the certificate of the authority (PEM)';
  if (text instanceof Error) return broken(check, `NODE_EXTRA_CA_CERTS: ${text.message}`, next);
  const count = text.split('-----BEGIN CERTIFICATE-----').length - 1;
  if (count === 0) return broken(check, `NODE_EXTRA_CA_CERTS: ${extra} holds no certificate`, next);
  return ok(check, `NODE_EXTRA_CA_CERTS adds ${count} from ${extra}`);
}

/** Shorter limits than those of other commands: a diagnosis should not make the user wait. */
const LIMITS = { connect: 5_000, idle: 5_000, total: 10_000, bytes: 1024 * 1024 };
/** Milliseconds that clocks may differ: a `Date` header has whole seconds, and the answer takes time to arrive. */
const SMALL_SKEW_MS = 5_000;
const LARGE_SKEW_MS = 300_000;

/** The checks that send requests to the identity provider and the event service, also with the stored sign-in. */
async function networkChecks(
  call: Pick<Call<SettingFlags>, 'flags' | 'context' | 'reporter'>,
  settings: Settings,
): Promise<Finding[]> {
  const { context } = call;
  const { authUrl, baseUrl } = settings;
  const places = [
    ['provider', '--auth-url', authUrl, '/.well-known/openid-configuration'],
    ['service', '--base-url', baseUrl, '/event-types'],
  ] as const;
  const reached = await Promise.all(
    places.map(async ([check, flag, url, path]) =>
      url
        ? await reach(check, url, path, context)
        : [broken(check, `no address is set`, `give ${flag}, or run \`hooktrail login\``)],
    ),
  );
  return [
    ...proxies(
      places.flatMap(([, , url]) => url ?? []),
      context,
    ),
    ...reached.flat(),
    await signInLock(settings, context),
    await signIn(call, settings),
  ];
}

/** One finding for each host: `NO_PROXY` may name one and not the other. */
function proxies(urls: readonly URL[], context: Context): Finding[] {
  const hosts = new Map(urls.map((url) => [url.host, url]));
  return [...hosts.values()].map((url) => proxy(url, context));
}

function proxy(url: URL, { environment }: Context): Finding {
  try {
    const found = proxyFor(url, environment);
    if (!found) return ok('proxy', `${url.host} is reached directly`);
    return ok('proxy', `${url.host} is reached through ${found.protocol}//${found.host} (HTTPS_PROXY)`);
  } catch (error) {
    return failed('proxy', error);
  }
}

/** An answer of any kind shows that the peer is there, so the request needs no sign-in. */
async function reach(check: string, base: URL, path: string, context: Context): Promise<Finding[]> {
  const transport = createTransport(context, LIMITS);
  const sent = context.clock.now();
  try {
    const url = new URL(`${urlText(base)}${path}`);
    const { status, headers } = await transport.send({
      method: 'GET',
      url,
      keepBytes: 0,
      signal: context.signal,
    });
    const there = `${urlText(base)} reached in ${context.clock.now() - sent} ms`;
    const finding =
      status >= 500
        ? doubtful(check, `${there}, but it answers with ${status}`, 'try again later')
        : ok(check, `${there} (${meaningOf(status)})`);
    const date = Date.parse(headers.date ?? '');
    return Number.isNaN(date) ? [finding] : [finding, skew(check, date - (sent + context.clock.now()) / 2)];
  } catch (error) {
    context.signal.throwIfAborted();
    const next = error instanceof TransportError ? error.next : undefined;
    const { message } = error as Error;
    return [broken(check, `${urlText(base)}: ${message}`, next ?? 'check the address and the network')];
  } finally {
    await transport.close();
  }
}

/** The request carries no token, so a service that asks for one is well. */
function meaningOf(status: number): string {
  if (status === 401) return 'asks for a token, as it should';
  return status < 300 ? 'answers as it should' : `answers with ${status}`;
}

function skew(peer: string, milliseconds: number): Finding {
  const check = `clock (${peer})`;
  const seconds = Math.round(Math.abs(milliseconds) / 1000);
  if (Math.abs(milliseconds) <= SMALL_SKEW_MS) return ok(check, `agrees with that of the ${peer}`);
  const message = `is ${seconds} s ${milliseconds > 0 ? 'behind' : 'ahead of'} that of the ${peer}`;
  const next = "set this machine's clock, by NTP for instance";
  return Math.abs(milliseconds) > LARGE_SKEW_MS
    ? broken(check, message, next)
    : doubtful(check, message, next);
}

async function signInLock(settings: Settings, context: Context): Promise<Finding> {
  const { authUrl, baseUrl, clientId } = settings;
  if (!authUrl || !baseUrl || !clientId) return ok('refresh', 'nothing to refresh');
  try {
    const name = signInLockName({ ...settings, authUrl, baseUrl, clientId });
    await withLock(name, context, async () => undefined, { patience: 0 });
    return ok('refresh', 'no other process refreshes the sign-in');
  } catch (error) {
    if (!(error instanceof LockedError)) return failed('refresh', error);
    const holder = error.holder ? `process ${error.holder}` : 'another process';
    return doubtful('refresh', `${holder} refreshes the sign-in`, 'check whether it is still running');
  }
}

async function signIn(
  call: Pick<Call<SettingFlags>, 'flags' | 'context' | 'reporter'>,
  settings: Settings,
): Promise<Finding> {
  const check = 'sign-in';
  const { context } = call;
  try {
    const state = await readSignInState(settings, context);
    if (!state.signedIn)
      return broken(
        check,
        `nobody is signed in with the profile '${state.profile}'`,
        'run `hooktrail login`',
      );
    await withService(call, async (service) => {
      const response = await service.send({ url: apiUrl(service.baseUrl, '/event-types') });
      if (response.status !== 200) throw serviceError(response, 'GET event-types');
    });
    const source = state.source === 'environment' ? 'HOOKTRAIL_ACCESS_TOKEN' : `profile '${state.profile}'`;
    return ok(check, `the service accepts the token (${source})`);
  } catch (error) {
    context.signal.throwIfAborted();
    return failed(check, error);
  }
}

/** The result of one check. It holds no secrets, so that it can be pasted into a ticket. */
export interface Finding {
  readonly check: string;
  /** `doubtful`: works or is not needed, but may cause trouble. */
  readonly state: 'ok' | 'doubtful' | 'broken';
  readonly message: string;
  /** How to fix it. */
  readonly next?: string;
}

export function ok(check: string, message: string): Finding {
  return { check, state: 'ok', message };
}

export function doubtful(check: string, message: string, next: string): Finding {
  return { check, state: 'doubtful', message, next };
}

export function broken(check: string, message: string, next: string): Finding {
  return { check, state: 'broken', message, next };
}

/** The finding for a check that ended with an error. */
export function failed(check: string, error: unknown, state: 'doubtful' | 'broken' = 'broken'): Finding {
  const { message } = error as Error;
  if (!(error instanceof HooktrailError)) return { check, state, message };
  const text = [message, ...error.details].join('; ');
  return { check, state, message: text, ...(error.next ? { next: error.next } : {}) };
}

/**
 * Returns a line for each finding and one for its next step. Lines wider than `columns` are wrapped at spaces and
 * indented.
 */
export function diagnosisText(
  findings: readonly Finding[],
  palette: Palette,
  columns = Number.POSITIVE_INFINITY,
): string {
  const colours = { ok: palette.good, doubtful: palette.caution, broken: palette.bad };
  const width = Math.max(...findings.map(({ check }) => check.length));
  const indent = ' '.repeat(width + STATE_WIDTH + 4);
  const wrapped = (text: string) =>
    wrapWords(terminalSafeLine(text), Math.max(columns - indent.length, 20)).join(`\n${indent}`);
  return findings
    .map(({ check, state, message, next }) => {
      const start = `${colours[state](state.padEnd(STATE_WIDTH))}  ${check.padEnd(width)}`;
      return `${start}  ${wrapped(message)}\n${next ? `${indent}${wrapped(`next: ${next}`)}\n` : ''}`;
    })
    .join('');
}

const STATE_WIDTH = 'doubtful'.length;
