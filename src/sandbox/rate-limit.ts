/** Counts requests in windows of one second. */
export class RateLimit {
  #window = 0;
  #taken = 0;

  /** Seconds to wait when this request is one too many, else 0. */
  take(perSecond: number): number {
    if (perSecond <= 0) return 0;
    const now = performance.now();
    if (now - this.#window >= 1000) {
      this.#window = now;
      this.#taken = 0;
    }
    return ++this.#taken > perSecond ? 1 : 0;
  }
}
