import { advise, hooktrail } from '../../advice.ts';
import type { Context } from '../../context.ts';
import { ServiceError, UsageError } from '../../errors.ts';
import type { EventKey } from '../../ids/event-keys.ts';
import { LockedError } from '../../lock/lock.ts';
import { sideBySide } from '../../paging/side-by-side.ts';
import { createHandler, createPace, type Handler, type HandlerAnswer } from '../forward.ts';
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

/** How events reach the handler, until the turn ends. */
interface Way {
  readonly forward: (key: EventKey, body: Buffer) => Promise<Forwarded>;
  /** Held by this process. */
  readonly journal?: Journal;
}

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
  const { clock, signal } = context;
  const handler = createHandler(options.forwardTo, options.forwardTimeout, context);
  const abandoned = new AbortController();
  const abandon = async () => {
    abandoned.abort();
    await handler.close();
  };
  const ended = new AbortController();
  const onAbort = () => void clock.sleep(GRACE_MS, ended.signal).then(abandon, () => undefined);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    await new Forwarding(events, handler, options, context, abandoned.signal).run();
  } finally {
    signal.removeEventListener('abort', onAbort);
    ended.abort();
    await abandon();
  }
}

interface Waiting {
  readonly event: FoundEvent;
  /** Times that a listener had it and did not answer. */
  unanswered: number;
}

class Forwarding {
  readonly #waiting: Waiting[];
  readonly #handler: Handler;
  readonly #options: ForwardOptions;
  readonly #context: Context;
  readonly #abandoned: AbortSignal;
  readonly #retry: ReturnType<typeof createForwardRetry>;
  readonly #pace: () => Promise<void>;

  constructor(
    events: readonly FoundEvent[],
    handler: Handler,
    options: ForwardOptions,
    context: Context,
    abandoned: AbortSignal,
  ) {
    this.#waiting = events.map((event) => ({ event, unanswered: 0 }));
    this.#handler = handler;
    this.#options = options;
    this.#context = context;
    this.#abandoned = abandoned;
    const { clock, signal } = context;
    this.#retry = createForwardRetry({ ...options, clock, signal });
    this.#pace = createPace(options.rate, context);
  }

  async run(): Promise<void> {
    const { clock, signal } = this.#context;
    while (this.#waiting.length > 0) {
      const way = await this.#findWay(this.#options.journal);
      await this.#takeTurn(way).finally(() => way.journal?.close());
      if (way.journal && this.#waiting.length > 0) await clock.sleep(PAUSE_MS, signal);
    }
  }

  async #takeTurn(way: Way): Promise<void> {
    const { clock, signal } = this.#context;
    const { concurrency, onEnd } = this.#options;
    const waiting = this.#waiting;
    let end = way.journal ? clock.now() + TURN_MS : Number.POSITIVE_INFINITY;
    const ofThisTurn = function* () {
      for (let next = waiting.shift(); next; next = clock.now() < end ? waiting.shift() : undefined)
        yield next;
    };
    const forwardNext = async (next: Waiting) => {
      try {
        onEnd(next.event, await this.#forward(way, next.event));
      } catch (error) {
        if (!(error instanceof ListenerGone)) throw error;
        end = clock.now();
        if (++next.unanswered < MAX_UNANSWERED) waiting.unshift(next);
        else onEnd(next.event, { outcome: 'refused', reason: LISTENER_SILENT });
      }
    };
    await sideBySide(ofThisTurn(), forwardNext, () => concurrency, signal);
  }

  async #forward(way: Way, { key, body }: FoundEvent): Promise<Forwarded> {
    if (!key) return { outcome: 'refused', reason: WITHOUT_ID };
    await this.#pace();
    this.#context.signal.throwIfAborted();
    return await way.forward(key, body);
  }

  /**
   * Opens the journal, or finds the listener that holds it. Throws `UsageError` if the listener has another
   * handler, `ServiceError` if neither succeeds in time.
   */
  async #findWay(journal: string | undefined): Promise<Way> {
    if (journal === undefined) return this.#toHandlerAlone();
    const { clock, signal } = this.#context;
    const began = clock.now();
    for (;;) {
      try {
        return this.#byJournal(await openJournal(journal, {}, this.#context));
      } catch (error) {
        if (!(error instanceof LockedError)) throw error;
        const listener = await this.#ask(journal, {}, DESCRIBE_MS);
        if (listener) return this.#byListener(journal, listener);
        if (clock.now() - began >= PATIENCE_MS) throw heldError(error, journal);
      }
      await clock.sleep(ASK_AGAIN_MS, signal);
    }
  }

  #toHandlerAlone(): Way {
    this.#options.warn();
    const forward = async (_key: EventKey, body: Buffer): Promise<Forwarded> => {
      const reason = await this.#hand(body);
      return { outcome: reason === undefined ? 'accepted' : 'refused', reason };
    };
    return { forward };
  }

  #byJournal(journal: Journal): Way {
    this.#options.warn();
    const forward = async (key: EventKey, body: Buffer): Promise<Forwarded> => {
      let reason: LeftReason | undefined;
      try {
        const outcome = await journal.once(key, async () => {
          reason = await this.#hand(body);
          return reason === undefined;
        });
        return { outcome, reason };
      } catch (error) {
        // A full disk may have space for the next event.
        if (!(error instanceof ServiceError) || journal.failed.aborted) throw error;
        return { outcome: 'refused', reason: leftFor(error.message) };
      }
    };
    return { forward, journal };
  }

  #byListener(journal: string, listener: ListenerReply): Way {
    const { forwardTo } = this.#options;
    if (listener.forwardTo !== forwardTo.href) throw otherHandlerError(listener, journal, forwardTo);
    const forward = async (_key: EventKey, body: Buffer): Promise<Forwarded> => {
      const question = { event: body.toString('base64'), forwardTo: forwardTo.href };
      let outcome: Outcome = 'refused';
      const reason = await this.#retry(async () => {
        const reply = await this.#ask(journal, question, listener.forwardTimeout + JOURNALING_MS);
        if (reply?.outcome === undefined) throw new ListenerGone();
        outcome = reply.outcome;
        return outcome === 'refused' ? (reply.answer ?? NOT_JOURNALED) : { status: 200 };
      });
      return { outcome, reason };
    };
    return { forward };
  }

  /** Resolves to undefined if the handler accepted the event, otherwise to the reason. */
  #hand(body: Buffer): Promise<LeftReason | undefined> {
    const outgoing = { body, contentType: 'application/json', apiToken: this.#options.apiToken };
    return this.#retry(() => this.#handler.forward(outgoing));
  }

  async #ask(
    journal: string,
    question: ListenerQuestion,
    milliseconds: number,
  ): Promise<ListenerReply | undefined> {
    const { machine } = this.#context;
    const limits = { milliseconds, signal: this.#abandoned };
    return await askListener(await realJournalPath(journal, machine), machine, question, limits);
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
  return new ServiceError(`${has}, and does not answer this one`, { next: advise`${next}; ${there}` });
}
