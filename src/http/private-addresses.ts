import { BlockList, isIPv6 } from 'node:net';

/**
 * Networks that a service on the Internet cannot reach, and that no foreign name should lead to: those of
 * IANA's registries of special-purpose addresses (RFC 6890) that are not globally reachable, as of 9 October
 * 2025, and at the end those of other registries. Exceptions within a network, such as anycast addresses,
 * host no webhooks either.
 */
const SPECIAL_NETWORKS: readonly (readonly [network: string, bits: number])[] = [
  ['0.0.0.0', 8], // "This network"
  ['10.0.0.0', 8], // Private-Use
  ['100.64.0.0', 10], // Shared Address Space
  ['127.0.0.0', 8], // Loopback
  ['169.254.0.0', 16], // Link Local
  ['172.16.0.0', 12], // Private-Use
  ['192.0.0.0', 24], // IETF Protocol Assignments
  ['192.0.2.0', 24], // Documentation (TEST-NET-1)
  ['192.88.99.0', 24], // Deprecated (6to4 Relay Anycast)
  ['192.168.0.0', 16], // Private-Use
  ['198.18.0.0', 15], // Benchmarking
  ['198.51.100.0', 24], // Documentation (TEST-NET-2)
  ['203.0.113.0', 24], // Documentation (TEST-NET-3)
  ['240.0.0.0', 4], // Reserved, and Limited Broadcast
  // Unspecified, loopback and the deprecated IPv4-compatible addresses (RFC 4291 section 2.5.5.1).
  ['::', 96], // Unspecified Address, Loopback Address
  ['64:ff9b:1::', 48], // IPv4-IPv6 Translat.
  ['100::', 64], // Discard-Only Address Block
  ['100:0:0:1::', 64], // Dummy IPv6 Prefix
  ['2001::', 23], // IETF Protocol Assignments
  ['2001:db8::', 32], // Documentation
  ['2002::', 16], // 6to4
  ['3fff::', 20], // Documentation
  ['5f00::', 16], // Segment Routing (SRv6) SIDs
  ['fc00::', 7], // Unique-Local
  ['fe80::', 10], // Link-Local Unicast
  // In other registries: multicast, translated IPv4 (RFC 2765) and site-local addresses.
  ['224.0.0.0', 4], // Multicast
  ['::ffff:0:0:0', 96], // IPv4-translated
  ['fec0::', 10], // Site-Local Unicast
  ['ff00::', 8], // Multicast
  // The metadata service of virtual machines at Azure, in no registry.
  ['168.63.129.16', 32], // Azure
];

const blocked = new BlockList();
for (const [network, bits] of SPECIAL_NETWORKS)
  blocked.addSubnet(network, bits, isIPv6(network) ? 'ipv6' : 'ipv4');

/** True for loopback, private, link-local, metadata and other addresses outside the public Internet. */
export function isPrivateAddress(address: string): boolean {
  if (!isIPv6(address)) return blocked.check(address, 'ipv4');
  const embedded = embeddedIpv4(address);
  return embedded === undefined ? blocked.check(address, 'ipv6') : blocked.check(embedded, 'ipv4');
}

/** Returns the IPv4 address embedded by `::ffff:0:0/96` (RFC 4291) or `64:ff9b::/96` (RFC 6052). */
function embeddedIpv4(address: string): string | undefined {
  const match = /\[(?:::ffff|64:ff9b:):([0-9a-f]+):([0-9a-f]+)\]/.exec(normalized(address));
  if (!match) return undefined;
  const [high = 0, low = 0] = match.slice(1).map((digits) => Number.parseInt(digits, 16));
  return [high >> 8, high & 0xff, low >> 8, low & 0xff].join('.');
}

function normalized(address: string): string {
  const [plain = ''] = address.split('%');
  return new URL(`http://[${plain}]`).hostname;
}
