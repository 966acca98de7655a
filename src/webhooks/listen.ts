import { type Call, untilStopped } from '../command.ts';
import type { Context } from '../context.ts';
import { ClosedPipeError, InterruptedError, NotSignedInError, UsageError } from '../errors.ts';
import { EventFilters } from '../events/event-filters.ts';
import { isGuid } from '../json/guid.ts';
import type { LockedError } from '../lock/lock.ts';
import { shellWord } from '../settings/command-words.ts';
import { durationText } from '../settings/flag-values.ts';
import { loadSettings, type SettingFlags } from '../settings/settings.ts';
import { withService } from '../sign-in/session.ts';
import { paletteOf } from '../terminal/palette.ts';
import type { Reporter } from '../terminal/reporter.ts';
import type { TimeZone } from '../time/time-zone.ts';
import { requireApiToken, saveApiToken } from './api-token.ts';
import { type Delivery, readDelivery, shownId } from './delivery.ts';
import { DeliveryLog, ProblemLog, summaryText } from './delivery-log.ts';
import { answerLine, createHandler, type Handler, type HandlerAnswer, isTaken } from './forward.ts';
import { defaultJournal, type Journal, type Outcome, openJournal } from './journal.ts';
import { answerAsHolder, askForJournal, type HolderReply, type HolderSocket } from './local-socket.ts';
import { type Accepted, type Receiver, type Refused, startReceiver } from './receiver.ts';
import { type FoundEvent, inOrderOfCreation, searchEvents } from './recover.ts';

/** The command line. */
export interface ListenFlags {
  readonly host: string;
  readonly port: number;
  readonly path: string;
  /** Undefined if deliveries are only printed. */
  readonly forwardTo: URL | undefined;
  /** Milliseconds without progress until the handler counts as failed. */
  readonly forwardTimeout: number;
  /** Undefined for the profile's own. */
  readonly journal: string | undefined;
  /** Milliseconds after which ids are forgotten. */
  readonly keep: number | undefined;
  /** Bytes. */
  readonly maxBody: number;
  readonly savesToken: boolean;
  /** Milliseconds a sender has for a whole delivery. */
  readonly requestTimeout: number;
  /** The path that answers with the health report. */
  readonly health: string | undefined;
  /** Milliseconds that the searches for missed events look back, and from the end of one to the next. */
  readonly recovery: { readonly window: number; readonly interval: number } | undefined;
  /** The zone for times on a terminal. */
  readonly zone: TimeZone;
}

interface ListenOptions extends ListenFlags {
  /** The expected `Api-Token`. */
  readonly token: string;
  readonly journal: string;
  /** Yields the events created between two times, which are milliseconds ago by the service's clock, in any order. */
  readonly find?: (from: number, until: number) => AsyncIterable<FoundEvent>;
}

/** Listens with the token and the journal of the profile, and with its sign-in if missed events are to be recovered. */
export async function listenAsProfile(flags: ListenFlags, call: Call<SettingFlags>): Promise<void> {
  const { context, reporter } = call;
  const { savesToken, recovery } = flags;
  const settings = await loadSettings(call.flags.profile ? { profile: call.flags.profile } : {}, context);
  const token = await requireApiToken(settings, context, savesToken);
  if (savesToken) {
    reporter.notice(`the Api-Token is saved in ${await saveApiToken(token, settings, context)}`);
  }
  const journal = flags.journal ?? defaultJournal(settings.profile, context);
  const options = { ...flags, token, journal };
  if (!recovery) return await listen(options, context, reporter);
  await withService(call, async (service) => {
    const find = (from: number, until: number) => {
      const within = { after: ago(from), ...(until === 0 ? {} : { before: ago(until) }) };
      const filters = new EventFilters(within);
      return searchEvents(filters, service, context, SILENT, reporter.trace);
    };
    await listen({ ...options, find }, context, reporter);
  });
}

const SILENT = { update: () => {} };

/** A time so many milliseconds ago, for a search. */
function ago(milliseconds: number) {
  const time = { kind: 'ago', seconds: milliseconds / 1000 } as const;
  return { flag: '--recover', text: durationText(milliseconds), time };
}

/** The delivery of an event this young may still arrive, so the next search looks for it again. */
const SETTLED_MS = 10_000;

/**
 * When the program is stopped, deliveries in progress get this many milliseconds to finish, and then as many to be
 * refused.
 */
const GRACE_MS = 10_000;
const FAREWELL_MS = 1_000;
/** If stopping takes longer than this, a message says why. */
const SILENT_STOP_MS = 1_000;

