/**
 * Runs jobs as they arrive, at most `width()` at a time, and hands results out in the order of the jobs; as many again may
 * lie finished until their turn comes. A job source that fails does so in its turn, after the results before it. Ending the
 * iteration, or `signal`, aborts what is under way; the source is told by the signal it was given.
 */
export async function* inOrder<Job, Result>(
  jobs: (ending: AbortSignal) => AsyncIterable<Job>,
  run: (job: Job, signal: AbortSignal) => Promise<Result>,
  width: () => number,
  signal: AbortSignal,
): AsyncGenerator<Result> {
  const abort = new AbortController();
  const source = jobs(abort.signal)[Symbol.asyncIterator]();
  const waiting: Promise<Result>[] = [];
  let underWay = 0;
  let ended = false;
  let pulling: Promise<void> | undefined;

  const append = (result: Promise<Result>) => {
    // Seen when its turn comes; until then a failure must not count as unhandled.
    result.catch(() => undefined);
    waiting.push(result);
  };
  const pull = async () => {
    try {
      const { done, value } = await source.next();
      if (done) ended = true;
      else {
        underWay++;
        append(
          run(value, abort.signal).finally(() => {
            underWay--;
            fill();
          }),
        );
      }
    } catch (error) {
      ended = true;
      append(Promise.reject(error));
    }
    pulling = undefined;
    fill();
  };
  const fill = () => {
    if (pulling || ended || abort.signal.aborted || underWay >= width() || waiting.length >= 2 * width())
      return;
    pulling = pull();
  };
  let onAbort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    onAbort = () => {
      abort.abort(signal.reason);
      reject(signal.reason);
    };
  });
  aborted.catch(() => undefined);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    for (fill(); waiting.length > 0 || pulling; fill()) {
      if (waiting.length === 0) await Promise.race([pulling, aborted]);
      else yield await Promise.race([waiting.shift() as Promise<Result>, aborted]);
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    abort.abort();
  }
}
