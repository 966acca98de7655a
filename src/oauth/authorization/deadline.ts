import type { Context } from '../../context.ts';
import { NotSignedInError } from '../../errors.ts';

/**
 * Waits that long for somebody to sign in. `wait` is given a signal that aborts when time is up or the program is interrupted.
 * Throws `NotSignedInError` when time is up.
 */
export async function withinTime<Result>(
  seconds: number,
  { clock, signal }: Pick<Context, 'clock' | 'signal'>,
  wait: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const over = new AbortController();
  const either = AbortSignal.any([over.signal, signal]);
  const late = clock.sleep(seconds * 1000, either).then(() => {
    const error = tooLate(seconds);
    over.abort(error);
    throw error;
  });
  try {
    return await Promise.race([wait(either), late]);
  } finally {
    over.abort(new Error('over'));
  }
}

function tooLate(seconds: number): NotSignedInError {
  return new NotSignedInError(`nobody signed in within ${seconds} s`, {
    next: 'run `hooktrail login` again (--timeout SECONDS waits longer; --paste needs no way back to this machine)',
  });
}
