const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0x82f63b78 : value >>> 1;
  return value;
});

/**
 * CRC-32C (RFC 3720 section B.4) of a few bytes. A call into zlib's for each record would make reading ten million of them
 * take several times as long.
 */
export function crc32c(bytes: Uint8Array, start: number, end: number): number {
  let crc = 0xffffffff;
  for (let at = start; at < end; at++) {
    crc = (table[(crc ^ (bytes[at] as number)) & 0xff] as number) ^ (crc >>> 8);
  }
  return ~crc >>> 0;
}
