import { BlockList, isIP } from 'node:net';
import { bareHost, portOf } from './host-connection.ts';

/**
 * True if a `NO_PROXY` list, separated by commas or spaces, covers the host of a URL: by `*`; by a name,
 * which includes its subdomains, with an optional `.` or `*.` at its start and dot at its end; by an address,
 * with or without brackets; or by a network such as `10.0.0.0/8`. A name or an address may have a port. As in
 * curl and Go, networks do not apply to hosts given by name.
 */
export function isListed(list: string, url: URL): boolean {
  const host = withoutEndDot(bareHost(url));
  return list
    .toLowerCase()
    .split(/[,\s]/)
    .some((entry) => entry === '*' || matches(entry, host, portOf(url)));
}

function matches(entry: string, host: string, port: number): boolean {
  if (entry.includes('/')) return isInNetwork(entry, host);
  const { name, onlyPort } = split(entry);
  if (onlyPort !== undefined && onlyPort !== port) return false;
  const family = isIP(name);
  if (family !== 0) return isInNetwork(`${name}/${family === 4 ? 32 : 128}`, host);
  const domain = withoutEndDot(name.replace(/^\*?\./, ''));
  return domain !== '' && (host === domain || host.endsWith(`.${domain}`));
}

function split(entry: string): { readonly name: string; readonly onlyPort?: number } {
  if (isIP(entry) !== 0) return { name: entry };
  const [, bracketed, plain = '', port] = /^(?:\[(.*)\]|([^:]*))(?::(\d+))?$/.exec(entry) ?? [];
  const name = bracketed ?? plain;
  return port === undefined ? { name } : { name, onlyPort: Number(port) };
}

function isInNetwork(entry: string, host: string): boolean {
  const [, network = '', prefix = ''] = /^\[?([^\]/]*)\]?\/(\d{1,3})$/.exec(entry) ?? [];
  const family = isIP(network);
  const bits = Number(prefix);
  if (family === 0 || isIP(host) !== family || bits > (family === 4 ? 32 : 128)) return false;
  const type = family === 4 ? 'ipv4' : 'ipv6';
  const addresses = new BlockList();
  addresses.addSubnet(network, bits, type);
  return addresses.check(host, type);
}

function withoutEndDot(name: string): string {
  return name.replace(/\.$/, '');
}
