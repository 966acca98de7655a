import { type Call, untilStopped } from '../command.ts';
import type { Clock, Context, Output } from '../context.ts';
import { ClosedPipeError, InterruptedError, NotSignedInError, UsageError } from '../errors.ts';
import { EventFilters } from '../events/event-filters.ts';
import { isGuid } from '../json/items.ts';
import type { LockedError } from '../lock/lock.ts';
import { durationText, shellWord } from '../settings/flag-values.ts';
import { loadSettings, type SettingFlags } from '../settings/settings.ts';
import { withService } from '../sign-in/session.ts';
import { type Palette, paletteOf } from '../terminal/palette.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { terminalSafeLine } from '../terminal/terminal-text.ts';
import type { TimeZone } from '../time/time-zone.ts';
import { requireApiToken, saveApiToken } from './api-token.ts';
import { type Delivery, readDelivery, shownId } from './delivery.ts';
import { answerLine, createHandler, type Handler, type HandlerAnswer, isTaken } from './forward.ts';
import { defaultJournal, type Journal, type Outcome, openJournal } from './journal.ts';
import { answerAsHolder, askForJournal, type HolderReply, type HolderSocket } from './local-socket.ts';
import { type Accepted, type Receiver, type Refused, startReceiver } from './receiver.ts';
import { type FoundEvent, inOrderOfCreation, searchMissed } from './recover.ts';

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
      return searchMissed(filters, service, context, SILENT, reporter.trace);
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

/** The outcome of a delivery or of a recovered event. */
export interface Ended {
  readonly delivery: Delivery;
  readonly outcome: 'accepted' | 'duplicate' | 'refused';
  /** The handler's answer; undefined if it was not asked. */
  readonly answer?: HandlerAnswer | undefined;
  readonly ms: number;
}

/** Counts since the start; `--health` shows them. */
export interface DeliveryCounts {
  accepted: number;
  duplicates: number;
  /** Deliveries that the handler did not accept, or that could not be journaled: the service sends them again. */
  failed: number;
  /** Requests that were rejected for a wrong token, no JSON or no `eventId`. */
  rejected: number;
  /** The number of accepted events that a search found because their delivery never came. */
  recovered: number;
}

const NEWLINE = Buffer.from('\n');

/**
 * Prints accepted deliveries on standard output: as one line of JSON each, or on a terminal as a summary line. Lines
 * that arrive together share one write.
 */
export class DeliveryLog {
  readonly counts: DeliveryCounts = { accepted: 0, duplicates: 0, failed: 0, rejected: 0, recovered: 0 };
  readonly #stdout: Output;
  readonly #clock: Clock;
  readonly #palette: Palette;
  readonly #zone: TimeZone;
  #waiting: Buffer[] = [];
  /** The write of the waiting lines; undefined while there are none. */
  #batch: Promise<void> | undefined;
  #latest: Promise<void> = Promise.resolve();

  constructor(stdout: Output, clock: Clock, palette: Palette, zone: TimeZone) {
    this.#stdout = stdout;
    this.#clock = clock;
    this.#palette = palette;
    this.#zone = zone;
  }

  /**
   * Prints a delivery, and resolves when standard output has accepted the whole line. Prints nothing on a terminal,
   * where `ended` prints the line.
   */
  async print(delivery: Delivery): Promise<void> {
    if (!this.#stdout.isTerminal) await this.#write(delivery.line());
  }

  /** Counts a delivery, and prints its line on a terminal. */
  ended(ended: Ended): void {
    if (ended.outcome === 'accepted') this.counts.accepted++;
    else if (ended.outcome === 'duplicate') this.counts.duplicates++;
    else this.counts.failed++;
    if (!this.#stdout.isTerminal) return;
    const { columns } = this.#stdout;
    const line = liveLine(ended, this.#clock.now(), this.#zone, columns, this.#palette);
    this.#write(Buffer.from(line)).catch(() => undefined);
  }

  /** Resolves when everything is printed. */
  async flushed(): Promise<void> {
    await this.#latest;
  }

  #write(line: Buffer): Promise<void> {
    this.#waiting.push(line, NEWLINE);
    this.#batch ??= this.#after(this.#latest);
    return this.#batch;
  }

  #after(earlier: Promise<void>): Promise<void> {
    this.#latest = earlier.then(async () => {
      await new Promise<void>((resolve) => setImmediate(resolve));
      const lines = Buffer.concat(this.#waiting);
      this.#waiting = [];
      this.#batch = undefined;
      await this.#stdout.write(lines, true);
    });
    return this.#latest;
  }
}

