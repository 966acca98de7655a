import type { Call } from '../command.ts';
import type { Context } from '../context.ts';
import { ServiceError, UsageError } from '../errors.ts';
import type { EventFilters } from '../events/event-filters.ts';
import { resolveTypes } from '../events/event-types.ts';
import { type Service, waitText } from '../http/service.ts';
import { LockedError } from '../lock/lock.ts';
import type { FormatOptions } from '../output/format-flags.ts';
import type { SettingFlags } from '../settings/settings.ts';
import { withService } from '../sign-in/session.ts';
import { startProgress } from '../terminal/progress.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { apiTokenOrWarning } from './api-token.ts';
import type { EventKey } from './delivery.ts';
import {
  createHandler,
  ForwardRetry,
  type Handler,
  type HandlerAnswer,
  type OutgoingEvent,
} from './forward.ts';
import {
  eventPrinter,
  type FoundEvent,
  inOrderOfCreation,
  inParallel,
  LeftEvents,
  searchToForward,
} from './found-events.ts';
import {
  defaultJournal,
  type Journal,
  JournalFullError,
  type Outcome,
  openJournal,
  readIds,
  realJournalPath,
} from './journal.ts';
import { askListener, type ListenerReply } from './local-socket.ts';

/** The command line. */
export interface RecoverFlags {
  readonly filters: EventFilters;
  readonly format: FormatOptions;
  /** Absent for the profile's own. */
  readonly journal?: string;
  /** True if a journal that is not there counts as empty. */
  readonly newJournal?: true;
  /** Undefined if the events are only listed. */
  readonly forwardTo?: URL | undefined;
  /** Milliseconds without progress until an attempt counts as failed. */
  readonly forwardTimeout: number;
  readonly concurrency: number;
  /** Milliseconds for which a handler that accepts nothing is tried again. */
  readonly retryFor: number;
}

/** Recovers with the journal, the sign-in and the `Api-Token` of the profile. */
export async function recoverAsProfile(flags: RecoverFlags, call: Call<SettingFlags>): Promise<void> {
  const { context, reporter } = call;
  const { forwardTo } = flags;
  await withService(call, async (service, settings) => {
    const journal = flags.journal ?? defaultJournal(settings.profile, context);
    const ids = await readIds(journal, context.machine);
    if (ids === undefined && !flags.newJournal) throw noJournal(flags.journal, settings.profile);
    const filters = await resolveTypes(flags.filters, service, settings, context);
    const apiToken = forwardTo && (await apiTokenOrWarning(settings, context, reporter));
    const found = await findMissing(ids, filters, service, call);
    if (forwardTo === undefined) await listMissing(found, flags.format, call);
    else await recoverMissing(found, { ...flags, journal, forwardTo }, apiToken, call);
  });
}

/** Without a journal every event would be forwarded again, so the user has to confirm that. */
function noJournal(journal: string | undefined, profile: string): UsageError {
  const next = 'name the journal that `hooktrail webhooks listen` wrote; --new-journal recovers everything';
  if (journal !== undefined) return new UsageError(`--journal: there is no journal ${journal}`, { next });
  return new UsageError(`--journal is missing, and the profile '${profile}' has no journal yet`, { next });
}

interface Missing {
  /** In order of creation. */
  readonly missing: readonly FoundEvent[];
  /** The number of found events that are in the journal. */
  readonly known: number;
  /** The error that ended the search; the events found before it are still used. */
  readonly failure: { readonly error: unknown } | undefined;
}

async function findMissing(
  ids: ReadonlyMap<EventKey, number> | undefined,
  filters: EventFilters,
  service: Service,
  { context, reporter }: Call,
): Promise<Missing> {
  const missing: FoundEvent[] = [];
  let known = 0;
  let failure: Missing['failure'];
  try {
    for await (const event of searchToForward(filters, service, context, reporter, 'comparing')) {
      if (event.key && ids?.has(event.key)) known++;
      else missing.push(event);
    }
  } catch (error) {
    context.signal.throwIfAborted();
    failure = { error };
  }
  return { missing: inOrderOfCreation(missing), known, failure };
}

/** Prints the events that the journal lacks. Changes nothing and sends nothing. */
async function listMissing(
  { missing, known, failure }: Missing,
  format: FormatOptions,
  call: Call,
): Promise<void> {
  const print = await eventPrinter(format, call);
  await print(missing);
  if (failure) throw failure.error;
  call.reporter.notice(`${missing.length} to forward; ${known} in the journal already`);
  noticeDelivered(missing.filter(({ isDelivered }) => isDelivered).length, call.reporter);
}

/** Milliseconds that work in progress gets after a signal. */
const GRACE_MS = 10_000;

