import type { Environment } from '../context.ts';
import { UsageError } from '../errors.ts';

const SCHEMES = ['http:', 'https:', 'socks5:', 'socks:'];

/**
 * The proxy for addresses of a scheme (`https:`), as the environment names it; undefined where it names none. As curl has it, the
 * lower-case variable wins and a host alone is one that speaks HTTP. Throws `UsageError` that names the variable.
 */
export function proxyFor(protocol: string, environment: Environment): URL | undefined {
  const upper = protocol === 'https:' ? 'HTTPS_PROXY' : 'HTTP_PROXY';
  const name = environment[upper.toLowerCase()] ? upper.toLowerCase() : upper;
  const text = environment[name];
  if (!text) return undefined;
  const address = text.includes('://') ? text : `http://${text}`;
  if (URL.canParse(address) && SCHEMES.includes(new URL(address).protocol)) return new URL(address);
  const shown = text.includes('@') ? 'the value' : `'${text}'`;
  throw new UsageError(
    `${name}: ${shown} is not accepted: the address of a proxy, such as http://proxy.example.com:3128`,
  );
}
