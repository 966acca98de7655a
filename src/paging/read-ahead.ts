/** Jobs known in advance, or arriving over time. The signal aborts when no more are wanted. */
type Jobs<Job> = Iterable<Job> | ((ending: AbortSignal) => AsyncIterable<Job> | Iterable<Job>);

/**
 * Runs jobs ahead of their reader, `width()` at a time, and yields their results in the order of the jobs. At
 * most twice `width()` jobs, running or finished, wait for the reader: one slow answer does not idle the
 * other connections, and memory is bounded. A failed job or source throws in its turn. Ending the iteration
 * early, or `signal`, aborts running jobs.
 */
export async function* readAhead<Job, Result>(
  jobs: Jobs<Job>,
  run: (job: Job, signal: AbortSignal) => Promise<Result>,
  width: () => number,
  signal: AbortSignal,
): AsyncGenerator<{ job: Job; result: Result }> {
  const abort = new AbortController();
  const running = new Set<AbortController>();
  const source = iterated(typeof jobs === 'function' ? jobs(abort.signal) : jobs);
  const waiting: Promise<{ job: Job; result: Result }>[] = [];
  let ended = false;
  let pulling: Promise<void> | undefined;

  const append = (result: (typeof waiting)[number]) => {
    // A failure is thrown in its turn. Until then it must not count as unhandled.
    result.catch(() => undefined);
    waiting.push(result);
  };
  const start = async (job: Job) => {
    // Each job has its own signal: listeners of a shared one would keep each other's answers from being
    // collected.
    const own = new AbortController();
    running.add(own);
    try {
      return { job, result: await run(job, own.signal) };
    } finally {
      running.delete(own);
      fill();
    }
  };
  const pull = async () => {
    try {
      const { done, value } = await source.next();
      if (done || abort.signal.aborted) ended = true;
      else append(start(value));
    } catch (error) {
      ended = true;
      append(Promise.reject(error));
    }
    pulling = undefined;
    fill();
  };
  const fill = () => {
    if (pulling || ended || abort.signal.aborted || running.size >= width() || waiting.length >= 2 * width())
      return;
    pulling = pull();
  };

  let interrupt = () => {};
  const interrupted = new Promise<void>((resolve) => {
    interrupt = resolve;
  });
  const stop = (reason?: unknown) => {
    abort.abort(reason);
    for (const own of running) own.abort(reason);
  };
  const onAbort = () => {
    stop(signal.reason);
    interrupt();
  };
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    for (fill(); waiting.length > 0 || pulling; fill()) {
      const next = waiting.shift();
      // A source may wait for a long time, and cannot be interrupted.
      if (next) yield await next;
      else await Promise.race([pulling, interrupted]);
      signal.throwIfAborted();
    }
    signal.throwIfAborted();
  } finally {
    signal.removeEventListener('abort', onAbort);
    stop();
  }
}

function iterated<Job>(jobs: Iterable<Job> | AsyncIterable<Job>): AsyncIterator<Job> | Iterator<Job> {
  return Symbol.asyncIterator in jobs ? jobs[Symbol.asyncIterator]() : jobs[Symbol.iterator]();
}
