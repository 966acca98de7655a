import type { Environment } from '../context.ts';
import { UsageError } from '../errors.ts';
import { isLoopback } from '../settings/setting-names.ts';
import { isListed } from './no-proxy.ts';

const SCHEMES = ['http:', 'https:'];

/**
 * Returns the environment's proxy for an address; undefined for loopback hosts and those in `NO_PROXY`, which
 * are reached directly. Only `HTTPS_PROXY` is read, since `http:` is used for loopback hosts only. As in
 * curl, the lower-case variable takes precedence, and a host without a scheme is an HTTP proxy. Throws
 * `UsageError` that names the variable.
 */
export function proxyFor(url: URL, environment: Environment): URL | undefined {
  const name = environment['https_proxy'] ? 'https_proxy' : 'HTTPS_PROXY';
  const text = environment[name];
  if (!text || url.protocol !== 'https:' || isLoopback(url)) return undefined;
  if (isListed(environment['no_proxy'] || environment['NO_PROXY'] || '', url)) return undefined;
  const address = text.includes('://') ? text : `http://${text}`;
  const proxy = URL.canParse(address) ? new URL(address) : undefined;
  // These characters end the host: the rest would be a path.
  const [, user = ''] = /^(?:\w+:\/\/)?(.*)@/s.exec(text) ?? [];
  if (/[\\/?#]/.test(user))
    throw new UsageError(
      `${name}: invalid value: the user name or password holds a character that has to be percent-encoded`,
      {
        next: 'write \\ as %5C, / as %2F, # as %23, ? as %3F: http://DOMAIN%5Cuser:password@proxy.example.com:3128',
      },
    );
  if (proxy && SCHEMES.includes(proxy.protocol)) return proxy;
  const shown = text.includes('@') ? 'value' : `value '${text}'`;
  if (/^socks/i.test(address))
    throw new UsageError(`${name}: invalid ${shown}: SOCKS proxies are not supported`, {
      next: 'give the address at which the proxy takes HTTP, such as http://proxy.example.com:3128; many take both at one port',
    });
  throw new UsageError(
    `${name}: invalid ${shown}: must be the address of a proxy, such as http://proxy.example.com:3128`,
  );
}
