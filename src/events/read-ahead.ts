import { setMaxListeners } from 'node:events';

/**
 * Runs requests ahead of their reader: at most `width()` under way or waiting to be taken, handed out in the order of
 * `jobs`. Ending the iteration early aborts what is under way.
 */
export async function* readAhead<Job, Result>(
  jobs: Iterator<Job>,
  run: (job: Job, signal: AbortSignal) => Promise<Result>,
  width: () => number,
  signal: AbortSignal,
): AsyncGenerator<{ job: Job; result: Result }> {
  const abort = new AbortController();
  // Each request under way listens to it, and so many are asked for.
  setMaxListeners(0, abort.signal);
  const onAbort = () => abort.abort(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  const waiting: { job: Job; result: Promise<Result> }[] = [];
  let exhausted = false;
  const fill = () => {
    while (!exhausted && waiting.length < width()) {
      const { done, value: job } = jobs.next();
      if (done) {
        exhausted = true;
        return;
      }
      const result = run(job, abort.signal);
      // Seen when its turn comes; until then a failure must not count as unhandled.
      result.catch(() => undefined);
      waiting.push({ job, result });
    }
  };
  try {
    for (fill(); waiting.length > 0; fill()) {
      const { job, result } = waiting.shift() as (typeof waiting)[number];
      const settled = await result;
      // Ask for the next one before this one is consumed: the service works while we print.
      fill();
      yield { job, result: settled };
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    abort.abort();
  }
}
