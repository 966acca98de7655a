import type { Advice } from '../../advice.ts';
import type { Clock } from '../../context.ts';
import type { Reporter } from '../../terminal/reporter.ts';
import { grouped } from '../../terminal/terminal-text.ts';

const INTERVAL_MS = 1_000;

interface Warning {
  readonly text: string;
  readonly next: Advice | undefined;
}

/** Rate-limits warnings: the first N each second, then only the latest, with a count of those skipped. */
export class LimitedWarnings {
  readonly #most: number;
  readonly #reporter: Reporter;
  readonly #clock: Clock;
  readonly #closed = new AbortController();
  /** Warnings in the current second, which begins with the first. */
  #count = 0;
  #latest: Warning | undefined;

  constructor(most: number, reporter: Reporter, clock: Clock) {
    this.#most = most;
    this.#reporter = reporter;
    this.#clock = clock;
  }

  report(text: string, next?: Advice): void {
    if (this.#count === 0) this.#beginSecond();
    this.#count++;
    if (this.#count <= this.#most) this.#reporter.warning(text, { kind: 'incomplete', next });
    else this.#latest = { text, next };
  }

  close(): void {
    this.#closed.abort();
    this.#endSecond();
  }

  #beginSecond(): void {
    this.#clock.sleep(INTERVAL_MS, this.#closed.signal).then(
      () => this.#endSecond(),
      () => undefined,
    );
  }

  #endSecond(): void {
    const waiting = this.#latest;
    const others = this.#count - this.#most - 1;
    this.#count = 0;
    this.#latest = undefined;
    if (!waiting) return;
    const more = others === 0 ? '' : ` (and ${grouped(others)} more since the last warning)`;
    this.report(`${waiting.text}${more}`, waiting.next);
  }
}
