import { terminalSafeLine } from '../terminal/terminal-safe.ts';

const LONGEST = 100;

/** An `eventId` for a message: on one line whatever it holds, and cut where it is longer than any sensible one. */
export function shownId(eventId: string): string {
  if (eventId.length <= LONGEST) return terminalSafeLine(eventId);
  const start = terminalSafeLine(eventId.slice(0, LONGEST));
  return `${start}… (${eventId.length.toLocaleString('en-US')} characters)`;
}
