const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** The offset after the JSON string that starts at `at`. The text is valid JSON. */
export function stringEnd(bytes: Uint8Array, at: number): number {
  let index = at + 1;
  for (;;) {
    const byte = bytes[index];
    if (byte === QUOTE) return index + 1;
    index += byte === BACKSLASH ? 2 : 1;
  }
}

/** The offset after the JSON value that starts at `at`. The text is valid JSON without white space between tokens. */
export function valueEnd(bytes: Uint8Array, at: number): number {
  const first = bytes[at];
  if (first === QUOTE) return stringEnd(bytes, at);
  if (first !== 0x7b && first !== 0x5b) return scalarEnd(bytes, at);
  let depth = 1;
  let index = at + 1;
  while (depth > 0) {
    const byte = bytes[index];
    if (byte === QUOTE) {
      index = stringEnd(bytes, index);
      continue;
    }
    if (byte === 0x7b || byte === 0x5b) depth++;
    else if (byte === 0x7d || byte === 0x5d) depth--;
    index++;
  }
  return index;
}

/** Numbers and literals end before a comma or a closing bracket. */
export function scalarEnd(bytes: Uint8Array, at: number): number {
  let index = at + 1;
  for (; index < bytes.length; index++) {
    const byte = bytes[index];
    if (byte === 0x2c || byte === 0x7d || byte === 0x5d || (byte as number) <= 0x20) break;
  }
  return index;
}

/**
 * The JSON value between two offsets as the text of a cell: a string's characters, nothing for null, the JSON text of
 * any other value.
 */
export function valueText(bytes: Buffer, start: number, end: number): string {
  if (bytes[start] === QUOTE) return stringText(bytes, start, end);
  return bytes[start] === 0x6e ? '' : bytes.toString('utf8', start, end);
}

/**
 * The JSON value between two offsets for people: a string's characters, of an object or a list its scalars, in their
 * order and with spaces between (`503 Service Unavailable`), `-` for null. Stops after some `longest` characters.
 */
export function scalarsText(bytes: Buffer, start: number, end: number, longest: number): string {
  const first = bytes[start];
  if (first === 0x6e) return '-';
  if (first !== 0x7b && first !== 0x5b) return valueText(bytes, start, end);
  // An empty object or list.
  if (end - start === 2) return first === 0x7b ? '{}' : '[]';
  const texts: string[] = [];
  for (let at = start, length = 0; at < end && length <= longest; ) {
    const byte = bytes[at] as number;
    if (byte === 0x7b || byte === 0x7d || byte === 0x5b || byte === 0x5d || byte === 0x2c) {
      at++;
      continue;
    }
    const to = byte === QUOTE ? stringEnd(bytes, at) : scalarEnd(bytes, at);
    // A string before a colon is a member's name.
    const isName = byte === QUOTE && bytes[to] === 0x3a;
    if (!isName && byte !== 0x6e) {
      const text = valueText(bytes, at, to);
      texts.push(text);
      length += text.length + 1;
    }
    at = isName ? to + 1 : to;
  }
  return texts.length > 0 ? texts.join(' ') : '-';
}

/** The characters of the JSON string between two offsets, quotes included. */
export function stringText(bytes: Buffer, start: number, end: number): string {
  const text = bytes.toString('utf8', start + 1, end - 1);
  return text.includes('\\') ? (JSON.parse(`"${text}"`) as string) : text;
}
