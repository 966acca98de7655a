/** Functions that end what a test started and has not ended. */
const running = new Set<() => Promise<unknown>>();

/** Registers a program until it has finished. */
export function noteRunning(finished: Promise<unknown>, end: () => void): void {
  const stop = () => {
    end();
    return finished;
  };
  running.add(stop);
  void finished.then(() => running.delete(stop));
}

/** Returns a function that ends what was started since, so that programs of a failed test do not disturb others. */
export function leftSince(): () => Promise<unknown> {
  const before = new Set(running);
  return () => Promise.all([...running].filter((stop) => !before.has(stop)).map((stop) => stop()));
}
