import type { Dispatcher } from 'undici';
import { CONNECT_TIMEOUT } from './transport-defaults.ts';
import { TransportError } from './transport-error.ts';

/**
 * A dispatcher of undici, which knows tunnels, proxy credentials and `NO_PROXY` (`noProxy`). It is loaded by its parts:
 * undici's full entry point costs as much to load as Node itself, and is also what gives dispatchers the method that
 * opens tunnels. `idleTimeout`: milliseconds without any progress.
 */
export async function proxyDispatcher(proxy: URL, noProxy: string, idleTimeout: number): Promise<Dispatcher> {
  const [{ default: EnvHttpProxyAgent }, { default: Base }, { default: connect }] = await Promise.all([
    import('undici/lib/dispatcher/env-http-proxy-agent.js'),
    import('undici/lib/dispatcher/dispatcher.js'),
    import('undici/lib/api/api-connect.js'),
  ]);
  Base.prototype.connect = connect;
  return new EnvHttpProxyAgent({
    connect: { timeout: CONNECT_TIMEOUT },
    headersTimeout: idleTimeout,
    bodyTimeout: idleTimeout,
    httpProxy: proxy.href,
    httpsProxy: proxy.href,
    noProxy,
    // Without TLS there is nothing to keep from the proxy, and not every one opens tunnels to other ports than 443.
    proxyTunnel: false,
  });
}

/** Why a request failed: the proxy is named where it never came further. */
export function proxyFailure(error: unknown, url: URL, proxy: URL): TransportError {
  const { message = '', hostname, port } = error as { message?: string; hostname?: string; port?: number };
  const refusal = /^Proxy response \((\d+)\)/.exec(message)?.[1];
  if (refusal)
    return new TransportError(
      'refused',
      `the proxy ${proxy.host} opened no way to ${url.host} (${refusal})`,
      error,
    );
  const ofProxy = hostname === proxy.hostname || (port !== undefined && String(port) === proxy.port);
  return TransportError.from(error, ofProxy ? proxy : url);
}
