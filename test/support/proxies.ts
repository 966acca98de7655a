import http from 'node:http';
import https from 'node:https';
import net from 'node:net';
import type { Duplex } from 'node:stream';
import { onLoopback } from './server.ts';
import { identity } from './tls.ts';

// Proxies as companies and networks have them: how they are reached, and how they answer `CONNECT`.

/** `socks`: a SOCKS 5 proxy, which refuses whatever does not begin as SOCKS does (RFC 1928). */
type ProxyScheme = 'http' | 'https' | 'socks';

/** A tunnel that a proxy was asked for. */
interface AskedTunnel {
  /** The user name and password, as the request has them. */
  readonly credentials: string | undefined;
  readonly client: Duplex;
  /** Writes the head of the answer, piece by piece. What follows goes through the tunnel. */
  readonly open: (...pieces: readonly string[]) => void;
}

export type TunnelAnswer = (tunnel: AskedTunnel) => void;

const OPENED = 'HTTP/1.1 200 Connection established\r\n\r\n';

export const opens: TunnelAnswer = ({ open }) => open(OPENED);

/** Refuses with a status, such as `502 Bad Gateway`. */
export function refuses(status: string, ...headers: readonly string[]): TunnelAnswer {
  const lines = [`HTTP/1.1 ${status}`, ...headers, 'content-length: 0', '', ''];
  return ({ client }) => client.end(lines.join('\r\n'));
}

/** Refuses all, and offers ways of signing in. */
export function offers(...challenges: readonly string[]): TunnelAnswer {
  const headers = challenges.map((challenge) => `proxy-authenticate: ${challenge}`);
  return refuses('407 Proxy Authentication Required', ...headers);
}

/** Opens for this user alone; absent: for nobody. */
export function wantsBasic(user?: string): TunnelAnswer {
  const wanted = user && `Basic ${Buffer.from(user).toString('base64')}`;
  return (tunnel) => (tunnel.credentials === wanted && wanted ? opens : offers('Basic realm="a"'))(tunnel);
}

/** Ways of opening a tunnel that a client has to understand. */
export const OPENINGS = {
  'opens it at once': opens,
  'sends 100 Continue first': ({ open }) => open(`HTTP/1.1 100 Continue\r\n\r\n${OPENED}`),
  'sends several interim answers first': ({ open }) =>
    open('HTTP/1.1 102 Processing\r\n\r\n', 'HTTP/1.1 100 Continue\r\nx: y\r\n\r\n', OPENED),
  'answers slowly, one byte after the other': ({ open }) => open(...OPENED),
  'announces a body of no bytes': ({ open }) => open('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'),
} as const satisfies Record<string, TunnelAnswer>;

const FIRST_WORDS = /^CONNECT /;
const NO_ACCEPTABLE_METHODS = Buffer.from([5, 0xff]);

/**
 * A proxy on a free loopback port, by default one that opens no tunnel. Its tunnels lead to the port
 * `leadsTo` of this machine, whatever they are asked for; without one, they are closed at the first byte.
 */
export async function startProxy(
  answer: TunnelAnswer = refuses('502 Bad Gateway'),
  { scheme = 'http', leadsTo }: { readonly scheme?: ProxyScheme; readonly leadsTo?: number } = {},
) {
  /** The requests: tunnels by their target, others by their URL. */
  const asked: string[] = [];
  /** The credentials of each tunnel. */
  const credentials: (string | undefined)[] = [];
  /** The first byte that came through each tunnel that leads nowhere. */
  const firstBytes: (number | undefined)[] = [];
  const server = serverOf(scheme, (url) => asked.push(url));
  server.on('connect', (request: http.IncomingMessage, client: Duplex) => {
    asked.push(`CONNECT ${request.url}`);
    const given = request.headers['proxy-authorization'];
    credentials.push(given);
    client.on('error', () => undefined);
    const open = (...pieces: readonly string[]) => {
      void writeInTurn(client, pieces);
      if (leadsTo !== undefined) return join(client, leadsTo);
      client.once('data', (bytes: Buffer) => {
        firstBytes.push(bytes[0]);
        client.destroy();
      });
    };
    answer({ credentials: given, client, open });
  });
  return { asked, credentials, firstBytes, ...(await onLoopback(server)) };
}

function serverOf(scheme: ProxyScheme, note: (url: string) => void): net.Server {
  const respond: http.RequestListener = (request, response) => {
    note(request.url ?? '');
    response.end('by the proxy');
  };
  if (scheme === 'http') return http.createServer(respond);
  if (scheme === 'https')
    return https.createServer(identity('localhost'), respond).on('tlsClientError', () => undefined);
  return net.createServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', (bytes) => {
      note(FIRST_WORDS.test(bytes.toString('latin1')) ? 'HTTP' : 'other');
      socket.end(NO_ACCEPTABLE_METHODS);
    });
  });
}

/** Writes each piece in a packet of its own. */
async function writeInTurn(client: Duplex, pieces: readonly string[]): Promise<void> {
  for (const piece of pieces) await new Promise((resolve) => client.write(piece, resolve));
}

function join(client: Duplex, port: number): void {
  const server = net.connect(port, '127.0.0.1');
  server.on('error', () => client.destroy()).pipe(client);
  client.on('error', () => server.destroy()).pipe(server);
}
