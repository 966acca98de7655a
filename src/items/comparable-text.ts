/** Lower case, and NFC for other than ASCII: macOS and some editors write é as e and an accent. */
export function comparableForm(wanted: string): (text: string) => string {
  const isAscii = Buffer.byteLength(wanted) === wanted.length;
  return isAscii ? (text) => text.toLowerCase() : (text) => text.normalize('NFC').toLowerCase();
}
