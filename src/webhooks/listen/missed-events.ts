import type { Call } from '../../command.ts';
import type { Clock } from '../../context.ts';
import { kindOf, NotSignedInError, UsageError } from '../../errors.ts';
import { EventFilters } from '../../filters/event-filters.ts';
import type { Service } from '../../http/service.ts';
import { sortByCreation } from '../../sources/creation-order.ts';
import type { Reporter } from '../../terminal/reporter.ts';
import { eventsText, grouped } from '../../terminal/terminal-text.ts';
import { compareInstants, type Instant, parseInstant } from '../../time/instant.ts';
import { DAY_MS, durationText } from '../../time/lengths.ts';
import { isPassing } from '../forward.ts';
import { type FoundEvent, type HandOver, oncePerEvent, searchToForward } from '../found-events.ts';
import type { Acceptance, Journal } from '../journal.ts';
import type { Intake } from './intake.ts';

/**
 * Finds the events created between two times, in any order. The times are milliseconds ago by the service's
 * clock.
 */
type FindMissed = (from: number, until: number) => Promise<AsyncIterable<FoundEvent>>;

export function createFindMissed(
  service: Service,
  subscription: string | undefined,
  handOver: HandOver,
  { context, reporter, settings: { marketplaces = [] } }: Call,
): FindMissed {
  // Each search would print progress and repeat its warnings among the lines of deliveries.
  const silent = { ...reporter, quiet: true, warning: reporter.trace };
  const values = { subscriptionId: subscription === undefined ? [] : [subscription] };
  return async (from, until) => {
    const before = until === 0 ? {} : { before: ago(until) };
    const filters = new EventFilters({ after: ago(from), ...before, values, marketplaces });
    const call = { context, reporter: silent };
    return (await searchToForward(filters, service, call, handOver)).events;
  };
}

function ago(milliseconds: number) {
  const time = { kind: 'ago', seconds: milliseconds / 1000 } as const;
  return { flag: '--recover', text: durationText(milliseconds), time };
}

export interface RecoveryTimes {
  /** Milliseconds to look back; undefined for no searches. */
  readonly recover?: number | undefined;
  /** Milliseconds from the end of one search to the start of the next. */
  readonly recoverInterval: number;
  /** Milliseconds after which ids are forgotten. */
  readonly keep?: number;
}

/** Milliseconds for which an event may still be on its way, so the next search looks for it again. */
const SETTLED_MS = 10_000;
/** Milliseconds for which found events are retried while the handler is down, if the window is shorter. */
const TRIED_FOR_MS = DAY_MS;

export interface Recovery {
  readonly find: FindMissed;
  readonly intake: Pick<Intake, 'acceptFound'>;
  readonly journal: Journal;
  readonly times: RecoveryTimes;
  /**
   * When a new journal began: earlier events that the service reports as delivered are left alone, since the
   * journal does not know whether they were handled. Undefined: nothing is left alone.
   */
  readonly leftBefore: number | undefined;
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
      // After hours of sleep or of failed searches the window alone would miss events. It must not exceed
      // `keep`: the journal may have forgotten older events.
      const lookBack = Math.min(Math.max(window, began - unrecoveredSince), keep);
      const found = await recovery.find(lookBack, isFirst ? 0 : SETTLED_MS);
      const result = await handOnMissing(found, recovery, signal);
      unrecoveredSince = result.mayPass
        ? Math.max(unrecoveredSince, began - TRIED_FOR_MS)
        : began - SETTLED_MS;
      reportRecovered(result, isFirst ? durationText(window) : undefined, again, reporter);
    } catch (error) {
      signal.throwIfAborted();
      if (isFirst && (error instanceof NotSignedInError || error instanceof UsageError)) throw error;
      reporter.warning(`events could not be recovered, again in ${again}: ${(error as Error).message}`, {
        kind: kindOf(error),
      });
    }
    await clock.sleep(recoverInterval, signal);
  }
}

interface Recovered {
  readonly recovered: number;
  readonly delivered: number;
  readonly leftAlone: number;
  readonly left: number;
  /** True if the handler may take one of the left events on a retry. */
  readonly mayPass: boolean;
}

/** Hands over the events that the journal lacks, one at a time to keep the order of creation. */
async function handOnMissing(
  found: AsyncIterable<FoundEvent>,
  { intake, journal, leftBefore }: Recovery,
  signal: AbortSignal,
): Promise<Recovered> {
  const missing: FoundEvent[] = [];
  for await (const event of found) if (event.key && !journal.has(event.key)) missing.push(event);
  const { due, leftAlone, failed } = dueOf(missing, leftBefore);
  const outcomes: (Acceptance & { readonly isFailed: boolean })[] = [];
  for (const { body, key } of sortByCreation(due, 'oldest first')) {
    signal.throwIfAborted();
    outcomes.push({ ...(await intake.acceptFound(body)), isFailed: failed.has(key) });
  }
  const accepted = outcomes.filter(({ outcome }) => outcome === 'accepted');
  const refused = outcomes.filter(({ outcome }) => outcome === 'refused');
  return {
    recovered: accepted.length,
    delivered: accepted.filter(({ isFailed }) => !isFailed).length,
    leftAlone,
    left: refused.length,
    mayPass: refused.some(({ error, answer }) => error || !answer || isPassing(answer)),
  };
}

/** Returns the missing events to hand over, each once, and the number of those left alone. */
function dueOf(missing: readonly FoundEvent[], leftBefore: number | undefined) {
  // An event counts as delivered only if all its subscriptions got it.
  const failed = new Set(missing.filter(({ isDelivered }) => !isDelivered).map(({ key }) => key));
  const events = oncePerEvent(missing);
  const begin = leftBefore === undefined ? undefined : parseInstant(new Date(leftBefore).toISOString());
  const due = events.filter((event) => failed.has(event.key) || !isBefore(event, begin));
  return { due, leftAlone: events.length - due.length, failed };
}

function isBefore({ createdOn }: FoundEvent, begin: Instant | undefined): boolean {
  return begin !== undefined && (createdOn === undefined || compareInstants(createdOn, begin) < 0);
}

/** Always reports the first search, whose window is given, and later ones if they found events. */
function reportRecovered(
  { recovered, delivered, leftAlone, left }: Recovered,
  firstWindow: string | undefined,
  again: string,
  reporter: Reporter,
): void {
  const events = eventsText(recovered);
  if (firstWindow !== undefined) {
    const known = delivered === 0 ? '' : `; the service calls ${grouped(delivered)} of them delivered`;
    reporter.notice(`recovered ${events} of the last ${firstWindow}${known}`);
    if (leftAlone > 0) reporter.notice(leftAloneText(leftAlone));
  } else if (recovered > 0)
    reporter.warning(`recovered ${events} whose delivery never came or was refused`, { kind: 'incomplete' });
  if (left === 0) return;
  const found = left === 1 ? '1 found event was' : `${grouped(left)} found events were`;
  const text = `${found} not accepted, and ${left === 1 ? 'is' : 'are'} tried again in ${again}`;
  reporter.warning(text, { kind: 'incomplete' });
}

function leftAloneText(count: number): string {
  return `left alone ${eventsText(count)} that the service reports as delivered: the journal is new, so they may have been handled before (--new-journal hands them over too)`;
}
