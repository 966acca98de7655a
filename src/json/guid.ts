const DIGITS = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';
const GUID = new RegExp(`^${DIGITS}$`, 'i');
const INSIDE = new RegExp(`(?<![0-9a-f-])${DIGITS}(?![0-9a-f-])`, 'gi');
const BARE = /^[\s"'`{(]*([0-9a-f]{32})[\s"'`})]*$/i;

/** True if the text is a GUID in its usual form: 8-4-4-4-12 hexadecimal digits, in any case. */
export function isGuid(text: string): boolean {
  return GUID.test(text);
}

/**
 * The GUIDs that a text holds, each once, in the case they are written in: people paste them in braces and quotes, with
 * `urn:uuid:` before them (RFC 9562), inside addresses and lines of logs.
 */
export function guidsIn(text: string): string[] {
  const bare = BARE.exec(text)?.[1];
  if (bare) return [bare.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')];
  const distinct = new Map<string, string>();
  for (const [guid] of text.matchAll(INSIDE)) {
    const key = guid.toLowerCase();
    if (!distinct.has(key)) distinct.set(key, guid);
  }
  return [...distinct.values()];
}

/** The maximum length of an invalid GUID in a message. */
const SHOWN = 60;

/** The message for a text that is not one GUID, with the GUIDs that it contains. */
export function notAGuid(text: string): string {
  const shown = text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
  const found = guidsIn(text);
  return found.length > 1
    ? `'${shown}' holds ${found.length} GUIDs: ${found.slice(0, 3).join(', ')}${found.length > 3 ? ', …' : ''}`
    : `'${shown}' is not a GUID such as 0f8fad5b-d9cb-469f-a165-70867728950e`;
}
