import type { Reporter } from '../output/reporter.ts';

const INTERVAL = 1_000;

/** Warnings that may come a thousand a second: one a second is printed, with how many there were in between. */
export class ProblemLog {
  readonly #reporter: Pick<Reporter, 'warning'>;
  #printedAt = Number.NEGATIVE_INFINITY;
  #left = 0;

  constructor(reporter: Pick<Reporter, 'warning'>) {
    this.#reporter = reporter;
  }

  report(text: string): void {
    const now = performance.now();
    if (now - this.#printedAt < INTERVAL) {
      this.#left++;
      return;
    }
    const more = this.#left === 0 ? '' : ` (and ${this.#left} more since the last warning)`;
    this.#reporter.warning(`${text}${more}`);
    this.#printedAt = now;
    this.#left = 0;
  }
}
