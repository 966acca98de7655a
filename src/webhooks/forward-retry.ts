import type { Clock } from '../context.ts';
import { retryAfter } from '../http/retry.ts';
import { answerText, type HandlerAnswer, isTaken } from './forward.ts';

export interface ForwardRetryOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Milliseconds that a handler which takes nothing at all is tried again. */
  readonly retryFor: number;
  /** Called before each wait. */
  readonly onWait: (reason: string, delay: number) => void;
}

/** The reason why the handler did not take the event; undefined if it did. */
export type Reason = string | undefined;

const RETRIED = new Set([408, 425, 429]);
const FIRST_DELAY = 250;
const LONGEST_DELAY = 10_000;
/** The number of times that an event may fail, while others are taken, before it is given up. */
const OWN_FAILURES = 8;

/**
 * Forwards events to a handler that may be overloaded or down: answers of 5xx, 408, 425 and 429, and none at all, are tried
 * again, waiting twice as long each time. While the handler takes nothing, no further event is begun before a wait is over;
 * once it has taken nothing for `retryFor`, it is given up for good. An event that fails again and again while others are
 * taken is given up by itself. Any other answer is final.
 */
export class ForwardRetry {
  readonly #options: ForwardRetryOptions;
  /** When the handler began to take nothing; undefined while it works. */
  #failingSince: number | undefined;
  #taken = 0;
  /** Until when no further event is begun. */
  #quietUntil = 0;
  #givenUp = false;

  constructor(options: ForwardRetryOptions) {
    this.#options = options;
  }

  /**
   * Makes attempts to forward one event until the handler took it or is given up. Rejects with the signal's reason when
   * that aborts before or between attempts, and with what an attempt throws.
   */
  async forward(attempt: () => Promise<HandlerAnswer>): Promise<Reason> {
    const { clock, signal } = this.#options;
    for (let wait = this.#quietUntil - clock.now(); wait > 0; wait = this.#quietUntil - clock.now()) {
      await clock.sleep(wait, signal);
    }
    let own = 0;
    let before = this.#taken;
    for (let tries = 0; ; tries++) {
      signal.throwIfAborted();
      if (this.#givenUp) return 'the handler was given up before';
      const answer = await attempt();
      if (isTaken(answer)) {
        this.#taken++;
        this.#failingSince = undefined;
        this.#quietUntil = 0;
        return undefined;
      }
      // Others were taken since the last attempt: it is this event that fails, and no other has to wait.
      const isAlone = this.#taken > before;
      before = this.#taken;
      if (isAlone) own++;
      const goesOn = isPassing(answer) && own < OWN_FAILURES && (isAlone || this.#hasPatience());
      if (!goesOn) return answerText(answer);
      await clock.sleep(this.#delay(answer, tries, isAlone), signal);
    }
  }

  /** False, and the handler given up, once it has taken nothing for too long. */
  #hasPatience(): boolean {
    const now = this.#options.clock.now();
    this.#failingSince ??= now;
    this.#givenUp = now - this.#failingSince >= this.#options.retryFor;
    return !this.#givenUp;
  }

  /** Milliseconds until the next attempt. Unless only this event fails, no other is begun before. */
  #delay(answer: HandlerAnswer, tries: number, isAlone: boolean): number {
    const { clock, retryFor, onWait } = this.#options;
    const now = clock.now();
    const jitter = 0.5 + Math.random() / 2;
    const own = Math.min(LONGEST_DELAY, FIRST_DELAY * 2 ** tries) * jitter;
    const left = (this.#failingSince ?? now) + retryFor - now;
    const delay = Math.min(Math.max(own, retryAfter(answer.retryAfter, now) ?? 0), left);
    if (!isAlone) this.#quietUntil = Math.max(this.#quietUntil, now + delay);
    onWait(answerText(answer), delay);
    return delay;
  }
}

/** True when another attempt may succeed. */
function isPassing({ status }: HandlerAnswer): boolean {
  return status === undefined || status >= 500 || RETRIED.has(status);
}
