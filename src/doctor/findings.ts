import { HooktrailError } from '../errors.ts';
import { wrapWords } from '../terminal/cell-width.ts';
import type { Palette } from '../terminal/palette.ts';
import { terminalSafeLine } from '../terminal/terminal-safe.ts';

/** The result of one check. It holds no secrets, so that it can be pasted into a ticket. */
export interface Finding {
  readonly check: string;
  /** `doubtful`: works or is not needed, but may cause trouble. */
  readonly state: 'ok' | 'doubtful' | 'broken';
  readonly message: string;
  /** How to fix it. */
  readonly next?: string;
}

export function ok(check: string, message: string): Finding {
  return { check, state: 'ok', message };
}

export function doubtful(check: string, message: string, next: string): Finding {
  return { check, state: 'doubtful', message, next };
}

export function broken(check: string, message: string, next: string): Finding {
  return { check, state: 'broken', message, next };
}

/** The finding for a check that ended with an error. */
export function failed(check: string, error: unknown, state: 'doubtful' | 'broken' = 'broken'): Finding {
  const { message } = error as Error;
  if (!(error instanceof HooktrailError)) return { check, state, message };
  const text = [message, ...error.details].join('; ');
  return { check, state, message: text, ...(error.next ? { next: error.next } : {}) };
}

/**
 * Returns a line for each finding and one for its next step. Lines wider than `columns` are wrapped at spaces and
 * indented.
 */
export function diagnosisText(
  findings: readonly Finding[],
  palette: Palette,
  columns = Number.POSITIVE_INFINITY,
): string {
  const colours = { ok: palette.good, doubtful: palette.caution, broken: palette.bad };
  const width = Math.max(...findings.map(({ check }) => check.length));
  const indent = ' '.repeat(width + STATE_WIDTH + 4);
  const wrapped = (text: string) =>
    wrapWords(terminalSafeLine(text), Math.max(columns - indent.length, 20)).join(`\n${indent}`);
  return findings
    .map(({ check, state, message, next }) => {
      const start = `${colours[state](state.padEnd(STATE_WIDTH))}  ${check.padEnd(width)}`;
      return `${start}  ${wrapped(message)}\n${next ? `${indent}${wrapped(`next: ${next}`)}\n` : ''}`;
    })
    .join('');
}

const STATE_WIDTH = 'doubtful'.length;
