import { HooktrailError } from '../errors.ts';

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
