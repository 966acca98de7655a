/** The text that a program printed so far, by stream, and tests that wait for more of it. */
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

  /** The program has ended with this result: who still waits for a text is told so. */
  end(result: unknown): void {
    this.#ended = result;
    this.#look();
  }

  /** Waits until the stream's text so far matches; rejects when the program ends without it. */
  matches(stream: Stream, pattern: RegExp): Promise<RegExpMatchArray> {
    return new Promise((resolve, reject) => {
      const look = () => {
        const match = this.of[stream].match(pattern);
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
