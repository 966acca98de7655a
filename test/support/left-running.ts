/** What a test started and has not ended, each as a function that ends it. */
const running = new Set<() => Promise<unknown>>();

/** Notes a program until it has finished. */
export function noteRunning(finished: Promise<unknown>, end: () => void): void {
  const stop = () => {
    end();
    return finished;
  };
  running.add(stop);
  void finished.then(() => running.delete(stop));
}

/** Returns a function that ends what was started since: a program left by a test that failed disturbs no other. */
export function leftSince(): () => Promise<unknown> {
  const before = new Set(running);
  return () => Promise.all([...running].filter((stop) => !before.has(stop)).map((stop) => stop()));
}
