import { type Call, untilStopped } from '../command.ts';
import type { Clock, Context } from '../context.ts';
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
import { probeTokenStore, requireApiToken, saveApiToken } from './api-token.ts';
import { type Delivery, objectLine, readDelivery, shownId } from './delivery.ts';
import {
  answerLine,
  createHandler,
  type Handler,
  type HandlerAnswer,
  isPassing,
  isTaken,
} from './forward.ts';
import { type FoundEvent, inOrderOfCreation, searchToForward } from './found-events.ts';
import { defaultJournal, type Journal, type Outcome, openJournal, SharedWrites } from './journal.ts';
import { openListenerSocket } from './local-socket.ts';
import { type Acceptance, type Receiver, startReceiver } from './receiver.ts';

/** The command line. */
export interface ListenFlags {
  readonly host: string;
  readonly port: number;
  readonly path: string;
  /** Absent if deliveries are only printed. */
  readonly forwardTo?: URL;
  /** Milliseconds without progress until the handler counts as failed. */
  readonly forwardTimeout: number;
  /** Absent for the profile's own. */
  readonly journal?: string;
  /** Milliseconds after which ids are forgotten. */
  readonly keep?: number;
  /** Bytes. */
  readonly maxBody: number;
  readonly saveToken?: true;
  /** Milliseconds a sender has for a whole delivery. */
  readonly requestTimeout: number;
  /** The path that answers with the health report. */
  readonly health?: string;
  /** Milliseconds that the searches for missed events look back; absent: there are none. */
  readonly recover?: number | undefined;
  /** Milliseconds from the end of one search to the next. */
  readonly recoverInterval: number;
  /** The zone for times on a terminal. */
  readonly zone: TimeZone;
}

interface ListenOptions extends ListenFlags {
  /** The expected `Api-Token`. */
  readonly token: string;
  readonly journal: string;
}

/** Yields the events created between two times, which are milliseconds ago by the service's clock, in any order. */
type FindMissed = (from: number, until: number) => AsyncIterable<FoundEvent>;

/** Listens with the token and the journal of the profile, and with its sign-in if missed events are to be recovered. */
export async function listenAsProfile(flags: ListenFlags, call: Call<SettingFlags>): Promise<void> {
  const { context, reporter } = call;
  const settings = await loadSettings(call.flags.profile ? { profile: call.flags.profile } : {}, context);
  if (flags.saveToken) await probeTokenStore(settings, context);
  const token = await requireApiToken(settings, context, flags.saveToken);
  if (flags.saveToken) {
    reporter.notice(`the Api-Token is saved in ${await saveApiToken(token, settings, context)}`);
  }
  const options = { ...flags, token, journal: flags.journal ?? defaultJournal(settings.profile, context) };
  if (flags.recover === undefined) return await listen(options, undefined, context, reporter);
  // The lines of the deliveries are on the terminal.
  const silent = { ...reporter, quiet: true, warning: reporter.trace };
  await withService(call, async (service) => {
    const find: FindMissed = (from, until) => {
      const filters = new EventFilters({ after: ago(from), ...(until === 0 ? {} : { before: ago(until) }) });
      return searchToForward(filters, service, context, silent, 'recovering');
    };
    await listen(options, find, context, reporter);
  });
}

/** A time so many milliseconds ago, for a search. */
function ago(milliseconds: number) {
  const time = { kind: 'ago', seconds: milliseconds / 1000 } as const;
  return { flag: '--recover', text: durationText(milliseconds), time };
}

/** Receives deliveries until the context's signal aborts, then rejects with its reason. */
async function listen(
  options: ListenOptions,
  find: FindMissed | undefined,
  context: Context,
  reporter: Reporter,
): Promise<void> {
  const journal = await openListenersJournal(options, context, reporter);
  // Count the ids before the first delivery of this run adds one.
  const known = `${journal.size} known ${journal.size === 1 ? 'id' : 'ids'} in ${journal.path}`;
  const palette = await paletteOf(reporter.stdoutColor);
  const listener = new Listener(options, journal, palette, context, reporter);
  try {
    const { host, path } = options;
    const port = await listener.start();
    const shown = host.includes(':') ? `[${host}]` : host;
    reporter.notice(`listening on http://${shown}:${port}${path}; ${known}; stop with Ctrl-C`);
    const stopped = untilStopped(AbortSignal.any([context.signal, journal.failed]));
    const recovering = find ? [listener.keepRecovering(find)] : [];
    await Promise.race([stopped, ...recovering]).finally(() => listener.stop());
  } finally {
    await journal.close();
    await listener.close();
  }
}

