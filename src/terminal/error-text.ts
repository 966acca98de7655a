import { HooktrailError } from '../errors.ts';
import type { Palette } from './palette.ts';
import { terminalSafe, terminalSafeBlock } from './terminal-safe.ts';

/** The text of a failure: `error: …`, indented details, `next: …`, each line ended. */
export function errorText(error: unknown, palette: Palette): string {
  const known = error instanceof HooktrailError;
  const message = known
    ? error.message
    : `unexpected: ${error instanceof Error ? error.message : String(error)}`;
  const next = known
    ? error.next
    : 'this is a defect of hooktrail: run it again with --debug and report what it prints';
  const lines = [`${palette.bad('error:')} ${terminalSafeBlock(message)}`];
  for (const detail of known ? error.details : []) {
    for (const line of detail.split('\n')) lines.push(`  ${terminalSafe(line)}`);
  }
  if (next) lines.push(`${palette.accent('next:')} ${terminalSafeBlock(next)}`);
  return `${lines.join('\n')}\n`;
}
