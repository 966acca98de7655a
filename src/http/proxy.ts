import type { Environment } from '../context.ts';
import { UsageError } from '../errors.ts';
import { isLoopback } from '../settings/setting-names.ts';

const SCHEMES = ['http:', 'https:'];

/**
 * The proxy that the environment names for an address; undefined for hosts of this machine and of `NO_PROXY`,
 * which are reached directly. Only `HTTPS_PROXY` counts, since `http:` is used for loopback hosts only. As
 * with curl, the lower-case variable wins, and a host without a scheme is an HTTP proxy. Throws `UsageError`
 * that names the variable.
 */
export function proxyFor(url: URL, environment: Environment): URL | undefined {
  const name = environment['https_proxy'] ? 'https_proxy' : 'HTTPS_PROXY';
  const text = environment[name];
  if (!text || url.protocol !== 'https:' || isLoopback(url) || isExcepted(url, environment)) return undefined;
  const address = text.includes('://') ? text : `http://${text}`;
  if (URL.canParse(address) && SCHEMES.includes(new URL(address).protocol)) return new URL(address);
  const shown = text.includes('@') ? 'value' : `value '${text}'`;
  throw new UsageError(
    `${name}: invalid ${shown}: must be the address of a proxy, such as http://proxy.example.com:3128`,
  );
}

/**
 * `NO_PROXY` is a list of names separated by commas or spaces, each with an optional port. A name includes
 * its subdomains; `*` matches all.
 */
function isExcepted({ hostname, port }: URL, environment: Environment): boolean {
  const list = environment['no_proxy'] || environment['NO_PROXY'] || '';
  return list
    .toLowerCase()
    .split(/[,\s]+/)
    .some((entry) => {
      if (entry === '*') return true;
      const [, name = '', wantedPort] = /^(?:\*?\.)?(.+?)(?::(\d+))?$/.exec(entry) ?? [];
      if (name === '' || (wantedPort && wantedPort !== (port || '443'))) return false;
      return hostname === name || hostname.endsWith(`.${name}`);
    });
}
