/**
 * Returns a function that writes texts in the form in which they are searched for `wanted`: in small letters
 * and, if `wanted` has more than ASCII, with composed letters (Unicode NFC), since macOS and some editors
 * write é as e and an accent.
 */
export function comparableForm(wanted: string): (text: string) => string {
  const isAscii = Buffer.byteLength(wanted) === wanted.length;
  return isAscii ? (text) => text.toLowerCase() : (text) => text.normalize('NFC').toLowerCase();
}
