const CHUNK = 4 * 1024 * 1024;

/**
 * The JSON texts of all events, each behind a comma, in buffers filled from the end towards the start. Events arrive
 * oldest first and pages list the newest first, so a page is one slice of a buffer in most cases.
 */
export class EventBytes {
  readonly #chunks: Buffer[] = [];
  #free = 0;

  /** Keeps a copy of a text; returns its position, which is where its comma stands. */
  write(text: Uint8Array): number {
    const needed = text.length + 1;
    if (needed > CHUNK) throw new RangeError(`an event of ${text.length} bytes is too large for the sandbox`);
    if (needed > this.#free) {
      this.#chunks.push(Buffer.allocUnsafeSlow(CHUNK));
      this.#free = CHUNK;
    }
    this.#free -= needed;
    const last = this.#chunks.length - 1;
    const chunk = this.#chunks[last] as Buffer;
    chunk[this.#free] = 0x2c;
    chunk.set(text, this.#free + 1);
    return last * CHUNK + this.#free;
  }

  /** The bytes from one position up to another of the same buffer, without the first comma if `bare`. */
  slice(position: number, end: number, bare: boolean): Buffer {
    const index = Math.floor(position / CHUNK);
    const base = index * CHUNK;
    return (this.#chunks[index] as Buffer).subarray(position - base + (bare ? 1 : 0), end - base);
  }

  /** Whether a text at `position` can continue a slice that ends there. */
  continues(end: number, position: number): boolean {
    return end === position && position % CHUNK !== 0;
  }
}