/** Receives deliveries until the context's signal aborts, then rejects with its reason. */
async function listen(options: ListenOptions, context: Context, reporter: Reporter): Promise<void> {
  const { stdout, clock, signal } = context;
  const journal = await openListenersJournal(options, context, reporter);
  // Count the ids before the first delivery of this run adds one.
  const known = `${journal.size} known ${journal.size === 1 ? 'id' : 'ids'} in ${journal.path}`;
  const { forwardTo, forwardTimeout } = options;
  const handler = forwardTo && createHandler(forwardTo, forwardTimeout, context);
  const log = new DeliveryLog(stdout, clock, await paletteOf(reporter.stdoutColor), options.zone);
  const listener = new Listener(options, journal, handler, log, context, reporter);
  try {
    const { host, path } = options;
    const port = await listener.start();
    const shown = host.includes(':') ? `[${host}]` : host;
    reporter.notice(`listening on http://${shown}:${port}${path}; ${known}; stop with Ctrl-C`);
    try {
      await Promise.race([untilStopped(signal), journal.failed, listener.keepRecovering()]);
    } finally {
      await listener.stop();
    }
  } finally {
    await journal.close();
    listener.failures.close();
    await handler?.close();
    await log.flushed().catch(() => undefined);
    if (stdout.isTerminal) reporter.notice(summaryText(log.counts));
  }
}

async function openListenersJournal(
  { journal: file, keep }: ListenOptions,
  context: Context,
  reporter: Reporter,
): Promise<Journal> {
  const opened = new AbortController();
  const onWait = ({ holder }: LockedError, path: string) => {
    const name = holder === undefined ? '' : ` (${holder})`;
    reporter.notice(`waiting for another hooktrail process${name} that has the journal ${file}`);
    void askForJournal(path, context, opened.signal);
  };
  const journal = await openJournal(file, { keep, onWait }, context).finally(() => opened.abort());
  if (journal.damaged > 0) {
    const lines = journal.damaged === 1 ? '1 line' : `${journal.damaged} lines`;
    reporter.warning(`${lines} of ${file} that cannot be read: skipped`);
  }
  return journal;
}

/** Takes events from deliveries, from `recover` and from its own searches, and treats them alike. */
class Listener {
  readonly failures: ProblemLog;
  readonly #options: ListenOptions;
  readonly #journal: Journal;
  readonly #handler: Handler | undefined;
  readonly #log: DeliveryLog;
  readonly #context: Context;
  readonly #reporter: Reporter;
  readonly #ended = new AbortController();
  #receiver: Receiver | undefined;
  #socket: HolderSocket | undefined;

  constructor(
    options: ListenOptions,
    journal: Journal,
    handler: Handler | undefined,
    log: DeliveryLog,
    context: Context,
    reporter: Reporter,
  ) {
    this.#options = options;
    this.#journal = journal;
    this.#handler = handler;
    this.#log = log;
    this.#context = context;
    this.#reporter = reporter;
    this.failures = new ProblemLog(reporter, context.clock);
  }

  /** Resolves to the port. */
  async start(): Promise<number> {
    const { health, port, host } = this.#options;
    const startedAt = new Date(this.#context.clock.now()).toISOString();
    const report = () => ({
      since: startedAt,
      ...this.#log.counts,
      underWay: this.#underWay,
      known: this.#journal.size,
    });
    this.#receiver = await startReceiver({
      ...this.#options,
      accept: (delivery) => this.#accept(delivery, false),
      onRejected: ({ status, message }) => {
        this.#log.counts.rejected++;
        this.failures.report('rejected', `refused with ${status}: ${message}`);
      },
      health: health === undefined ? undefined : { path: health, report },
      ...(this.#reporter.verbose
        ? { onAnswer: (answer) => this.#reporter.trace(Object.values(answer).join(' ')) }
        : {}),
    }).catch((error) => {
      throw unusableAddress(error, port, host);
    });
    this.#socket = await this.#openToRecover();
    return this.#receiver.port;
  }

