import type { Clock } from '../../context.ts';
import { NotSignedInError, UsageError } from '../../errors.ts';
import { sortByCreation } from '../../sources/creation-order.ts';
import type { Reporter } from '../../terminal/reporter.ts';
import { DAY_MS, durationText } from '../../time/lengths.ts';
import { isPassing } from '../forward.ts';
import { type FoundEvent, oncePerEvent } from '../found-events.ts';
import type { Journal } from '../journal.ts';
import type { Intake } from './intake.ts';

/**
 * Yields the events created between two times, which are milliseconds ago by the service's clock, in any
 * order.
 */
export type FindMissed = (from: number, until: number) => AsyncIterable<FoundEvent>;

/** How far back a listener searches for missed events, and how often. */
export interface RecoveryTimes {
  /** Milliseconds that the searches for missed events look back; absent: there are none. */
  readonly recover?: number | undefined;
  /** Milliseconds from the end of one search to the next. */
  readonly recoverInterval: number;
  /** Milliseconds after which ids are forgotten. */
  readonly keep?: number;
}

/** The delivery of an event this young may still arrive, so the next search looks for it again. */
const SETTLED_MS = 10_000;
/**
 * Found events that a handler which is down did not take are tried again for so long, if the window is
 * shorter.
 */
const TRIED_FOR_MS = DAY_MS;

interface Recovery {
  readonly find: FindMissed;
  readonly intake: Pick<Intake, 'acceptFound'>;
  readonly journal: Journal;
  readonly times: RecoveryTimes;
  readonly clock: Clock;
  readonly reporter: Reporter;
}

/**
 * Recovers missed events at the start and after each interval, until the signal aborts. Never resolves;
 * rejects if there is no sign-in to search with.
 */
export async function keepRecovering(recovery: Recovery, signal: AbortSignal): Promise<never> {
  const { times, clock, reporter } = recovery;
  const { recover: window = 0, recoverInterval, keep = Number.POSITIVE_INFINITY } = times;
  const again = durationText(recoverInterval);
  let unrecoveredSince = clock.now() - window;
  for (let isFirst = true; ; isFirst = false) {
    try {
      const began = clock.now();
      // After hours asleep, or of failed searches, the window alone would leave out a part of them. An event
      // that is older than `keep` may be one that the journal has forgotten.
      const lookBack = Math.min(Math.max(window, began - unrecoveredSince), keep);
      const found = recovery.find(lookBack, isFirst ? 0 : SETTLED_MS);
      const result = await handOnMissing(found, recovery, signal);
      unrecoveredSince = result.mayPass
        ? Math.max(unrecoveredSince, began - TRIED_FOR_MS)
        : began - SETTLED_MS;
      reportRecovered(result, isFirst ? durationText(window) : undefined, again, reporter);
    } catch (error) {
      signal.throwIfAborted();
      if (isFirst && (error instanceof NotSignedInError || error instanceof UsageError)) throw error;
      reporter.warning(`events could not be recovered, again in ${again}: ${(error as Error).message}`);
    }
    await clock.sleep(recoverInterval, signal);
  }
}

/** The result of one search for missed events. */
interface Recovered {
  readonly recovered: number;
  /** Found events that the handler did not take. */
  readonly left: number;
  /** True if one of these may be taken when it is tried again. */
  readonly mayPass: boolean;
}

/**
 * Hands on the events that the journal lacks, one at a time, so that the handler gets them in order of
 * creation.
 */
async function handOnMissing(
  found: AsyncIterable<FoundEvent>,
  { intake, journal }: Recovery,
  signal: AbortSignal,
): Promise<Recovered> {
  const missing: FoundEvent[] = [];
  for await (const event of found) if (event.key && !journal.has(event.key)) missing.push(event);
  let recovered = 0;
  let left = 0;
  let mayPass = false;
  for (const { body } of sortByCreation(oncePerEvent(missing), 'oldest first')) {
    signal.throwIfAborted();
    const { outcome, answer, error } = await intake.acceptFound(body);
    if (outcome === 'accepted') recovered++;
    if (outcome !== 'refused') continue;
    left++;
    if (error || !answer || isPassing(answer)) mayPass = true;
  }
  return { recovered, left, mayPass };
}

/**
 * Says what came of a search: of the first one always, whose window is given, of a later one if it found any.
 */
function reportRecovered(
  { recovered, left }: Recovered,
  firstWindow: string | undefined,
  again: string,
  reporter: Reporter,
): void {
  const events = `${recovered} ${recovered === 1 ? 'event' : 'events'}`;
  if (firstWindow !== undefined) reporter.notice(`recovered ${events} of the last ${firstWindow}`);
  else if (recovered > 0) reporter.warning(`recovered ${events} whose delivery never came or was refused`);
  if (left === 0) return;
  const found = left === 1 ? '1 found event was' : `${left} found events were`;
  const text = `${found} not accepted, and ${left === 1 ? 'is' : 'are'} tried again in ${again}`;
  reporter.warning(text, { kind: 'incomplete' });
}
