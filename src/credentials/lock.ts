import type { Context } from '../context.ts';

export interface HeldLock {
  /** False once another process took the lock over. */
  isStillHeld(): Promise<boolean>;
}

export interface LockOptions {
  /** Milliseconds to wait for another holder; 60 s when absent. */
  readonly patience?: number;
}

/**
 * Runs `work` while no other process of this user runs work under the same name, whatever their working directory,
 * `$HOME`, `XDG_*`, `TMPDIR` or version. Throws `ServiceError` naming the holder when patience ends.
 */
export async function withLock<T>(
  _name: string,
  _context: Context,
  _work: (lock: HeldLock) => Promise<T>,
  _options: LockOptions = {},
): Promise<T> {
  throw new Error('not built yet');
}
