import type { Reporter } from '../../terminal/reporter.ts';

const INTERVAL = 1_000;

/** Warnings that may come a thousand a second: one a second is printed, the latest, with how many there were besides. */
export class ProblemLog {
  readonly #reporter: Pick<Reporter, 'warning'>;
  /** The latest that was not printed. */
  #latest = '';
  #left = 0;
  /** Runs while nothing is printed. */
  #timer: NodeJS.Timeout | undefined;

  constructor(reporter: Pick<Reporter, 'warning'>) {
    this.#reporter = reporter;
  }

  report(text: string): void {
    if (this.#timer) {
      this.#latest = text;
      this.#left++;
    } else {
      this.#print(text);
    }
  }

  /** Prints what is left. */
  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#printLatest();
    clearTimeout(this.#timer);
  }

  #print(text: string): void {
    this.#reporter.warning(text);
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#printLatest();
    }, INTERVAL);
    this.#timer.unref();
  }

  #printLatest(): void {
    if (this.#left === 0) return;
    const more = this.#left === 1 ? '' : ` (and ${this.#left - 1} more since the last warning)`;
    this.#left = 0;
    this.#print(`${this.#latest}${more}`);
  }
}
