/** Windows PowerShell writes UTF-16 with a byte order mark, for instance with `>`. All other input is UTF-8. */
export function encodingOf(bytes: Uint8Array): 'utf8' | 'utf16le' {
  return bytes[0] === 0xff && bytes[1] === 0xfe ? 'utf16le' : 'utf8';
}
