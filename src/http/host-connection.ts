import { connect, isIP, type Socket } from 'node:net';

/** Addresses of `localhost`. A resolver is not asked: it may answer with another machine. */
const LOOPBACK_ADDRESSES = ['127.0.0.1', '::1'];

/** Milliseconds before the next address is tried as well (RFC 8305 section 5). */
const ATTEMPT_DELAY_MS = 250;

/** The options that undici uses; Node's types omit the buffer's size. */
const SOCKET_OPTIONS = { noDelay: true, highWaterMark: 64 * 1024 };

export type ResolveHost = (host: string) => Promise<readonly string[]>;

export function bareHost({ hostname }: Pick<URL, 'hostname'>): string {
  return hostname.replace(/^\[(.*)\]$/, '$1');
}

/** Defaults to the port of the scheme, which a URL omits. */
export function portOf({ port, protocol }: Pick<URL, 'port' | 'protocol'>): number {
  return Number(port || (protocol === 'https:' ? 443 : 80));
}

/** Rejects with the resolver's error. */
export async function addressesOf(url: URL, resolveHost: ResolveHost = lookUp): Promise<readonly string[]> {
  const host = bareHost(url);
  if (host === 'localhost') return LOOPBACK_ADDRESSES;
  return isIP(host) === 0 ? await resolveHost(host) : [host];
}

async function lookUp(host: string): Promise<readonly string[]> {
  const dns = await import('node:dns');
  // Like Node when it connects: omits addresses of a family that this machine lacks.
  const options = { all: true, hints: dns.ADDRCONFIG } as const;
  return await new Promise((resolve, reject) => {
    dns.lookup(host, options, (error, found) => {
      if (error) reject(error);
      else resolve(found.map(({ address }) => address));
    });
  });
}

/**
 * Connects to the first address that accepts (RFC 8305). Node would give up each address except the last
 * after 250 ms: for a host whose IPv6 is unreachable and whose IPv4 takes longer, it reaches neither. Here
 * the next address is tried after that time, or at once on a failure, while earlier attempts continue.
 * Rejects with the first failure when all have failed, or with the signal's reason.
 */
export function connectToFirst(
  addresses: readonly string[],
  port: number,
  signal: AbortSignal,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const waiting = alternatingFamilies(addresses);
    const attempts = new Set<Socket>();
    let firstFailure: Error | undefined;
    let timer: NodeJS.Timeout | undefined;
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      for (const socket of attempts) socket.destroy();
    };
    const onAbort = () => {
      end();
      reject(signal.reason);
    };
    const tryNext = () => {
      clearTimeout(timer);
      const host = waiting.shift();
      if (host === undefined) return;
      timer = setTimeout(tryNext, ATTEMPT_DELAY_MS);
      const socket = connect({ host, port, ...SOCKET_OPTIONS });
      attempts.add(socket);
      socket.once('connect', () => {
        attempts.delete(socket);
        end();
        resolve(socket);
      });
      socket.on('error', (error) => {
        if (!attempts.delete(socket)) return;
        firstFailure ??= error;
        tryNext();
        if (attempts.size > 0) return;
        end();
        reject(firstFailure);
      });
    };
    if (signal.aborted) return onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    tryNext();
  });
}

/** Alternates between address families, beginning with the resolver's first address (RFC 8305 section 4). */
function alternatingFamilies(addresses: readonly string[]): string[] {
  const family = isIP(addresses[0] ?? '');
  const first = addresses.filter((address) => isIP(address) === family);
  const others = addresses.filter((address) => isIP(address) !== family);
  const longest = Math.max(first.length, others.length);
  return Array.from({ length: longest }, (_, at) => [first[at], others[at]])
    .flat()
    .filter((address) => address !== undefined);
}

/**
 * Calls `work` with a signal that aborts after `limitMs`, or with `outer`, and does not wait for work that
 * cannot be aborted, such as a resolver. Rejects with the signal's reason: `ETIMEDOUT`, or that of `outer`.
 */
export async function within<Result>(
  limitMs: number,
  outer: AbortSignal,
  work: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  outer.throwIfAborted();
  const ending = new AbortController();
  const { signal } = ending;
  const onOuterAbort = () => ending.abort(outer.reason);
  outer.addEventListener('abort', onOuterAbort, { once: true });
  const late = Object.assign(new Error('no answer in time'), { code: 'ETIMEDOUT' });
  const timer = setTimeout(() => ending.abort(late), limitMs);
  try {
    return await new Promise((resolve, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      work(signal).then(resolve, reject);
    });
  } finally {
    clearTimeout(timer);
    outer.removeEventListener('abort', onOuterAbort);
  }
}
