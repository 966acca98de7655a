import { advise, hooktrail } from '../../advice.ts';
import type { Context } from '../../context.ts';
import { ServiceError, UsageError } from '../../errors.ts';
import type { EventKey } from '../../ids/event-keys.ts';
import { LockedError } from '../../lock/lock.ts';
import { sideBySide } from '../../paging/side-by-side.ts';
import { createHandler, createPace, type HandlerAnswer } from '../forward.ts';
import type { FoundEvent } from '../found-events.ts';
import { type Journal, type Outcome, openJournal, realJournalPath } from '../journal.ts';
import { type LeftReason, leftFor } from '../left-events.ts';
import { askListener, type ListenerQuestion, type ListenerReply } from '../local-socket.ts';
import { createForwardRetry, type ForwardRetryOptions } from './forward-retry.ts';

export interface Forwarded {
  readonly outcome: Outcome;
  readonly reason?: LeftReason | undefined;
}

export interface ForwardOptions extends Pick<ForwardRetryOptions, 'retryFor' | 'onWait'> {
  /** Undefined to send the events only to the handler. */
  readonly journal: string | undefined;
  readonly forwardTo: URL;
  /** Milliseconds without progress until an attempt counts as failed. */
  readonly forwardTimeout: number;
  readonly concurrency: number;
  readonly rate?: number;
  readonly apiToken: string | undefined;
  readonly warn: () => void;
  readonly onEnd: (event: FoundEvent, forwarded: Forwarded) => void;
}

const WITHOUT_ID = leftFor("without an 'eventId' there is no way to know whether the handler has it");
const LISTENER_SILENT = leftFor('the listener did not answer');

/** The journal, held by this process for a turn; the listener that holds it; or only the handler. */
type Way = { readonly journal: Journal } | { readonly listener: ListenerReply } | 'handler alone';

type Ask = (question: ListenerQuestion, milliseconds: number) => Promise<ListenerReply | undefined>;

/** Milliseconds that work in progress gets after a signal. */
const GRACE_MS = 10_000;
/** Milliseconds after which this process releases the journal for others, and for how long. */
const TURN_MS = 5_000;
const PAUSE_MS = 200;
/** Milliseconds that a listener gets in addition to its handler's time, to print and journal the event. */
const JOURNALING_MS = 15_000;
/** Times that an event is sent to listeners that end or do not answer. */
const MAX_UNANSWERED = 5;

/** The listener ended, or did not answer in time: find another way. */
class ListenerGone extends Error {}

/**
 * Forwards events that must reach the handler once. While a listener holds the journal, it gets the events
 * and treats them as deliveries; otherwise this process takes the journal and forwards them. It releases the
 * journal for a moment every few seconds, so that a waiting listener can start before a long recovery ends.
 * Throws if the journal cannot be opened or used.
 */
