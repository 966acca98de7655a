import type { Call } from '../command.ts';
import type { Context } from '../context.ts';
import { proxyFor } from '../http/proxy.ts';
import { apiUrl } from '../http/service.ts';
import { serviceError } from '../http/service-error.ts';
import { TransportError } from '../http/transport-error.ts';
import { createTransport } from '../http/undici-transport.ts';
import { LockedError, withLock } from '../lock/lock.ts';
import { urlText } from '../settings/setting-values.ts';
import type { SettingFlags, Settings } from '../settings/settings.ts';
import { signInLockName } from '../sign-in/bound-settings.ts';
import { readSignInState, withService } from '../sign-in/session.ts';
import { broken, doubtful, type Finding, failed, ok } from './finding.ts';

/** Shorter limits than those of other commands: a diagnosis should not make the user wait. */
const LIMITS = { connect: 5_000, idle: 5_000, total: 10_000, bytes: 1024 * 1024 };
/** Milliseconds that clocks may differ: a `Date` header has whole seconds, and the answer takes time to arrive. */
const SMALL_SKEW = 5_000;
const LARGE_SKEW = 300_000;

/** The checks that send requests to the identity provider and the event service, also with the stored sign-in. */
export async function networkChecks(
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

/** Any answer shows that the peer is there, so the request needs no sign-in. */
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
    const took = `answers with ${status} in ${context.clock.now() - sent} ms`;
    const there = `${urlText(base)} ${took}`;
    const finding =
      status >= 500
        ? doubtful(check, there, 'the server is there, but fails: try again later')
        : ok(check, there);
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

function skew(peer: string, milliseconds: number): Finding {
  const check = `clock (${peer})`;
  const seconds = Math.round(Math.abs(milliseconds) / 1000);
  if (Math.abs(milliseconds) <= SMALL_SKEW) return ok(check, `agrees with that of the ${peer}`);
  const message = `is ${seconds} s ${milliseconds > 0 ? 'behind' : 'ahead of'} that of the ${peer}`;
  const next = "set this machine's clock, by NTP for instance";
  return Math.abs(milliseconds) > LARGE_SKEW ? broken(check, message, next) : doubtful(check, message, next);
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
