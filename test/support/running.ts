/** The text that a program has printed so far, by stream, and the tests that wait for more. */
export class PrintedText<Stream extends string> {
  readonly of: Record<Stream, string>;
  #waiting = new Set<() => void>();
  #ended: unknown;

  constructor(streams: readonly Stream[]) {
    this.of = Object.fromEntries(streams.map((stream) => [stream, ''])) as Record<Stream, string>;
  }

  add(text: string, ...streams: readonly Stream[]): void {
    for (const stream of streams) this.of[stream] += text;
    this.#look();
  }

  /** Records that the program has ended with this result, and rejects the waits for more text. */
  end(result: unknown): void {
    this.#ended = result;
    this.#look();
  }

  /** Waits until the stream's text so far, or from `start` on, matches; rejects if the program ends first. */
  matches(stream: Stream, pattern: RegExp, start = () => 0): Promise<RegExpMatchArray> {
    return new Promise((resolve, reject) => {
      const look = () => {
        const match = this.of[stream].slice(start()).match(pattern);
        if (match) resolve(match);
        else if (this.#ended !== undefined)
          reject(new Error(`${pattern} was not printed:\n${JSON.stringify(this.#ended, null, 2)}`));
        else return;
        this.#waiting.delete(look);
      };
      this.#waiting.add(look);
      look();
    });
  }

  #look(): void {
    for (const look of this.#waiting) look();
  }
}

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
