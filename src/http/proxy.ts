import type { Environment } from '../context.ts';
import { UsageError } from '../errors.ts';
import { isLoopback } from '../settings/setting-values.ts';

const SCHEMES = ['http:', 'https:', 'socks5:', 'socks:'];

/**
 * The proxy that the environment names for an address; undefined where it is reached directly: hosts of this machine, and
 * those of `NO_PROXY`. Only `HTTPS_PROXY` counts, since `http:` serves loopback hosts only. As with curl, the lower-case
 * variable wins, and a host alone is a proxy that speaks HTTP. Throws `UsageError` that names the variable.
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

/** `NO_PROXY`: names with the names below them, `*`, and each with a port if it has one; split at commas and spaces. */
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