/**
 * Forwards the events that the journal lacks, oldest first, then prints those that the handler did not accept and a
 * summary. Throws `ServiceError` if there are any.
 */
async function recoverMissing(
  found: Missing,
  flags: RecoverFlags & { readonly journal: string; readonly forwardTo: URL },
  apiToken: string | undefined,
  call: Call,
): Promise<void> {
  const { failure } = found;
  if (failure && found.missing.length + found.known === 0) throw failure.error;
  const { context, reporter } = call;
  const { clock, signal } = context;
  const print = await eventPrinter(flags.format, call);
  const progress = startProgress(context, reporter, 'recovering');
  const onWait = (reason: string, delay: number) => progress.update({ note: waitText({ reason, delay }) });
  const retry = new ForwardRetry({ clock, signal, retryFor: flags.retryFor, onWait });
  const forwarder = new OnceForwarder({ ...flags, retry, context });
  const left = new LeftEvents();
  let forwarded = 0;
  let delivered = 0;
  let { known } = found;
  const recover = async (event: FoundEvent) => {
    const { outcome, reason = 'the handler did not accept it' } = await forwardOnce(event);
    if (outcome === 'refused') left.add(event, reason, reporter);
    else if (outcome === 'duplicate') known++;
    else {
      forwarded++;
      if (event.isDelivered) delivered++;
    }
    progress.update({ events: forwarded + known + left.events.length, note: `${forwarded} forwarded` });
  };
  const forwardOnce = async ({ key, body }: FoundEvent): Promise<Forwarded> => {
    if (key === undefined) return { outcome: 'refused', reason: WITHOUT_ID };
    try {
      return await forwarder.forward(key, { body, contentType: 'application/json', apiToken });
    } catch (error) {
      if (!(error instanceof JournalFullError)) throw error;
      return { outcome: 'refused', reason: error.message };
    }
  };
  const ended = new AbortController();
  const onAbort = () => {
    clock.sleep(GRACE_MS, ended.signal).then(
      () => forwarder.abandon(),
      () => undefined,
    );
  };
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    await inParallel(found.missing, flags.concurrency, recover);
  } finally {
    signal.removeEventListener('abort', onAbort);
    ended.abort();
    progress.stop();
    await print(left.events).catch(() => undefined);
    await forwarder.close();
    const rest = `${left.events.length} left${failure ? ' of those found' : ''}`;
    reporter.notice(`${forwarded} forwarded; ${known} in the journal already; ${rest}`);
    noticeDelivered(delivered, reporter);
  }
  if (failure) throw failure.error;
  if (left.events.length > 0) throw left.error('recovered', 'run the same command again to retry them');
}

const WITHOUT_ID = "without an 'eventId' there is no way to know whether the handler has it";

/** An event that the journal lacks may have been delivered before the journal began, or to another handler. */
function noticeDelivered(count: number, reporter: Reporter): void {
  if (count === 0) return;
  reporter.notice(
    `${count} of these ${count === 1 ? 'was' : 'were'} delivered before, by the service's own word; --failed leaves such events out`,
  );
}

interface ForwarderOptions {
  /** The journal's file. */
  readonly journal: string;
  readonly forwardTo: URL;
  readonly forwardTimeout: number;
  readonly retry: ForwardRetry;
  readonly context: Context;
}

interface Forwarded {
  readonly outcome: Outcome;
  /** Why the handler did not take the event. */
  readonly reason?: string | undefined;
}

/** The journal, which this process has until its turn is over, or the listener that has it. */
type Way = { readonly journal: Journal; readonly until: number } | { readonly listener: ListenerReply };

/** Milliseconds to wait for the journal while its holder does not answer: a listener may be starting, a recovery at work. */
const PATIENCE_MS = 15_000;
const ASK_AGAIN_MS = 50;
/** Milliseconds after which this process lets others have the journal, and for how long. */
const TURN_MS = 5_000;
const PAUSE_MS = 200;
/** Milliseconds that a listener has to describe itself. */
const DESCRIBE_MS = 5_000;
/** Milliseconds that a listener has beyond the time of its handler, to write its line and its journal. */
const JOURNALING_MS = 15_000;
/** The number of times that one event is sent to listeners that end, or do not answer. */
const MOST_UNANSWERED = 5;

/**
 * Forwards events that must reach the handler once. While a listener has the journal, it gets the events and treats
 * them as deliveries; otherwise they go through the journal to the handler. Every few seconds the journal is free for a
 * moment, so that a listener which waits for it need not wait for the end of a long recovery.
 */
class OnceForwarder {
  readonly #options: ForwarderOptions;
  readonly #handler: Handler;
  readonly #abandoned = new AbortController();
  #way: Promise<Way> | undefined;

