import { BlockList, isIPv6 } from 'node:net';

/**
 * Networks that a service on the Internet cannot reach, and that nobody should be sent to by a name of
 * others.
 */
const IPV4_NETWORKS: readonly (readonly [network: string, bits: number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
  // The metadata of virtual machines at Azure.
  ['168.63.129.16', 32],
];
const IPV6_NETWORKS: readonly (readonly [network: string, bits: number])[] = [
  ['::', 96],
  ['100::', 64],
  // Teredo, documentation, 6to4: none of them carries a webhook.
  ['2001::', 32],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['fc00::', 7],
  ['fe80::', 10],
  ['fec0::', 10],
  ['ff00::', 8],
];

const blocked = new BlockList();
for (const [network, bits] of IPV4_NETWORKS) blocked.addSubnet(network, bits, 'ipv4');
for (const [network, bits] of IPV6_NETWORKS) blocked.addSubnet(network, bits, 'ipv6');

/**
 * True for loopback, private, link-local and metadata addresses, and for others that are not of the Internet.
 */
export function isPrivateAddress(address: string): boolean {
  if (!isIPv6(address)) return blocked.check(address, 'ipv4');
  const embedded = embeddedIpv4(address);
  return embedded === undefined ? blocked.check(address, 'ipv6') : blocked.check(embedded, 'ipv4');
}

/** The IPv4 address in one of `::ffff:0:0/96` (RFC 4291) or `64:ff9b::/96` (RFC 6052). */
function embeddedIpv4(address: string): string | undefined {
  const [, high, low] = /^\[(?:::ffff|64:ff9b:):([0-9a-f]+):([0-9a-f]+)\]$/.exec(normalized(address)) ?? [];
  if (high === undefined || low === undefined) return undefined;
  const bits = Number.parseInt(high, 16) * 0x1_0000 + Number.parseInt(low, 16);
  return [24, 16, 8, 0].map((shift) => Math.floor(bits / 2 ** shift) % 256).join('.');
}

/** As the URL standard writes it, in brackets. */
function normalized(address: string): string {
  const [plain = ''] = address.split('%');
  return new URL(`http://[${plain}]`).hostname;
}
