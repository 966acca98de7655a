import type { Context } from '../../context.ts';

/** Standard input a line at a time: the client secret and the pasted URL may come on the same pipe. */
export interface Lines {
  /** The next line without its end; undefined after the last. */
  next(): Promise<string | undefined>;
}

/** Lets `work` read lines until a signal comes; after it, a pipe that stays open no longer holds the process. */
export async function withLines<Result>(
  { stdin, signal }: Pick<Context, 'stdin' | 'signal'>,
  work: (lines: Lines) => Promise<Result>,
): Promise<Result> {
  let iterator: AsyncIterator<string> | undefined;
  const leave = () => void iterator?.return?.();
  signal.addEventListener('abort', leave);
  try {
    return await work({
      next: async () => {
        iterator ??= stdin.lines()[Symbol.asyncIterator]();
        const { value, done } = await iterator.next();
        signal.throwIfAborted();
        return done ? undefined : value;
      },
    });
  } finally {
    signal.removeEventListener('abort', leave);
    leave();
  }
}
