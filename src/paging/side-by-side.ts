/**
 * Runs up to `width()` jobs at once, in order. After a failure it aborts the others and starts no more.
 * Throws the first error once all have ended.
 */
export async function sideBySide<Job>(
  jobs: Iterable<Job>,
  work: (job: Job, signal: AbortSignal) => Promise<void>,
  width: () => number,
  signal: AbortSignal,
): Promise<void> {
  const abort = new AbortController();
  const ending = AbortSignal.any([signal, abort.signal]);
  const running = new Set<Promise<void>>();
  const errors: unknown[] = [];
  const begin = (job: Job) => {
    const run = work(job, ending)
      .catch((error) => {
        errors.push(error);
        abort.abort();
      })
      .finally(() => running.delete(run));
    running.add(run);
  };
  for (const job of jobs) {
    begin(job);
    while (errors.length === 0 && running.size >= width()) await Promise.race(running);
    if (errors.length > 0) break;
  }
  await Promise.all(running);
  if (errors.length > 0) throw errors[0];
}