async function openListenersJournal(
  { journal: file, keep }: ListenOptions,
  context: Context,
  reporter: Reporter,
): Promise<Journal> {
  const onWait = ({ holder }: LockedError) => {
    const name = holder === undefined ? '' : ` (${holder})`;
    reporter.notice(`waiting for another hooktrail process${name} that has the journal ${file}`);
  };
  const journal = await openJournal(file, { keep, onWait }, context);
  const lines = journal.damaged === 1 ? '1 line' : `${journal.damaged} lines`;
  if (journal.damaged > 0) reporter.warning(`${lines} of ${file} that cannot be read: skipped`);
  return journal;
}

/** The delivery of an event this young may still arrive, so the next search looks for it again. */
const SETTLED_MS = 10_000;
/** Found events that a handler which is down did not take are tried again for so long, if the window is shorter. */
const TRIED_FOR_MS = 24 * 3_600_000;
/** When the program is stopped, deliveries in progress have this time to finish. */
const GRACE_MS = 10_000;
/** After that they are refused, and their senders have this time to read it. */
const FAREWELL_MS = 1_000;
/** If stopping takes longer than this, a message says why. */
const SILENT_STOP_MS = 1_000;
const NEWLINE = Buffer.from('\n');

/** Takes events from deliveries, from `recover` and from its own searches, and treats them alike. */
class Listener {
  readonly #options: ListenOptions;
  readonly #journal: Journal;
  readonly #handler: Handler | undefined;
  readonly #palette: Palette;
  readonly #context: Context;
  readonly #reporter: Reporter;
  /** Since the start; `rejected` are requests that carry no delivery, `recovered` are among the accepted. */
  readonly counts = { accepted: 0, duplicates: 0, failed: 0, rejected: 0, recovered: 0 };
  readonly #rejections: LimitedWarnings;
  readonly #failures: LimitedWarnings;
  readonly #ended = new AbortController();
  readonly #lines = new SharedWrites<Buffer>(async (lines) => {
    await this.#context.stdout.write(Buffer.concat(lines.flatMap((line) => [line, NEWLINE])), true);
  });
  /** Events of `recover` and of this listener's own searches that wait for their outcome. */
  #foundUnderWay = 0;
  #receiver: Receiver | undefined;
  #closeSocket: (() => Promise<void>) | undefined;

  constructor(
    options: ListenOptions,
    journal: Journal,
    palette: Palette,
    context: Context,
    reporter: Reporter,
  ) {
    this.#options = options;
    this.#journal = journal;
    this.#palette = palette;
    this.#context = context;
    this.#reporter = reporter;
    const { forwardTo, forwardTimeout } = options;
    this.#handler = forwardTo && createHandler(forwardTo, forwardTimeout, context);
    this.#rejections = limitWarnings(1, reporter, context.clock);
    this.#failures = limitWarnings(20, reporter, context.clock);
  }

  /** Resolves to the port. */
  async start(): Promise<number> {
    const { port, host } = this.#options;
    const since = new Date(this.#context.clock.now()).toISOString();
    this.#receiver = await startReceiver({
      ...this.#options,
      accept: (delivery) => this.#accept(delivery, false),
      onRejected: (status, message) => {
        this.counts.rejected++;
        this.#rejections.report(`refused with ${status}: ${message}`);
      },
      // The request for the report is under way too.
      report: () => ({ since, ...this.counts, underWay: this.#underWay - 1, known: this.#journal.size }),
      onAnswer: this.#reporter.trace,
    }).catch((error) => {
      throw unusableAddress(error, port, host);
    });
    this.#closeSocket = await this.#openToRecover();
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
    await Promise.all([this.#receiver?.stop(), this.#closeSocket?.(), this.#journal.idle()]);
    stopped.abort();
  }

  /** Prints what waits to be printed. */
  async close(): Promise<void> {
    this.#rejections.close();
    this.#failures.close();
    await this.#handler?.close();
    await this.#lines.inTurn(async () => {});
    if (this.#context.stdout.isTerminal) this.#reporter.notice(summaryText(this.counts));
  }

  get #underWay(): number {
    return (this.#receiver?.underWay ?? 0) + this.#foundUnderWay;
  }

  /** Lets `recover` hand its events to this listener. A failure is only a warning: deliveries do not depend on it. */
  async #openToRecover(): Promise<(() => Promise<void>) | undefined> {
    const { forwardTo, forwardTimeout } = this.#options;
    const self = { forwardTo: forwardTo?.href ?? null, forwardTimeout };
    const accept = (body: Buffer) => this.#acceptFound(body);
    return await openListenerSocket(this.#journal, this.#context.machine, self, accept).catch((error) => {
      this.#reporter.warning(`\`webhooks recover\` will not reach this listener: ${error.message}`);
      return undefined;
    });
  }

  async #acceptFound(body: Buffer): Promise<Acceptance> {
    const headers = { contentType: 'application/json', apiToken: this.#options.token };
    const delivery = readDelivery(body, headers);
    this.#foundUnderWay++;
    return await this.#accept(delivery, true).finally(() => this.#foundUnderWay--);
  }

  /**
   * Accepts an event. The sender gets 200 only when the handler has accepted it, its line is written and its id is on
   * disk, in this order, and 502 otherwise, so that it sends the event again: an id in the journal without its line
   * would make the second delivery a duplicate that nobody has seen. Never rejects.
   */
  async #accept(delivery: Delivery, isRecovered: boolean): Promise<Acceptance> {
    const { stdout, clock } = this.#context;
    const began = performance.now();
    let answer: HandlerAnswer | undefined;
    let outcome: Outcome = 'refused';
    let error: Error | undefined;
    const forward = async () => {
      answer = await this.#handler?.forward(delivery);
      if (answer && !isTaken(answer)) return false;
      // On a terminal the line tells the outcome, so it comes at the end.
      if (!stdout.isTerminal) await this.#lines.add(objectLine(delivery.body));
      return true;
    };
    try {
      outcome = await this.#journal.once(delivery.key, forward);
    } catch (thrown) {
      error = thrown as Error;
    }
    this.counts[COUNTED[outcome]]++;
    if (isRecovered && outcome === 'accepted') this.counts.recovered++;
    if (stdout.isTerminal) {
      const ended = { delivery, outcome, answer, ms: performance.now() - began };
      const line = liveLine(ended, clock.now(), this.#options.zone, stdout.columns, this.#palette);
      this.#lines.add(Buffer.from(line)).catch(() => undefined);
    }
    const id = shownId(delivery.eventId);
    // If the program is being stopped, the delivery is not at fault.
    const isStopped = error instanceof ClosedPipeError || error instanceof InterruptedError;
    if (error && !isStopped) this.#failures.report(`${id}: ${error.message}`);
    else if (!error && outcome === 'refused' && answer)
      this.#failures.report(`${id}: ${answerLine(answer)}`, this.#sendAgain(delivery.eventId));
    return { outcome, answer, error };
  }

  /** The command that sends an event again; undefined if the service cannot find it, since its id is no GUID. */
  #sendAgain(eventId: string): string | undefined {
    const { forwardTo } = this.#options;
    if (!forwardTo || !isGuid(eventId)) return undefined;
    return `\`hooktrail webhooks replay --id ${eventId} --forward-to ${shellWord(forwardTo.href)}\` sends it again`;
  }

  /**
   * Recovers missed events at the start and after each interval. Never resolves; rejects if there is no sign-in to search
   * with.
   */
  async keepRecovering(find: FindMissed): Promise<never> {
    const { recover: window = 0, recoverInterval, keep = Number.POSITIVE_INFINITY } = this.#options;
    const { clock } = this.#context;
    const again = durationText(recoverInterval);
    let unrecoveredSince = clock.now() - window;
    for (let isFirst = true; ; isFirst = false) {
      try {
        const began = clock.now();
        // After hours asleep, or of failed searches, the window alone would leave out a part of them. An event that is
        // older than `keep` may be one that the journal has forgotten.
        const lookBack = Math.min(Math.max(window, began - unrecoveredSince), keep);
        const found = find(lookBack, isFirst ? 0 : SETTLED_MS);
        const { recovered, left, mayPass } = await this.#recover(found);
        unrecoveredSince = mayPass ? Math.max(unrecoveredSince, began - TRIED_FOR_MS) : began - SETTLED_MS;
        const events = `${recovered} ${recovered === 1 ? 'event' : 'events'}`;
        if (isFirst) this.#reporter.notice(`recovered ${events} of the last ${durationText(window)}`);
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
      await clock.sleep(recoverInterval, this.#ended.signal);
    }
  }

  /** Accepts the events that the journal lacks. `mayPass`: an event was left that may be accepted later. */
  async #recover(found: AsyncIterable<FoundEvent>) {
    const missing: FoundEvent[] = [];
    for await (const event of found) if (event.key && !this.#journal.has(event.key)) missing.push(event);
    const result = { recovered: 0, left: 0, mayPass: false };
    // One at a time, so that the handler gets them in order of creation.
    for (const { body } of inOrderOfCreation(missing)) {
      this.#ended.signal.throwIfAborted();
      const { outcome, answer, error } = await this.#acceptFound(body);
      if (outcome === 'accepted') result.recovered++;
      if (outcome !== 'refused') continue;
      result.left++;
      if (error || !answer || isPassing(answer)) result.mayPass = true;
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

const COUNTED = { accepted: 'accepted', duplicate: 'duplicates', refused: 'failed' } as const;

/** The outcome of a delivery or of a recovered event. */
interface Ended {
  readonly delivery: Delivery;
  readonly outcome: Outcome;
  /** The handler's answer; undefined if it was not asked. */
  readonly answer: HandlerAnswer | undefined;
  readonly ms: number;
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
  const type = cut(delivery.type, Math.min(Math.max(room, LEAST_TYPE_COLUMNS), MOST_TYPE_COLUMNS));
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

/** `12 accepted, 3 duplicates, 1 failed try, 2 rejected; 4 of the accepted were recovered`. */
function summaryText(counts: Listener['counts']): string {
  const { accepted, duplicates, failed, rejected, recovered } = counts;
  const copies = duplicates === 1 ? 'duplicate' : 'duplicates';
  const tries = failed === 1 ? 'failed try' : 'failed tries';
  const text = `${accepted} accepted, ${duplicates} ${copies}, ${failed} ${tries}, ${rejected} rejected`;
  if (recovered === 0) return text;
  return `${text}; ${recovered} of the accepted ${recovered === 1 ? 'was' : 'were'} recovered`;
}

const INTERVAL_MS = 1_000;

interface LimitedWarnings {
  report(text: string, next?: string): void;
  /** Prints the warning that waits. */
  close(): void;
}

/** Prints so many warnings a second, then the latest, with the number of the others: a thousand may come in that time. */
function limitWarnings(most: number, reporter: Reporter, clock: Clock): LimitedWarnings {
  const closed = new AbortController();
  /** Warnings of this second, which begins with the first. */
  let count = 0;
  let latest: { readonly text: string; readonly next: string | undefined } | undefined;
  const report = (text: string, next?: string) => {
    if (count === 0) clock.sleep(INTERVAL_MS, closed.signal).then(end, () => undefined);
    count++;
    if (count <= most) reporter.warning(text, { kind: 'incomplete', next });
    else latest = { text, next };
  };
  const end = () => {
    const [waiting, left] = [latest, count - most];
    count = 0;
    latest = undefined;
    const more = left === 1 ? '' : ` (and ${left - 1} more since the last warning)`;
    if (waiting) report(`${waiting.text}${more}`, waiting.next);
  };
  const close = () => {
    closed.abort();
    end();
  };
  return { report, close };
}