export async function forwardOnce(
  events: readonly FoundEvent[],
  options: ForwardOptions,
  context: Context,
): Promise<void> {
  const { journal: file, forwardTo, forwardTimeout, apiToken, onEnd } = options;
  const { clock, signal, machine } = context;
  const handler = createHandler(forwardTo, forwardTimeout, context);
  const retry = createForwardRetry({ ...options, clock, signal });
  const abandoned = new AbortController();
  const askOver = (journal: string): Ask => {
    return async (question, milliseconds) => {
      const limits = { milliseconds, signal: abandoned.signal };
      return askListener(await realJournalPath(journal, machine), machine, question, limits);
    };
  };
  const ask = file === undefined ? undefined : askOver(file);
  const turn = createPace(options.rate, context);
  const forward = async (way: Way, key: EventKey, body: Buffer): Promise<Forwarded> => {
    let outcome: Outcome = 'refused';
    let reason: LeftReason | undefined;
    const hand = async () => {
      reason = await retry(() => handler.forward({ body, contentType: 'application/json', apiToken }));
      return reason === undefined;
    };
    if (way === 'handler alone') return { outcome: (await hand()) ? 'accepted' : 'refused', reason };
    if ('journal' in way) {
      outcome = await way.journal.once(key, hand);
      return { outcome, reason };
    }
    const question = { event: body.toString('base64'), forwardTo: forwardTo.href };
    reason = await retry(async () => {
      const reply = await ask?.(question, way.listener.forwardTimeout + JOURNALING_MS);
      if (reply?.outcome === undefined) throw new ListenerGone();
      outcome = reply.outcome;
      return outcome === 'refused' ? (reply.answer ?? NOT_JOURNALED) : { status: 200 };
    });
    return { outcome, reason };
  };
  const forwardOrLeave = async (way: Way, { key, body }: FoundEvent): Promise<Forwarded> => {
    if (!key) return { outcome: 'refused', reason: WITHOUT_ID };
    await turn();
    signal.throwIfAborted();
    try {
      return await forward(way, key, body);
    } catch (error) {
      const journal = typeof way === 'object' && 'journal' in way ? way.journal : undefined;
      // A full disk may have space for the next event.
      if (error instanceof ServiceError && journal && !journal.failed.aborted)
        return { outcome: 'refused', reason: leftFor(error.message) };
      throw error;
    }
  };
  const waiting = events.map((event) => ({ event, unanswered: 0 }));
  const takeTurn = async (way: Way) => {
    let end = typeof way === 'object' && 'journal' in way ? clock.now() + TURN_MS : Number.POSITIVE_INFINITY;
    const ofThisTurn = function* () {
      for (let next = waiting.shift(); next; next = clock.now() < end ? waiting.shift() : undefined)
        yield next;
    };
    const forwardNext = async (next: (typeof waiting)[number]) => {
      try {
        onEnd(next.event, await forwardOrLeave(way, next.event));
      } catch (error) {
        if (!(error instanceof ListenerGone)) throw error;
        end = clock.now();
        if (++next.unanswered < MAX_UNANSWERED) waiting.unshift(next);
        else onEnd(next.event, { outcome: 'refused', reason: LISTENER_SILENT });
      }
    };
    await sideBySide(ofThisTurn(), forwardNext, () => options.concurrency, signal);
  };
  const abandon = async () => {
    abandoned.abort();
    await handler.close();
  };
  const ended = new AbortController();
  const onAbort = () => void clock.sleep(GRACE_MS, ended.signal).then(abandon, () => undefined);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    while (waiting.length > 0) {
      const way =
        file === undefined || !ask
          ? ('handler alone' as const)
          : await findWay({ journal: file, forwardTo }, ask, context);
      if (way !== 'handler alone' && 'listener' in way) {
        await takeTurn(way);
        continue;
      }
      options.warn();
      if (way === 'handler alone') await takeTurn(way);
      else {
        await takeTurn(way).finally(() => way.journal.close());
        if (waiting.length > 0) await clock.sleep(PAUSE_MS, signal);
      }
    }
  } finally {
    signal.removeEventListener('abort', onAbort);
    ended.abort();
    await abandon();
  }
}

/** Stands in for an answer if the listener could not journal the event. */
const NOT_JOURNALED: HandlerAnswer = { failure: 'the listener could not accept the event' };

/**
 * Milliseconds to wait for the journal while its holder does not answer: a listener may be starting, or a
 * recovery running.
 */
const PATIENCE_MS = 15_000;
const ASK_AGAIN_MS = 50;
/** Milliseconds that a listener has to describe itself. */
const DESCRIBE_MS = 5_000;

/**
 * Opens the journal, or finds the listener that holds it. Throws `UsageError` if the listener has another
 * handler, `ServiceError` if neither succeeds in time.
 */
async function findWay(
  { journal, forwardTo }: { readonly journal: string; readonly forwardTo: URL },
  ask: Ask,
  context: Context,
): Promise<Exclude<Way, string>> {
  const { clock, signal } = context;
  const began = clock.now();
  for (;;) {
    try {
      return { journal: await openJournal(journal, {}, context) };
    } catch (error) {
      if (!(error instanceof LockedError)) throw error;
      const listener = await ask({}, DESCRIBE_MS);
      if (listener?.forwardTo === forwardTo.href) return { listener };
      if (listener) throw otherHandlerError(listener, journal, forwardTo);
      if (clock.now() - began >= PATIENCE_MS) throw heldError(error, journal);
    }
    await clock.sleep(ASK_AGAIN_MS, signal);
  }
}

function otherHandlerError({ forwardTo: other }: ListenerReply, journal: string, forwardTo: URL): UsageError {
  const goesTo = other === null ? 'forwards to no handler' : `forwards to ${other}`;
  return new UsageError(
    `--forward-to: a running \`webhooks listen\` has the journal ${journal} and ${goesTo}, not to ${forwardTo.href}`,
    { next: 'name the same handler, stop the listener, or choose another journal' },
  );
}

function heldError({ holder, next }: LockedError, journal: string): ServiceError {
  const name = holder === undefined ? '' : ` (${holder})`;
  const has = `another hooktrail process${name} has the journal ${journal}`;
  const there = advise`in another container, or of another user, it recovers with ${hooktrail('webhooks listen --recover')}`;
  return new ServiceError(`${has}, and does not answer this one`, {
    next: next === undefined ? there : advise`${next}; ${there}`,
  });
}
