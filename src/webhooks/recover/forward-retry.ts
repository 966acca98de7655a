import type { Clock } from '../../context.ts';
import { backoffMs, retryAfter } from '../../http/service.ts';
import { answerText, type HandlerAnswer, isPassing, isTaken } from '../forward.ts';
import { type LeftReason, leftFor, reasonOf } from '../left-events.ts';

export interface ForwardRetryOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Milliseconds to keep retrying while the handler accepts nothing. */
  readonly retryFor: number;
  readonly onWait: (reason: string, delay: number) => void;
}

const FIRST_DELAY_MS = 250;
const LONGEST_DELAY_MS = 10_000;
/** Events refused in a row until a handler that answers is given up. */
const MAX_REFUSED = 10;
/** Events in a row without an answer until a handler is given up. */
const MAX_UNANSWERED = 3;

const NOT_TRIED = leftFor('not tried: the handler had already been given up');

/**
 * Retries events for a handler that may be overloaded or down: 5xx, 408, 425, 429 and missing answers, for
 * `retryFor`, with delays that double. An event refused for that long may be the only one, so the next events
 * get one attempt each until one is accepted; after several in a row the handler is given up for good. Each
 * such event halves the time for later ones. Any other answer is final. Resolves to undefined if the event
 * was accepted, otherwise to the reason. Rejects with the signal's reason if it aborts before or between
 * attempts, and with any error thrown by an attempt.
 */
export function createForwardRetry({ clock, signal, retryFor, onWait }: ForwardRetryOptions) {
  let patience = retryFor;
  let refusedInRow = 0;
  let isGivenUp = false;
  /** After a refused event, the next ones get one attempt each. */
  const timeForOne = () => (refusedInRow > 0 ? 0 : patience);
  const noteRefused = ({ status }: HandlerAnswer): void => {
    if (refusedInRow === 0) patience /= 2;
    refusedInRow++;
    // With several attempts in progress, a later answer must not revoke giving up.
    isGivenUp ||= refusedInRow >= (status === undefined ? MAX_UNANSWERED : MAX_REFUSED);
  };
  return async (attempt: () => Promise<HandlerAnswer>): Promise<LeftReason | undefined> => {
    let failingSince: number | undefined;
    let reason = NOT_TRIED;
    for (let tries = 0; ; tries++) {
      signal.throwIfAborted();
      if (isGivenUp) return reason;
      const answer = await attempt();
      if (isTaken(answer)) {
        refusedInRow = 0;
        return undefined;
      }
      reason = reasonOf(answer);
      if (!isPassing(answer)) return reason;
      const now = clock.now();
      failingSince ??= now;
      const left = failingSince + timeForOne() - now;
      if (left <= 0) {
        noteRefused(answer);
        return reason;
      }
      const delay = Math.min(delayAfter(answer, tries, clock), left);
      onWait(answerText(answer), delay);
      await clock.sleep(delay, signal);
    }
  };
}

/**
 * Returns milliseconds until the next attempt: doubled each time, and at least the handler's `Retry-After`.
 */
function delayAfter(answer: HandlerAnswer, tries: number, clock: Clock): number {
  const own = backoffMs(tries, FIRST_DELAY_MS, LONGEST_DELAY_MS, clock);
  return Math.max(own, retryAfter(answer.retryAfter, clock.now()) ?? 0);
}