  /** Stops accepting deliveries, and gives those in progress some time. */
  async stop(): Promise<void> {
    this.#ended.abort();
    const stopped = new AbortController();
    const after = (milliseconds: number, act: () => void) => {
      this.#context.clock.sleep(milliseconds, stopped.signal).then(act, () => undefined);
    };
    after(SILENT_STOP_MS, () => {
      const count = this.#underWay;
      const deliveries = count === 1 ? 'delivery' : 'deliveries';
      if (count > 0)
        this.#reporter.notice(`waiting up to ${GRACE_MS / 1000} s for ${count} ${deliveries} in progress`);
    });
    // An event without an answer by then counts as not accepted.
    after(GRACE_MS, () => void this.#handler?.close());
    after(GRACE_MS + FAREWELL_MS, () => this.#receiver?.destroy());
    await Promise.all([this.#receiver?.stop(), this.#socket?.close()]);
    stopped.abort();
  }

  get #underWay(): number {
    return (this.#receiver?.underWay ?? 0) + (this.#socket?.underWay ?? 0);
  }

  /**
   * Lets `recover` hand its events to this listener. A failure is only a warning, since deliveries do not depend on it.
   */
  async #openToRecover(): Promise<HolderSocket | undefined> {
    const { forwardTo, forwardTimeout } = this.#options;
    const self = { holder: 'listener', forwardTo: forwardTo?.href ?? null, forwardTimeout } as const;
    const answers = {
      describe: () => self,
      accept: async (body: Buffer): Promise<HolderReply> => {
        const result = await this.#acceptFound(body);
        if ('outcome' in result) return { ...self, outcome: result.outcome };
        return { ...self, outcome: 'refused', answer: result.answer };
      },
    };
    return await answerAsHolder(this.#journal, this.#context.machine, answers).catch((error) => {
      this.#reporter.warning(`\`webhooks recover\` will not reach this listener: ${error.message}`);
      return undefined;
    });
  }

  #acceptFound(body: Buffer): Promise<Accepted | Refused> {
    const headers = { contentType: 'application/json', apiToken: this.#options.token };
    return this.#accept(readDelivery(body, headers), true);
  }

  /**
   * Accepts an event. The sender gets 200 only when the handler has accepted it, its line is written and its id is on
   * disk, in this order, and 502 otherwise, so that it sends the event again: an id in the journal without its line
   * would make the second delivery a duplicate that nobody has seen.
   */
  async #accept(delivery: Delivery, isRecovered: boolean): Promise<Accepted | Refused> {
    const { eventId } = delivery;
    const began = performance.now();
    let answer: HandlerAnswer | undefined;
    const forward = async () => {
      answer = await this.#handler?.forward(delivery);
      if (answer && !isTaken(answer)) return false;
      await this.#log.print(delivery);
      return true;
    };
    const end = (outcome: Outcome) => {
      this.#log.ended({ delivery, outcome, answer, ms: performance.now() - began });
    };
    try {
      const outcome = await this.#journal.once(delivery.key, forward);
      end(outcome);
      if (isRecovered && outcome === 'accepted') this.#log.counts.recovered++;
      if (outcome !== 'refused') return { status: 200, outcome };
      if (answer)
        this.failures.report('failed', `${shownId(eventId)}: ${answerLine(answer)}`, this.#next(eventId));
      const message = 'the handler did not accept the delivery';
      return { status: 502, code: 'handler.failed', message, answer };
    } catch (error) {
      // If the program is being stopped, the delivery is not at fault.
      if (!(error instanceof ClosedPipeError || error instanceof InterruptedError))
        this.failures.report('failed', `${shownId(eventId)}: ${(error as Error).message}`);
      end('refused');
      return { status: 502, code: 'delivery.not_accepted', message: 'the delivery could not be accepted' };
    }
  }

  /** The command that sends an event again; undefined if the service cannot find it, since its id is no GUID. */
  #next(eventId: string): string | undefined {
    const { forwardTo } = this.#options;
    if (!forwardTo || !isGuid(eventId)) return undefined;
    return `\`hooktrail webhooks replay --id ${eventId} --forward-to ${shellWord(forwardTo.href)}\` sends it again`;
  }

  /**
   * Recovers missed events at the start and after each interval, if the options ask for it. Never resolves; rejects if
   * there is no sign-in to search with.
   */
  async keepRecovering(): Promise<never> {
    const { recovery, find } = this.#options;
    if (!recovery || !find) return await new Promise<never>(() => {});
    const again = durationText(recovery.interval);
    for (let isFirst = true; ; isFirst = false) {
      try {
        const found = find(recovery.window, isFirst ? 0 : SETTLED_MS);
        const { recovered, left } = await this.#recover(found);
        const events = `${recovered} ${recovered === 1 ? 'event' : 'events'}`;
        if (isFirst)
          this.#reporter.notice(`recovered ${events} of the last ${durationText(recovery.window)}`);
        else if (recovered > 0)
          this.#reporter.warning(`recovered ${events} whose delivery never came: deliveries are being lost`);
        if (left > 0) {
          const events = left === 1 ? '1 found event was' : `${left} found events were`;
          const text = `${events} not accepted, and ${left === 1 ? 'is' : 'are'} tried again in ${again}`;
          this.#reporter.warning(text, { kind: 'incomplete' });
        }
      } catch (error) {
        this.#ended.signal.throwIfAborted();
        if (isFirst && (error instanceof NotSignedInError || error instanceof UsageError)) throw error;
        this.#reporter.warning(
          `events could not be recovered, again in ${again}: ${(error as Error).message}`,
        );
      }
      await this.#context.clock.sleep(recovery.interval, this.#ended.signal);
    }
  }

  async #recover(found: AsyncIterable<FoundEvent>): Promise<{ recovered: number; left: number }> {
    const missing: FoundEvent[] = [];
    for await (const event of found) if (event.key && !this.#journal.has(event.key)) missing.push(event);
    const result = { recovered: 0, left: 0 };
    // One at a time, so that the handler gets them in order of creation.
    for (const { body } of inOrderOfCreation(missing)) {
      this.#ended.signal.throwIfAborted();
      const answer = await this.#acceptFound(body);
      if (!('outcome' in answer)) result.left++;
      else if (answer.outcome === 'accepted') result.recovered++;
    }
    return result;
  }
}

function unusableAddress(error: NodeJS.ErrnoException, port: number, host: string): unknown {
  const { code, message } = error;
  if (code === 'EADDRINUSE')
    return new UsageError(`--port: ${port} is taken`, { next: 'choose another port' });
  if (code === 'EACCES') return new UsageError(`--port: this user may not listen on ${port}`);
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return new UsageError(`--host: '${host}' is not an address of this machine`, { details: [message] });
  }
  return error;
}