/** From the first width on an id is whole, and from the second on the milliseconds are shown. */
const [WHOLE_ID_COLUMNS, DURATION_COLUMNS] = [80, 100];
const [LEAST_TYPE_COLUMNS, MOST_TYPE_COLUMNS] = [8, 32];

/** `12:00:01  order.created  0f8fad5b-…  200  12 ms`; in another zone than UTC the time has an offset. */
function liveLine(ended: Ended, now: number, zone: TimeZone, columns: number, palette: Palette): string {
  const { delivery, outcome, ms } = ended;
  const paint = { accepted: palette.good, duplicate: palette.dim, refused: palette.bad }[outcome];
  const time = zone.shown(new Date(now).toISOString().slice(0, 19)).slice(11);
  const id = columns < WHOLE_ID_COLUMNS ? cut(delivery.eventId, 8) : shownId(delivery.eventId).padEnd(36);
  const said = saidText(ended).padEnd(9);
  const took = columns < DURATION_COLUMNS ? '' : `${Math.round(ms)} ms`.padStart(8);
  const room = columns - time.length - 36 - said.length - took.length - 8;
  const type = cut(delivery.type(), Math.min(Math.max(room, LEAST_TYPE_COLUMNS), MOST_TYPE_COLUMNS));
  const line = `${palette.dim(time)}  ${type}  ${id}  `;
  return took === '' ? line + paint(said.trimEnd()) : `${line}${paint(said)}  ${palette.dim(took)}`;
}

/** Returns the text in so many columns, escaped to stay on one line. */
function cut(text: string, columns: number): string {
  const line = terminalSafeLine(text);
  return line.length <= columns ? line.padEnd(columns) : `${line.slice(0, columns - 1)}…`;
}

/** Returns a status, or a word for the outcome. If there was no answer, the warning on standard error says why. */
function saidText({ outcome, answer }: Ended): string {
  if (outcome === 'duplicate' || answer === undefined) return outcome;
  return answer.status === undefined ? 'no answer' : String(answer.status);
}

/** `12 accepted, 3 duplicates, 1 failed, 2 rejected; 4 of the accepted were recovered`. */
export function summaryText({ accepted, duplicates, failed, rejected, recovered }: DeliveryCounts): string {
  const parts = [
    `${accepted} accepted`,
    `${duplicates} ${duplicates === 1 ? 'duplicate' : 'duplicates'}`,
    `${failed} failed`,
    `${rejected} rejected`,
  ];
  const also =
    recovered === 0 ? '' : `; ${recovered} of the accepted ${recovered === 1 ? 'was' : 'were'} recovered`;
  return parts.join(', ') + also;
}

const INTERVAL_MS = 1_000;
/** Warnings of a kind in an interval. */
const MOST_WARNINGS = { rejected: 1, failed: 20 } as const;
type ProblemKind = keyof typeof MOST_WARNINGS;

/** The warnings of a kind in one interval. */
interface Interval {
  printed: number;
  left: number;
  /** The text and the next step of the latest that was not printed. */
  latest?: [string, string | undefined];
}

/**
 * Limits warnings that may come a thousand times per second: prints so many of a kind per second, then the latest, with
 * the number of the others.
 */
export class ProblemLog {
  readonly #reporter: Pick<Reporter, 'warning'>;
  readonly #clock: Clock;
  readonly #closed = new AbortController();
  /** Of each kind, the number printed in this interval, and what was not. */
  readonly #intervals = new Map<ProblemKind, Interval>();

  constructor(reporter: Pick<Reporter, 'warning'>, clock: Clock) {
    this.#reporter = reporter;
    this.#clock = clock;
  }

  report(kind: ProblemKind, text: string, next?: string): void {
    const interval = this.#intervals.get(kind) ?? this.#begin(kind);
    if (interval.printed++ < MOST_WARNINGS[kind]) this.#reporter.warning(text, { kind: 'incomplete', next });
    else {
      interval.left++;
      interval.latest = [text, next];
    }
  }

  /** Prints the warnings that wait. */
  close(): void {
    this.#closed.abort();
    for (const kind of [...this.#intervals.keys()]) this.#end(kind);
  }

  #begin(kind: ProblemKind) {
    const interval: Interval = { printed: 0, left: 0 };
    this.#intervals.set(kind, interval);
    this.#clock.sleep(INTERVAL_MS, this.#closed.signal).then(
      () => this.#end(kind),
      () => undefined,
    );
    return interval;
  }

  #end(kind: ProblemKind): void {
    const { left = 0, latest } = this.#intervals.get(kind) ?? {};
    this.#intervals.delete(kind);
    if (!latest) return;
    const more = left === 1 ? '' : ` (and ${left - 1} more since the last warning)`;
    this.report(kind, `${latest[0]}${more}`, latest[1]);
  }
}
