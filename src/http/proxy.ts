import type { Environment } from '../context.ts';
import { UsageError } from '../errors.ts';
import { isLoopback } from '../settings/setting-values.ts';

const SCHEMES = ['http:', 'https:', 'socks5:', 'socks:'];

/**
 * The proxy for addresses of a scheme (`https:`), as the environment names it; undefined where it names none. As with curl, the
 * lower-case variable wins, and a host alone is a proxy that speaks HTTP. Throws `UsageError` that names the variable.
 */
export function proxyFor(protocol: string, environment: Environment): URL | undefined {
  const upper = protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY';
  const name = environment[upper.toLowerCase()] ? upper.toLowerCase() : upper;
  const text = environment[name];
  if (!text) return undefined;
  const address = text.includes('://') ? text : `http://${text}`;
  if (URL.canParse(address) && SCHEMES.includes(new URL(address).protocol)) {
    const proxy = new URL(address);
    // http: is taken for loopback hosts alone: another machine would read the secrets, and look for the host at itself.
    return protocol === 'http:' && !isLoopback(proxy) ? undefined : proxy;
  }
  const shown = text.includes('@') ? '' : ` '${text}'`;
  throw new UsageError(
    `${name}: invalid value${shown}: must be the address of a proxy, such as http://proxy.example.com:3128`,
  );
}

/** The hosts that are reached without a proxy, as the environment lists them. */
export function hostsWithoutProxy(environment: Environment): string {
  return environment['no_proxy'] || environment['NO_PROXY'] || '';
}
