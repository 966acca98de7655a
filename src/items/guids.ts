const DIGITS = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}';
const GUID = new RegExp(`^${DIGITS}$`, 'i');
const INSIDE = new RegExp(`(?<![0-9a-f-])${DIGITS}(?![0-9a-f-])`, 'gi');
const BARE_DIGITS = /^[0-9a-f]{32}$/i;
const BARE = /^[\s"'`{(]*([0-9a-f]{32})[\s"'`})]*$/i;

/** The usual form, 8-4-4-4-12 hexadecimal digits in any case. */
export function isGuid(text: string): boolean {
  return GUID.test(text);
}

/** The 32 digits of a GUID, which may lack its hyphens, in lower case; undefined for other texts. */
export function guidDigits(text: string): string | undefined {
  return isGuid(text) || BARE_DIGITS.test(text) ? text.replaceAll('-', '').toLowerCase() : undefined;
}

/** Returns the same text for all spellings of an id. Ids that are not GUIDs are compared in any case, too. */
export function comparedId(id: string): string {
  return guidDigits(id) ?? id.toLowerCase();
}

/** Lower-cases GUIDs only, since their case means nothing (RFC 9562, section 4). */
export function withoutGuidCase(text: string): string {
  return isGuid(text) ? text.toLowerCase() : text;
}

/** Distinct, as written. People paste GUIDs in braces, after `urn:uuid:` (RFC 9562), and in log lines. */
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

/** Longer than any pasted GUID. */
const LONGEST_PASTED_CHARACTERS = 500;

/** Accepts white space, braces, quotes or `urn:uuid:` around the GUID; undefined for any other text. */
export function pastedGuid(text: string): string | undefined {
  if (text.length > LONGEST_PASTED_CHARACTERS) return undefined;
  const bare = text.replace(/^[\s"'`{(]*(urn:uuid:)?/i, '').replace(/[\s"'`})]*$/, '');
  const [guid] = guidsIn(bare);
  return guid !== undefined && guid.replaceAll('-', '') === bare.replaceAll('-', '') ? guid : undefined;
}

/** Longer values are cut in messages. */
const SHOWN_CHARACTERS = 60;

export function notAGuid(text: string): string {
  const shown = text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
  const found = guidsIn(text);
  return found.length > 1
    ? `'${shown}' holds ${found.length} GUIDs: ${found.slice(0, 3).join(', ')}${found.length > 3 ? ', …' : ''}`
    : `'${shown}' is not a GUID such as 0f8fad5b-d9cb-469f-a165-70867728950e`;
}