  constructor(options: ForwarderOptions) {
    this.#options = options;
    this.#handler = createHandler(options.forwardTo, options.forwardTimeout, options.context);
  }

  /** Forwards an event unless that was done before. Rejects if the journal cannot be opened or used. */
  async forward(key: EventKey, event: OutgoingEvent): Promise<Forwarded> {
    const { clock, signal } = this.#options.context;
    for (let unanswered = 0; unanswered < MOST_UNANSWERED; ) {
      this.#way ??= this.#find();
      const current = this.#way;
      const way = await current;
      // Another event may have found another way meanwhile.
      if (this.#way !== current) continue;
      if ('journal' in way) {
        if (clock.now() < way.until) return await this.#throughJournal(way.journal, key, event);
        this.#way = way.journal
          .close()
          .then(() => clock.sleep(PAUSE_MS, signal))
          .then(() => this.#find());
        continue;
      }
      const result = await this.#throughListener(way.listener, event);
      if (result) return result;
      unanswered++;
      if (this.#way === current) this.#way = undefined;
    }
    return { outcome: 'refused', reason: 'the listener did not answer' };
  }

  /** Ends every attempt in progress. */
  async abandon(): Promise<void> {
    this.#abandoned.abort();
    await this.#handler.close();
  }

  async close(): Promise<void> {
    await this.abandon();
    const way = await this.#way?.catch(() => undefined);
    if (way && 'journal' in way) await way.journal.close();
  }

  async #throughJournal(journal: Journal, key: EventKey, event: OutgoingEvent): Promise<Forwarded> {
    let reason: string | undefined;
    const outcome = await journal.once(key, async () => {
      reason = await this.#options.retry.forward(() => this.#handler.forward(event));
      return reason === undefined;
    });
    return { outcome, reason };
  }

  /** Resolves to undefined if the listener is no longer there. */
  async #throughListener(listener: ListenerReply, { body }: OutgoingEvent): Promise<Forwarded | undefined> {
    const question = { event: Buffer.from(body).toString('base64'), forwardTo: this.#options.forwardTo.href };
    let outcome: Outcome | undefined;
    const reason = await this.#options.retry.forward(async (): Promise<HandlerAnswer> => {
      const reply = await this.#ask(question, listener.forwardTimeout + JOURNALING_MS);
      outcome = reply?.outcome;
      return outcome === 'refused' ? (reply?.answer ?? NOT_JOURNALED) : { status: 200 };
    });
    return outcome && { outcome, reason };
  }

  /** Opens the journal, or finds the listener that has it. Throws `ServiceError` if neither succeeds in time. */
  async #find(): Promise<Way> {
    const { clock, signal } = this.#options.context;
    const began = clock.now();
    for (;;) {
      try {
        const journal = await openJournal(this.#options.journal, {}, this.#options.context);
        return { journal, until: clock.now() + TURN_MS };
      } catch (error) {
        if (!(error instanceof LockedError)) throw error;
        const listener = await this.#ask({}, DESCRIBE_MS);
        if (listener) return this.#through(listener);
        if (clock.now() - began >= PATIENCE_MS) throw this.#held(error);
      }
      await clock.sleep(ASK_AGAIN_MS, signal);
    }
  }

  async #ask(
    question: { event?: string; forwardTo?: string },
    milliseconds: number,
  ): Promise<ListenerReply | undefined> {
    const { machine } = this.#options.context;
    const journal = realJournalPath(this.#options.journal, machine);
    return await askListener(journal, machine, question, { milliseconds, signal: this.#abandoned.signal });
  }

  /** Throws `UsageError` if the listener has another handler. */
  #through(listener: ListenerReply): Way {
    const { forwardTo, journal } = this.#options;
    const other = listener.forwardTo;
    if (other === forwardTo.href) return { listener };
    const goesTo = other === null ? 'forwards to no handler' : `forwards to ${other}`;
    throw new UsageError(
      `--forward-to: a running \`webhooks listen\` has the journal ${journal} and ${goesTo}, not to ${forwardTo.href}`,
      { next: 'name the same handler, stop the listener, or choose another journal' },
    );
  }

  #held({ holder, next }: LockedError): ServiceError {
    const name = holder === undefined ? '' : ` (${holder})`;
    const has = `another hooktrail process${name} has the journal ${this.#options.journal}`;
    const there =
      'in another container, or of another user, it recovers with `hooktrail webhooks listen --recover`';
    return new ServiceError(`${has}, and does not answer this one`, { next: `${next}; ${there}` });
  }
}

/** The answer for an event that the listener could not journal. */
const NOT_JOURNALED: HandlerAnswer = { failure: 'the listener could not accept the event' };
