import { setMaxListeners } from 'node:events';

/**
 * Runs requests ahead of their reader, `width()` at a time, and hands their results out in the order of `jobs`. As many again
 * may lie finished until their turn comes, so that one slow answer does not idle the others' connections; that is all the
 * memory it takes. A `run` that has more to do once its request is answered calls `answered`, and the next one starts then.
 * Ending the iteration early, or `signal`, aborts what is under way.
 */
export async function* readAhead<Job, Result>(
  jobs: Iterator<Job>,
  run: (job: Job, signal: AbortSignal, answered: () => void) => Promise<Result>,
  width: () => number,
  signal: AbortSignal,
): AsyncGenerator<{ job: Job; result: Result }> {
  signal.throwIfAborted();
  const abort = new AbortController();
  // Each request under way listens to it, and so many are asked for.
  setMaxListeners(0, abort.signal);
  const onAbort = () => abort.abort(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });

  const waiting: { job: Job; result: Promise<Result> }[] = [];
  let underWay = 0;
  let exhausted = false;
  const fill = () => {
    while (!exhausted && !abort.signal.aborted && underWay < width() && waiting.length < 2 * width()) {
      const { done, value: job } = jobs.next();
      if (done) {
        exhausted = true;
        return;
      }
      underWay++;
      let isUnderWay = true;
      const answered = () => {
        if (!isUnderWay) return;
        isUnderWay = false;
        underWay--;
        fill();
      };
      const result = run(job, abort.signal, answered).finally(answered);
      // Seen when its turn comes; until then a failure must not count as unhandled.
      result.catch(() => undefined);
      waiting.push({ job, result });
    }
  };
  try {
    for (fill(); waiting.length > 0; fill()) {
      const { job, result } = waiting.shift() as (typeof waiting)[number];
      yield { job, result: await result };
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    abort.abort();
  }
}
