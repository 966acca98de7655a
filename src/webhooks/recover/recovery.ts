import type { Reporter } from '../../terminal/reporter.ts';
import { JournalError } from '../journal/error.ts';
import type { Journal } from '../journal/journal.ts';
import { shownId } from '../shown-id.ts';
import type { FoundEvent } from './found-events.ts';
import type { HandOver } from './hand-over.ts';

export interface Recovered {
  /** Events that the handler took. */
  handed: number;
  /** Events that the journal held, or came to hold meanwhile. */
  known: number;
  /** How many were not handed over, by why. */
  readonly reasons: Map<string, number>;
}

export interface RecoveryParts {
  readonly events: AsyncIterator<FoundEvent>;
  readonly journal: Pick<Journal, 'once'>;
  readonly handOver: Pick<HandOver, 'hand'>;
  readonly apiToken: string | undefined;
  /** Events handed over at the same time. */
  readonly concurrency: number;
  readonly result: Recovered;
  readonly reporter: Pick<Reporter, 'trace'>;
  /** Told of each event that was not handed over. */
  readonly onLeft: (event: FoundEvent) => void;
}

/**
 * Hands over what the journal does not hold, each event once whatever else has the journal open. What is handed over is the
 * search's item as it came. Rejects when the search fails, when the journal can no longer be used, and on a signal; what is
 * under way then still ends first.
 */
export async function recover(parts: RecoveryParts): Promise<void> {
  const { events, concurrency } = parts;
  let failure: { error: unknown } | undefined;
  const work = async () => {
    while (!failure) {
      try {
        const { done, value } = await events.next();
        if (done) return;
        await recoverOne(value, parts);
      } catch (error) {
        failure ??= { error };
      }
    }
  };
  await Promise.all(Array.from({ length: concurrency }, work));
  if (!failure) return;
  await events.return?.();
  throw failure.error;
}

async function recoverOne(event: FoundEvent, parts: RecoveryParts): Promise<void> {
  const { journal, handOver, apiToken, result, reporter } = parts;
  const left = (reason: string) => {
    result.reasons.set(reason, (result.reasons.get(reason) ?? 0) + 1);
    const { eventId } = event;
    reporter.trace(`${eventId === undefined ? 'an event without an eventId' : shownId(eventId)}: ${reason}`);
    parts.onLeft(event);
  };
  const { body, key } = event;
  if (key === undefined) return left("without an 'eventId' it cannot be told whether the handler has it");
  let reason: string | undefined;
  try {
    const outcome = await journal.once(key, async () => {
      reason = await handOver.hand({ body, contentType: 'application/json', apiToken });
      return reason === undefined;
    });
    if (outcome === 'accepted') result.handed++;
    else if (outcome === 'duplicate') result.known++;
    else left(reason ?? 'the handler did not take it');
  } catch (error) {
    if (!(error instanceof JournalError) || error.isFatal) throw error;
    left(error.message);
  }
}
