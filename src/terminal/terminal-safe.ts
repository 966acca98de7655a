/**
 * Characters that act on a terminal or reorder what is read: C0 but for tab and line feed, DEL, C1, and the
 * bidirectional marks, embeddings, overrides and isolates.
 */
const ACTING = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/**
 * Makes text for people inert: control characters become `\u` escapes of four hex digits. Files and pipes get this too,
 * since a log is read on a terminal later. JSON, NDJSON and CSV are escaped only if they go to a terminal.
 */
export function terminalSafe(text: string): string {
  return text.replace(ACTING, unicodeEscape);
}

/** Escapes tabs and line feeds too, for text that must stay on one line. */
export function terminalSafeLine(text: string): string {
  return terminalSafe(text).replace(/[\t\n]/g, unicodeEscape);
}

/** For text after a label such as `error:`: also indents further lines, so that none looks like a label. */
export function terminalSafeBlock(text: string): string {
  return terminalSafe(text).replaceAll('\n', '\n  ');
}

/** Returns `\u` and four hex digits for one UTF-16 code unit. */
export function unicodeEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
