import { readFileSync } from 'node:fs';
import { createServer, type RequestListener, request } from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import type { Server } from 'node:net';
import path from 'node:path';
import type { Sandbox } from './sandbox.ts';
import { type LoopbackServer, onLoopback } from './server.ts';

const folder = path.resolve(import.meta.dirname, '../http/certificates');
const file = (name: string) => readFileSync(path.join(folder, name), 'utf8');

/** The certificate of 'Example Private CA', for `NODE_EXTRA_CA_CERTS`. */
export const authorityFile = path.join(folder, 'authority.pem');

/**
 * Certificates that 'Example Private CA' issued for these tests: for `localhost`, expired in 2021, for
 * another host, and for `events.invalid`, `login.invalid` and `hooks.invalid`, which no name server knows
 * (RFC 6761 section 6.4). `self-signed`: for `localhost`, by its own key.
 */
export type Certificate = 'localhost' | 'expired' | 'other-host' | 'elsewhere' | 'self-signed';

/** Options for a TLS server with the certificate. */
export function identity(certificate: Certificate) {
  return { key: file('server.key'), cert: file(`${certificate}.pem`) };
}

/** An HTTPS server on a free loopback port. */
export async function startTlsServer(
  certificate: Certificate,
  listener: RequestListener,
): Promise<LoopbackServer> {
  const server = https.createServer(identity(certificate), listener).on('tlsClientError', () => undefined);
  return await onLoopback(server);
}

/**
 * Starts a reverse proxy that terminates TLS for the sandbox. From then on the sandbox's answers name the
 * front's origins.
 */
export async function startTlsFront(
  sandbox: Sandbox,
  certificate: Certificate,
  hosts = { login: 'localhost', events: 'localhost' },
) {
  const { authUrl, baseUrl } = sandbox.settings;
  const server = await startTlsServer(certificate, (incoming, outgoing) => {
    const url = new URL(incoming.url ?? '/', baseUrl);
    const headers = { ...incoming.headers, host: url.host };
    const forwarded = request(url, { method: incoming.method ?? 'GET', headers });
    forwarded.on('response', (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.rawHeaders);
      answer.pipe(outgoing);
    });
    forwarded.on('error', () => outgoing.destroy());
    incoming.pipe(forwarded);
  });
  /** Makes the program use the sandbox through the front. */
  const env = {
    HOOKTRAIL_AUTH_URL: `https://${hosts.login}:${server.port}${new URL(authUrl).pathname}`,
    HOOKTRAIL_BASE_URL: `https://${hosts.events}:${server.port}${new URL(baseUrl).pathname}`,
  };
  const { behaviour } = sandbox.control;
  behaviour.redirectIssuer = env.HOOKTRAIL_AUTH_URL;
  behaviour.links = 'relative';
  behaviour.metadata = (whole) =>
    JSON.parse(JSON.stringify(whole).replaceAll(authUrl, env.HOOKTRAIL_AUTH_URL));
  return { ...server, env };
}

/** Servers that no client of ours can talk to, by what is wrong with them. */
export const UNUSABLE_SERVERS = {
  'TLS 1.1 alone': () =>
    https.createServer({
      ...identity('localhost'),
      minVersion: 'TLSv1.1',
      maxVersion: 'TLSv1.1',
      ciphers: 'DEFAULT:@SECLEVEL=0',
    }),
  'HTTP/2 alone': () => http2.createSecureServer({ ...identity('localhost'), allowHTTP1: false }),
  'HTTP/2 alone, without TLS': () => http2.createServer(),
  'a client certificate in TLS 1.2': () =>
    https.createServer({ ...identity('localhost'), requestCert: true, maxVersion: 'TLSv1.2' }),
  'a client certificate in TLS 1.3': () =>
    https.createServer({ ...identity('localhost'), requestCert: true, minVersion: 'TLSv1.3' }),
  'no TLS': () => createServer(),
  TLS: () => https.createServer(identity('localhost')),
} as const satisfies Record<string, () => Server>;

export async function startUnusable(kind: keyof typeof UNUSABLE_SERVERS): Promise<LoopbackServer> {
  return await onLoopback(UNUSABLE_SERVERS[kind]().on('tlsClientError', () => undefined));
}
