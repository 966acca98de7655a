const QUOTE = 0x22;

/** The text of the JSON value between two offsets for a cell: a string's characters, any other value's own text, null nothing. */
export function valueText(bytes: Buffer, start: number, end: number): string {
  if (bytes[start] === QUOTE) return stringText(bytes, start, end);
  return bytes[start] === 0x6e ? '' : bytes.toString('utf8', start, end);
}

/** The characters of the JSON string between two offsets, quotes included. */
export function stringText(bytes: Buffer, start: number, end: number): string {
  const text = bytes.toString('utf8', start + 1, end - 1);
  return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text;
}
