import { isIP, type Socket } from 'node:net';
import {
  checkServerIdentity,
  connect as connectTls,
  type PeerCertificate,
  type SecureContext,
  type TLSSocket,
} from 'node:tls';
import type { Context } from '../context.ts';
import { isUntrusted, systemTrust } from './certificates.ts';
import { connectionsOver, createConnections } from './connections.ts';
import { addressesOf, bareHost, connectToFirst, portOf, within } from './host-connection.ts';
import { isPrivateAddress } from './private-addresses.ts';
import { proxyFor } from './proxy.ts';
import { connectFailure, PAGE_LIMITS } from './transport.ts';
import { transportOver } from './undici-client.ts';

export interface EndpointProbe {
  /** The addresses of its name; null if unknown on this machine. */
  readonly dns: readonly string[] | null;
  readonly tls: TlsProbe | null;
  /** The status of the answer to HEAD; null if there is none. */
  readonly http: number | null;
  readonly problem: EndpointProblem | null;
}

export interface TlsProbe {
  /** RFC 3339. */
  readonly validFrom: string;
  /** RFC 3339. */
  readonly validTo: string;
  readonly host: boolean;
  readonly names: readonly string[];
  readonly issuer: string;
  /** True if its dates are valid and its chain ends at a trusted authority, regardless of the host. */
  readonly trusted: boolean;
}

export type EndpointProblem =
  | { readonly kind: 'address' | 'name' | 'connection' | 'http' | 'tls'; readonly message: string }
  | { readonly kind: 'private'; readonly addresses: readonly string[] }
  | { readonly kind: 'ended' | 'not-yet'; readonly at: string }
  | { readonly kind: 'host' }
  | { readonly kind: 'untrusted'; readonly reason: Untrusted };

export const NO_ADDRESS_PROBLEM = {
  kind: 'address',
  message: 'its callback address is not an HTTP URL',
} as const satisfies EndpointProblem;

/** `incomplete-chain`: the endpoint sends its own certificate without the issuer's. */
type Untrusted = 'self-signed' | 'incomplete-chain' | 'unknown-authority';

/** `unverified`: it accepts connections, without TLS. */
export type EndpointVerdict = 'ok' | 'broken' | 'unverified';

export function verdictOf({ problem, tls }: Pick<EndpointProbe, 'problem' | 'tls'>): EndpointVerdict {
  if (problem) return 'broken';
  return tls === null ? 'unverified' : 'ok';
}

const STEP_LIMIT_MS = 10_000;
const LIMITS = { ...PAGE_LIMITS, connect: STEP_LIMIT_MS, idle: STEP_LIMIT_MS, total: 2 * STEP_LIMIT_MS };

type ProbeContext = Pick<Context, 'environment' | 'clock' | 'signal' | 'resolveHost' | 'memory'>;

/**
 * Probes an endpoint from this machine: its name, the connection, the certificate and, only over a verified
 * connection, the answer to HEAD of its path. Sends no event and no secret, and follows no redirect. The name
 * is resolved once, and the checked addresses are the ones connected to.
 */
export async function probeEndpoint(
  endpoint: URL,
  allowPrivate: boolean,
  context: ProbeContext,
): Promise<EndpointProbe> {
  const { signal } = context;
  const nothing = { dns: null, tls: null, http: null };
  const proxy = proxyFor(endpoint, context.environment);
  let dns: readonly string[] | null;
  try {
    dns = await within(STEP_LIMIT_MS, signal, () => addressesOf(endpoint, context.resolveHost));
  } catch (error) {
    signal.throwIfAborted();
    // With a proxy, names are resolved there.
    if (proxy === undefined) return { ...nothing, problem: failed('name', error, endpoint) };
    dns = null;
  }
  const open = dns?.filter((address) => allowPrivate || !isPrivateAddress(address));
  if (dns && open?.length === 0) return { ...nothing, dns, problem: { kind: 'private', addresses: dns } };
  let socket: Socket | undefined;
  try {
    const openSocket = () => openConnection(endpoint, proxy, open ?? [], context);
    socket = await openSocket();
    if (endpoint.protocol !== 'https:') return { ...nothing, dns, problem: null };
    return { dns, ...(await probeTls(socket, endpoint, context, openSocket)) };
  } catch (error) {
    signal.throwIfAborted();
    return { ...nothing, dns, problem: failed('connection', error, endpoint) };
  } finally {
    socket?.destroy();
  }
}

function failed(kind: 'name' | 'connection' | 'http' | 'tls', error: unknown, url: URL): EndpointProblem {
  return { kind, message: connectFailure(error, url).message };
}

