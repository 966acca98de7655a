import { existsSync } from 'node:fs';
import { readFile, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { type Advice, adviceText, advise, hooktrail } from '../advice.ts';
import { agentVariable } from '../agent-mode.ts';
import type { Call } from '../command.ts';
import type { Context } from '../context.ts';
import { ExitCode, faultText, HooktrailError } from '../errors.ts';
import { configFolder, nearestExisting } from '../files/folders.ts';
import { createFile } from '../files/whole-files.ts';
import { printJson } from '../formats/item-writer.ts';
import { readsSystemTrust } from '../http/certificates.ts';
import { proxyFor } from '../http/proxy.ts';
import { TransportError } from '../http/transport.ts';
import { createTransport } from '../http/undici-client.ts';
import { LockedError, withLock } from '../lock/lock.ts';
import { lockingFault } from '../lock/lock-file.ts';
import { openDBus, sessionBus } from '../secrets/dbus.ts';
import { isSecretGiven } from '../secrets/given-secret.ts';
import { openKeychain } from '../secrets/keychain.ts';
import { urlText } from '../settings/setting-names.ts';
import type { RunSettings, Settings } from '../settings/settings.ts';
import { shellWord } from '../shell-words.ts';
import { audienceOf, givenMethod, givenProof, methodWords } from '../sign-in/client-authentication.ts';
import { listenForRedirect } from '../sign-in/redirect-listener.ts';
import { notSignedIn } from '../sign-in/session.ts';
import { signInLock } from '../sign-in/sign-in-lock.ts';
import { checkSignIn, readSignInState } from '../sign-in/sign-in-state.ts';
import { OPTIONAL_LIMITS } from '../sign-in/token-endpoint.ts';
import { type Palette, paletteOf } from '../terminal/palette.ts';
import { fittedLines, terminalSafeLine } from '../terminal/terminal-text.ts';

/** Prints the diagnosis, as a JSON array if `asJson`. Returns 1 if something is broken. */
export async function printDiagnosis(call: Call, asJson: boolean): Promise<ExitCode> {
  const { context, reporter } = call;
  const { stdout } = context;
  const findings = await diagnose(call);
  if (asJson) await printJson(findings, undefined, context, reporter);
  else {
    const palette = await paletteOf(reporter.stdoutColor);
    await stdout.write(diagnosisText(findings, palette, stdout.isTerminal ? stdout.columns : undefined));
  }
  return findings.some(({ state }) => state === 'broken') ? ExitCode.failed : ExitCode.done;
}

/**
 * Checks everything needed for signing in and for requests, from the machine to the service. A failed check
 * does not end the diagnosis.
 */
async function diagnose(call: Call): Promise<ShownFinding[]> {
  const { context } = call;
  const settings = checkedOrFault(call.settings);
  const usable = settings instanceof Error ? undefined : settings;
  const machine = await machineFindings(usable, context);
  context.signal.throwIfAborted();
  const findings = [
    ...machine,
    await found('settings', () => sourcesOf(settings)),
    ...(usable ? await networkFindings(call, usable) : []),
  ];
  context.signal.throwIfAborted();
  const run = call.reporter.runFlags;
  return findings.map(({ next, ...finding }) =>
    next === undefined ? finding : { ...finding, next: adviceText(next, run) },
  );
}

function checkedOrFault(settings: RunSettings): Settings | Error {
  try {
    return settings.checked();
  } catch (error) {
    return error as Error;
  }
}

/** Contains no secrets, so that it can be pasted into a ticket. */
export interface Finding {
  readonly check: string;
  /** `doubtful`: works or is not needed, but may cause trouble. */
  readonly state: 'ok' | 'doubtful' | 'broken';
  readonly message: string;
  readonly next?: Advice | undefined;
}

type ShownFinding = Omit<Finding, 'next'> & { readonly next?: string };

type Outcome = Omit<Finding, 'check'>;
const ok = (message: string): Outcome => ({ state: 'ok', message });
const doubtful = (message: string, next: Advice): Outcome => ({ state: 'doubtful', message, next });
const broken = (message: string, next: Advice): Outcome => ({ state: 'broken', message, next });

/** Runs a check. An error becomes a finding of the given state. */
async function found(
  check: string,
  work: () => Outcome | Promise<Outcome>,
  failure: 'doubtful' | 'broken' = 'broken',
): Promise<Finding> {
  try {
    return { check, ...(await work()) };
  } catch (error) {
    const { message } = error as Error;
    if (!(error instanceof HooktrailError)) return { check, state: failure, message };
    // A held lock may be in legitimate use.
    const state = error instanceof LockedError ? 'doubtful' : failure;
    return { check, state, message: [message, ...error.details].join('; '), next: error.next };
  }
}

async function machineFindings(settings: Settings | undefined, context: Context): Promise<Finding[]> {
  const { machine } = context;
  const agent = agentVariable(context.environment);
  const store = settings?.store ?? 'keychain';
  const needsBus = machine.platform === 'linux' && store === 'keychain';
  return await Promise.all([
    found('node', () => ok(`Node.js ${machine.runtime}`)),
    ...(agent ? [found('agent', () => ok(agentText(agent)))] : []),
    found('keychain', () => checkKeychain(store, settings?.given.store?.source, context)),
    ...(needsBus ? [found('d-bus', () => checkBus(context))] : []),
    found('configuration', () => checkFolder(context)),
    found('lock', () => checkLock('doctor', 'locks can be taken and freed', context)),
    ...(settings ? [found('redirect', () => checkRedirect(settings), 'doubtful')] : []),
    found('certificates', () => checkCertificates(context)),
  ]);
}

function agentText(variable: string): string {
  return `${variable} is set, so no pager, colour or progress, and errors are JSON`;
}

async function checkKeychain(store: string, source: string | undefined, context: Context): Promise<Outcome> {
  if (store === 'file') return ok(`not used: the secrets are in an encrypted file (${source})`);
  // No item has that name, so no system asks the user for permission to read it.
  await (await openKeychain(context)).get('doctor');
  return ok('the OS keychain is there, unlocked, and answers');
}

async function checkBus(context: Context): Promise<Outcome> {
  const bus = await sessionBus(context);
  const next = 'if the keychain does not answer, check DBUS_SESSION_BUS_ADDRESS';
  if (typeof bus === 'string')
    return doubtful(`the session bus is ${bus === 'absent' ? 'absent' : 'not on a local socket'}`, next);
  try {
    const connection = await openDBus(bus.socket, context.machine.userId, OPTIONAL_LIMITS.connect);
    connection?.close();
    return ok(`the session bus is ${bus.socket.replace(/^\0/, '@')}`);
  } catch (error) {
    return doubtful(`the session bus cannot be reached: ${(error as Error).message}`, next);
  }
}

async function checkFolder(context: Context): Promise<Outcome> {
  const { pid, platform, userId } = context.machine;
  const place = configFolder(context);
  for (const folder of new Set([place, path.join(place, 'secrets')].map(nearestExisting))) {
    const file = path.join(folder, `doctor-${pid}`);
    const work = createFile(file, ' '.repeat(16_384)).finally(() => rm(file, { force: true }));
    const fault = await work.catch((error: Error) => error);
    const next = 'make it writable and free some space, or choose another folder with HOOKTRAIL_CONFIG_DIR';
    if (fault) return broken(`${folder} cannot be written: ${faultText(fault)}`, next);
  }
  if (!existsSync(place)) return ok(`${place} will be created when something is saved`);
  if (platform === 'win32') return ok(place);
  const { mode, uid } = await stat(place);
  const protect = `\`chmod 700 ${shellWord(place)}\``;
  if (uid !== userId) return broken(`${place} belongs to another user`, '`chown` it to this user');
  if ((mode & 0o022) !== 0) return broken(`others can write to ${place}`, protect);
  if ((mode & 0o055) === 0) return ok(place);
  return doubtful(`others can look into ${place}; each secret file is private`, protect);
}

async function checkLock(
  name: string,
  free: string,
  context: Context,
  place: { readonly folder?: string } = {},
): Promise<Outcome> {
  await withLock(name, context, async () => undefined, { patience: 0, subject: 'the sign-in', ...place });
  if (place.folder === undefined) return ok(free);
  const fault = await lockingFault(place.folder);
  if (fault === undefined) return ok(free);
  return broken(
    `the file system of ${place.folder} cannot keep processes apart: ${fault}`,
    'keep HOOKTRAIL_CONFIG_DIR on a local file system or on NFSv4, or give each container its own sign-in',
  );
}

async function checkRedirect({ redirectUri }: Settings): Promise<Outcome> {
  (await listenForRedirect(redirectUri)).close();
  return ok(`${redirectUri.text} is free for a sign-in`);
}

async function checkCertificates({ environment }: Context): Promise<Outcome> {
  if (environment['NODE_TLS_REJECT_UNAUTHORIZED'] === '0') {
    const next = "unset it, and name your company's authority with NODE_EXTRA_CA_CERTS";
    return broken('NODE_TLS_REJECT_UNAUTHORIZED=0 turns certificate checks off', next);
  }
  const extra = environment['NODE_EXTRA_CA_CERTS'];
  if (!extra) {
    const system = (await readsSystemTrust()) ? ' and those of the operating system' : '';
    return ok(`Node's own authorities${system} are trusted; NODE_EXTRA_CA_CERTS is not set`);
  }
  const next = 'set it to a file with the certificate of the authority (PEM)';
  const text = await readFile(extra, 'utf8').catch((error: Error) => error);
  if (text instanceof Error) return broken(`NODE_EXTRA_CA_CERTS: ${text.message}`, next);
  const count = text.split('-----BEGIN CERTIFICATE-----').length - 1;
  if (count > 0) return ok(`NODE_EXTRA_CA_CERTS adds ${count} from ${extra}`);
  return broken(`NODE_EXTRA_CA_CERTS: ${extra} holds no certificate`, next);
}

/** Lists the sources of the settings: a forgotten variable is a common cause of trouble. */
function sourcesOf(settings: Settings | Error): Outcome {
  if (settings instanceof Error) throw settings;
  const { profile, profileExists, given } = settings;
  const others = Object.values(given).flatMap(({ source }) => source.match(/^(--|HOOKTRAIL_).*/)?.[0] ?? []);
  const saved = profileExists ? `profile '${profile}'` : `profile '${profile}', which saves nothing`;
  return ok(others.length > 0 ? `${saved}; overridden by ${others.join(', ')}` : saved);
}

/**
 * Milliseconds that clocks may differ: a `Date` header has whole seconds, and the answer takes time to
 * arrive.
 */
const SMALL_SKEW_MS = 5_000;
const LARGE_SKEW_MS = 300_000;

async function networkFindings(call: Call, settings: Settings): Promise<Finding[]> {
  const { context } = call;
  const { authUrl, baseUrl, clientId } = settings;
  const reached = await Promise.all([
    reach('provider', '--auth-url', authUrl, '/.well-known/openid-configuration', context),
    reach('service', '--base-url', baseUrl, '/event-types', context),
  ]);
  // `NO_PROXY` may cover only one of the hosts.
  const hosts = new Map([authUrl, baseUrl].flatMap((url) => (url ? [[url.host, url]] : [])));
  const proxies = [...hosts.values()].map((url) => found('proxy', () => proxyOf(url, context)));
  return [
    ...(await Promise.all(proxies)),
    ...reached.flat(),
    await found('refresh', async () => {
      if (!authUrl || !baseUrl || !clientId) return ok('nothing to refresh');
      const { name, place } = signInLock({ ...settings, authUrl, clientId }, context);
      return await checkLock(name, 'no other process refreshes the sign-in', context, place);
    }),
    ...(await clientFindings(settings, context)),
    await found('sign-in', () => signInOutcome(call, settings)),
  ];
}

function proxyOf(url: URL, { environment }: Context): Outcome {
  const proxy = proxyFor(url, environment);
  if (!proxy) return ok(`${url.host} is reached directly`);
  return ok(`${url.host} is reached through ${proxy.protocol}//${proxy.host} (HTTPS_PROXY)`);
}

/**
 * Any answer shows that the peer is there, so the request needs no sign-in. Its date shows the clock's skew.
 */
async function reach(
  peer: string,
  flag: string,
  base: URL | undefined,
  path: string,
  context: Context,
): Promise<Finding[]> {
  if (!base)
    return [
      { check: peer, ...broken('no address is set', advise`give ${flag}, or run ${hooktrail('login')}`) },
    ];
  const { clock, signal } = context;
  const sent = clock.now();
  const transport = createTransport(context, OPTIONAL_LIMITS);
  const url = new URL(`${urlText(base)}${path}`);
  const answer = await transport
    .send({ method: 'GET', url, keepBytes: 0, signal })
    .catch((error: Error) => error)
    .finally(() => transport.close());
  if (answer instanceof Error) {
    const next = (answer instanceof TransportError && answer.next) || 'check the address and the network';
    return [{ check: peer, ...broken(`${urlText(base)}: ${answer.message}`, next) }];
  }
  const skew = Date.parse(answer.headers.date ?? '') - (sent + clock.now()) / 2;
  const there = `${urlText(base)} reached in ${clock.now() - sent} ms`;
  return [
    { check: peer, ...answerOutcome(there, answer.status, peer) },
    ...(Number.isNaN(skew) ? [] : [{ check: `clock (${peer})`, ...clockOutcome(peer, skew) }]),
  ];
}

/** The request carries no token, so a service that asks for one is fine. */
function answerOutcome(there: string, status: number, peer: string): Outcome {
  if (status >= 500) return doubtful(`${there}, but it answers with ${status}`, 'try again later');
  if (status === 401) return ok(`${there} (asks for a token, as it should)`);
  const well = peer === 'service' ? 'answers without a token' : 'answers as it should';
  return ok(`${there} (${status < 300 ? well : `answers with ${status}`})`);
}

function clockOutcome(peer: string, skewMs: number): Outcome {
  const size = Math.abs(skewMs);
  if (size <= SMALL_SKEW_MS) return ok(`agrees with that of the ${peer}`);
  const message = `is ${Math.round(size / 1000)} s ${skewMs > 0 ? 'behind' : 'ahead of'} that of the ${peer}`;
  const fail = size > LARGE_SKEW_MS ? broken : doubtful;
  return fail(message, "set this machine's clock, by NTP for instance");
}

async function clientFindings(settings: Settings, context: Context): Promise<Finding[]> {
  const { authUrl } = settings;
  const names = ['HOOKTRAIL_CLIENT_KEY', 'HOOKTRAIL_CLIENT_ASSERTION'] as const;
  if (!authUrl || !names.some((name) => isSecretGiven(name, context.environment))) return [];
  const outcome = async () => {
    const method = givenMethod(context.environment) ?? 'secret';
    const proof = await givenProof(method, audienceOf({ ...settings, authUrl }), context);
    if (proof.method === 'assertion') await proof.read();
    const id = proof.method === 'key' && proof.key.id !== undefined ? ` '${proof.key.id}'` : '';
    return ok(`it proves itself ${methodWords[method]}${id}`);
  };
  return [await found('client', outcome)];
}

async function signInOutcome(call: Call, settings: Settings): Promise<Outcome> {
  const { signedIn, profile, source } = await readSignInState(settings, call.context);
  if (!signedIn) throw await notSignedIn(settings, call.context);
  const failure = await checkSignIn(call);
  if (failure) throw failure.error;
  const from = source === 'environment' ? 'HOOKTRAIL_ACCESS_TOKEN' : `profile '${profile}'`;
  return ok(`the service accepts the token (${from})`);
}

/**
 * Returns a line for each finding and one for its next step. Lines wider than `columns` are wrapped at spaces
 * and indented.
 */
function diagnosisText(
  findings: readonly ShownFinding[],
  palette: Palette,
  columns = Number.POSITIVE_INFINITY,
): string {
  const colours = { ok: palette.good, doubtful: palette.caution, broken: palette.bad };
  const width = Math.max(...findings.map(({ check }) => check.length));
  const indent = ' '.repeat(width + STATE_WIDTH + 4);
  const room = Math.max(columns - indent.length, 20);
  const wrapped = (text: string) => fittedLines(terminalSafeLine(text), room).replaceAll('\n', `\n${indent}`);
  return findings
    .map(({ check, state, message, next }) => {
      const start = `${colours[state](state.padEnd(STATE_WIDTH))}  ${check.padEnd(width)}`;
      return `${start}  ${wrapped(message)}\n${next ? `${indent}${wrapped(`next: ${next}`)}\n` : ''}`;
    })
    .join('');
}

const STATE_WIDTH = 'doubtful'.length;
