import type { Output } from '../context.ts';

/**
 * Characters that act on a terminal or reorder what is read: C0 but for tab and line feed, DEL, C1, and the
 * bidirectional marks, embeddings, overrides and isolates.
 */
const ACTING = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Text from outside, made inert for a terminal: acting characters become `\u` escapes of four hex digits. */
export function terminalSafe(text: string): string {
  return text.replace(ACTING, unicodeEscape);
}

/** The same for text that must stay on one line: tabs and line feeds are escaped too. */
export function terminalSafeLine(text: string): string {
  return terminalSafe(text).replace(/[\t\n]/g, unicodeEscape);
}

/** What makes text fit for an output: inert where it is a terminal, elsewhere as it is. */
export function safeFor({ isTerminal }: Pick<Output, 'isTerminal'>): (text: string) => string {
  return isTerminal ? terminalSafe : (text) => text;
}

/** `\u` and four hex digits for one UTF-16 unit. */
export function unicodeEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