/** Connects through the proxy, or to the first address that accepts. */
async function openConnection(
  url: URL,
  proxy: URL | undefined,
  addresses: readonly string[],
  { signal, memory }: ProbeContext,
): Promise<Socket> {
  if (proxy) {
    const connections = createConnections(LIMITS, () => undefined, { memory });
    // One step to connect to the proxy, and one for its answer.
    const tunnel = within(2 * STEP_LIMIT_MS, signal, () => connections.openTunnel(proxy, url));
    return await tunnel.catch(async (error) => {
      await connections.close();
      throw error;
    });
  }
  return await within(STEP_LIMIT_MS, signal, (ending) => connectToFirst(addresses, portOf(url), ending));
}

/** Destroys the socket if it rejects. */
async function secured(
  socket: Socket,
  url: URL,
  signal: AbortSignal,
  secureContext?: SecureContext,
): Promise<TLSSocket> {
  const host = bareHost(url);
  const name = isIP(host) === 0 ? { servername: host } : {};
  // The certificate is checked below; nothing is sent unless it is verified.
  const options = { socket, host, ...name, ALPNProtocols: ['http/1.1'], rejectUnauthorized: false };
  const tlsSocket = connectTls({ ...options, ...(secureContext ? { secureContext } : {}) });
  const closed = Object.assign(new Error('it was closed'), { code: 'ECONNRESET' });
  const handshake = () =>
    new Promise<void>((resolve, reject) => {
      tlsSocket
        .once('secureConnect', resolve)
        .once('error', reject)
        .once('close', () => reject(closed));
    });
  try {
    await within(STEP_LIMIT_MS, signal, handshake);
    return tlsSocket;
  } catch (error) {
    tlsSocket.destroy();
    throw error;
  }
}

async function probeTls(
  first: Socket,
  url: URL,
  context: ProbeContext,
  openAnother: () => Promise<Socket>,
): Promise<Omit<EndpointProbe, 'dns'>> {
  let socket: TLSSocket;
  try {
    socket = await secured(first, url, context.signal);
    const authorities = isUntrusted({ code: socket.authorizationError }) ? await systemTrust() : undefined;
    if (authorities) {
      socket.destroy();
      socket = await secured(await openAnother(), url, context.signal, authorities);
    }
  } catch (error) {
    context.signal.throwIfAborted();
    return { tls: null, http: null, problem: failed('tls', error, url) };
  }
  try {
    const certificate = socket.getPeerCertificate();
    const validTo = new Date(certificate.valid_to).toISOString();
    const { CN, O } = certificate.issuer ?? {};
    const host = bareHost(url);
    const code = socket.authorized ? '' : String(socket.authorizationError);
    const tls: TlsProbe = {
      validFrom: new Date(certificate.valid_from).toISOString(),
      validTo,
      host: checkServerIdentity(host, certificate) === undefined,
      names: namesOf(certificate),
      issuer: [CN ?? O ?? ''].flat().join(', '),
      trusted: code === '' || code === 'ERR_TLS_CERT_ALTNAME_INVALID',
    };
    const problem = problemOf(tls, code, context.clock.now());
    if (problem) return { tls, http: null, problem };
    if (!socket.authorized) return { tls, http: null, problem: { kind: 'tls', message: code } };
    return { tls, ...(await askHead(socket, url, context)) };
  } finally {
    socket.destroy();
  }
}

function problemOf(
  { validFrom, validTo, host, trusted }: TlsProbe,
  code: string,
  now: number,
): EndpointProblem | undefined {
  if (Date.parse(validTo) <= now) return { kind: 'ended', at: validTo };
  if (Date.parse(validFrom) > now) return { kind: 'not-yet', at: validFrom };
  if (!host) return { kind: 'host' };
  return trusted ? undefined : { kind: 'untrusted', reason: UNTRUSTED[code] ?? 'unknown-authority' };
}

const UNTRUSTED: Readonly<Record<string, Untrusted>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'self-signed',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'incomplete-chain',
};

function namesOf({ subject, subjectaltname = '' }: PeerCertificate): string[] {
  const names = [...subjectaltname.matchAll(/(?:DNS|IP Address):([^,]+)/g)].map(([, name]) => name as string);
  return names.length > 0 ? names : [subject?.CN ?? []].flat();
}

async function askHead(
  socket: TLSSocket,
  { origin, pathname }: URL,
  { signal }: ProbeContext,
): Promise<Pick<EndpointProbe, 'http' | 'problem'>> {
  const url = new URL(pathname, origin);
  const transport = transportOver(
    connectionsOver(async () => socket),
    LIMITS,
  );
  try {
    const { status } = await transport.send({ method: 'HEAD', url, signal, keepBytes: 0 });
    return { http: status, problem: null };
  } catch (error) {
    signal.throwIfAborted();
    return { http: null, problem: failed('http', error, url) };
  } finally {
    await transport.close();
  }
}
