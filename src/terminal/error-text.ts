import { HooktrailError } from '../errors.ts';
import type { Palette } from './palette.ts';

/** The text of a failure: `error: …`, indented details, `next: …`, each line ended. */
export function errorText(error: unknown, palette: Palette, safe: (text: string) => string): string {
  const known = error instanceof HooktrailError;
  const message = known
    ? error.message
    : `unexpected: ${error instanceof Error ? error.message : String(error)}`;
  const next = known
    ? error.next
    : 'this is a defect of hooktrail: run it again with --debug and report what it prints';
  const lines = [`${palette.bad('error:')} ${safe(message)}`];
  for (const detail of known ? error.details : []) {
    for (const line of detail.split('\n')) lines.push(`  ${safe(line)}`);
  }
  if (next) lines.push(`${palette.accent('next:')} ${safe(next)}`);
  return `${lines.join('\n')}\n`;
}
