import fs from 'node:fs';
import { type Advice, advise, hooktrail } from '../../advice.ts';
import { type Call, untilStopped } from '../../command.ts';
import type { Clock, Context } from '../../context.ts';
import { ClosedPipeError, InterruptedError, NotSignedInError, UsageError } from '../../errors.ts';
import { EventFilters } from '../../filters/event-filters.ts';
import { isGuid } from '../../items/items.ts';
import type { LockedError } from '../../lock/lock.ts';
import { loadSettings, type SettingFlags } from '../../settings/settings.ts';
import { withService } from '../../sign-in/session.ts';
import { sortByCreation } from '../../sources/creation-order.ts';
import { type Palette, paletteOf } from '../../terminal/palette.ts';
import type { Reporter } from '../../terminal/reporter.ts';
import { terminalSafeLine } from '../../terminal/terminal-text.ts';
import { durationText } from '../../time/lengths.ts';
import type { TimeZone } from '../../time/time-zone.ts';
import { openExpectedToken, probeTokenStore, saveApiToken } from '../api-token.ts';
import { type Delivery, objectLine, readDelivery, shownId } from '../delivery.ts';
import {
  answerLine,
  createHandler,
  type Handler,
  type HandlerAnswer,
  isPassing,
  isTaken,
} from '../forward.ts';
import { type FoundEvent, type HandOver, oncePerEvent, searchToForward } from '../found-events.ts';
import { defaultJournal, type Journal, type Outcome, openJournal } from '../journal.ts';
import { shareWrites } from '../journal-file.ts';
import { openListenerSocket } from '../local-socket.ts';
import { type Acceptance, type Receiver, type ReceiverOptions, startReceiver } from './receiver.ts';

/** The command line. */
export interface ListenFlags
  extends Pick<ReceiverOptions, 'host' | 'port' | 'path' | 'maxBody' | 'requestTimeout' | 'health'> {
  /** Absent if deliveries are only printed. */
  readonly forwardTo?: URL;
  /** Milliseconds without progress until the handler counts as failed. */
  readonly forwardTimeout: number;
  /** Absent for the one of the profile, or of the subscription. */
  readonly journal?: string;
  /** The subscription whose deliveries come; absent: any. */
  readonly subscription?: string;
  /** Milliseconds after which ids are forgotten. */
  readonly keep?: number;
  readonly saveToken?: true;
  /** Milliseconds that the searches for missed events look back; absent: there are none. */
  readonly recover?: number | undefined;
  /** What the handler gets of an event that is found by search. */
  readonly handOver: HandOver;
  /** Milliseconds from the end of one search to the next. */
  readonly recoverInterval: number;
  /** The zone for times on a terminal. */
  readonly zone: TimeZone;
}

interface ListenOptions extends ListenFlags {
  /** The expected `Api-Token`. */
  readonly token: () => string;
  readonly journal: string;
}

/**
 * Yields the events created between two times, which are milliseconds ago by the service's clock, in any
 * order.
 */
type FindMissed = (from: number, until: number) => AsyncIterable<FoundEvent>;

/**
 * Listens with the token and the journal of the profile, and with its sign-in if missed events are to be
 * recovered.
 */
export async function listenAsProfile(flags: ListenFlags, call: Call<SettingFlags>): Promise<void> {
  const { context, reporter } = call;
  const settings = await loadSettings(call.flags, context);
  const place = { ...settings, subscription: flags.subscription };
  if (flags.saveToken) await probeTokenStore(place, context);
  const token = await openExpectedToken(place, flags.saveToken === true, call);
  try {
    if (flags.saveToken)
      reporter.notice(`the Api-Token is saved in ${await saveApiToken(token.current(), place, context)}`);
    const journal = flags.journal ?? defaultJournal(settings.profile, context, flags.subscription);
    if (flags.journal === undefined && flags.subscription !== undefined)
      sayOtherJournal(journal, settings.profile, context, reporter);
    await listenWith({ ...flags, token: token.current, journal }, call);
  } finally {
    token.close();
  }
}

/** Listens, with the sign-in of the profile if missed events are to be recovered. */
async function listenWith(options: ListenOptions, call: Call<SettingFlags>): Promise<void> {
  const { context, reporter } = call;
  const { recover, subscription, handOver } = options;
  if (recover === undefined) return await listen(options, undefined, context, reporter);
  // Each search would show its progress and repeat its doubts between the lines of the deliveries.
  const silent = { ...reporter, quiet: true, warning: reporter.trace };
  await withService(call, async (service) => {
    const find: FindMissed = (from, until) => {
      const subscriptionIds = subscription === undefined ? [] : [subscription];
      const before = until === 0 ? {} : { before: ago(until) };
      const filters = new EventFilters({
        after: ago(from),
        ...before,
        values: { subscriptionId: subscriptionIds },
      });
      return searchToForward(filters, service, { context, reporter: silent }, handOver);
    };
    await listen(options, find, context, reporter);
  });
}

/**
 * A subscription's first journal knows nothing of what the profile's has: the same handler would get those
 * events again.
 */
function sayOtherJournal(journal: string, profile: string, context: Context, reporter: Reporter): void {
  const ofProfile = defaultJournal(profile, context);
  if (fs.existsSync(journal) || !fs.existsSync(ofProfile)) return;
  reporter.notice(
    `a new journal begins for this subscription; what ${ofProfile} has counts as new here (--journal names another)`,
  );
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
  const { host, port, path, forwardTo, forwardTimeout } = options;
  const { clock, machine, signal } = context;
  const journal = await openListenersJournal(options, context, reporter);
  // Count the ids before the first delivery of this run adds one.
  const known = `${journal.size} known ${journal.size === 1 ? 'id' : 'ids'} in ${journal.path}`;
  const handler = forwardTo && createHandler(forwardTo, forwardTimeout, context);
  const palette = await paletteOf(reporter.stdoutColor);
  const intake = createIntake(options, journal, handler, palette, context, reporter);
  const { counts } = intake;
  const rejections = limitWarnings(1, reporter, clock);
  const since = new Date(clock.now()).toISOString();
  try {
    const receiver: Receiver = await startReceiver({
      ...options,
      accept: intake.accept,
      onRejected: (status, message) => {
        counts.rejected++;
        rejections.report(`refused with ${status}: ${message}`);
      },
      // The request for the report is under way too.
      report: () => ({ since, ...counts, underWay: underWay() - 1, known: journal.size }),
      onAnswer: reporter.trace,
    }).catch((error) => {
      throw unusableAddress(error, port, host);
    });
    const underWay = () => receiver.underWay + intake.foundUnderWay;
    const self = { forwardTo: forwardTo?.href ?? null, forwardTimeout };
    // A failure is only a warning: deliveries do not depend on it.
    const closeSocket = await openListenerSocket(journal, machine, self, intake.acceptFound).catch((error) =>
      reporter.warning(`\`webhooks recover\` will not reach this listener: ${error.message}`),
    );
    const ended = new AbortController();
    /** Stops accepting deliveries, and gives those in progress some time. */
    const stop = async () => {
      ended.abort();
      const stopped = new AbortController();
      const after = (milliseconds: number, act: () => void) =>
        void clock.sleep(milliseconds, stopped.signal).then(act, () => undefined);
      after(SILENT_STOP_MS, () => {
        const count = underWay();
        const deliveries = count === 1 ? 'delivery' : 'deliveries';
        if (count > 0)
          reporter.notice(`waiting up to ${GRACE_MS / 1000} s for ${count} ${deliveries} in progress`);
      });
      // An event without an answer by then counts as not accepted.
      after(GRACE_MS, () => void handler?.close());
      after(GRACE_MS + FAREWELL_MS, () => receiver.destroy());
      await Promise.all([receiver.stop(), closeSocket?.(), journal.idle()]);
      stopped.abort();
    };
    const shown = host.includes(':') ? `[${host}]` : host;
    reporter.notice(`listening on http://${shown}:${receiver.port}${path}; ${known}; stop with Ctrl-C`);
    const stopped = untilStopped(AbortSignal.any([signal, journal.failed]));
    const recovering = find
      ? [keepRecovering(find, intake, journal, options, ended.signal, context, reporter)]
      : [];
    await Promise.race([stopped, ...recovering]).finally(stop);
  } finally {
    await journal.close();
    rejections.close();
    await intake.close();
  }
}

async function openListenersJournal(
  { journal: file, keep }: ListenOptions,
  context: Context,
  reporter: Reporter,
): Promise<Journal> {
  const onWait = ({ holder }: LockedError) => {
    const other = `another hooktrail process${holder === undefined ? '' : ` (${holder})`}`;
    reporter.notice(`waiting for ${other} that has the journal ${file}; another --journal needs no wait`);
  };
  const journal = await openJournal(file, { keep, onWait }, context);
  const lines = journal.damaged === 1 ? '1 line' : `${journal.damaged} lines`;
  if (journal.damaged > 0) reporter.warning(`${lines} of ${file} that cannot be read: skipped`);
  return journal;
}

/** The delivery of an event this young may still arrive, so the next search looks for it again. */
const SETTLED_MS = 10_000;
/**
 * Found events that a handler which is down did not take are tried again for so long, if the window is
 * shorter.
 */
const TRIED_FOR_MS = 24 * 3_600_000;
/** When the program is stopped, deliveries in progress have this time to finish. */
const GRACE_MS = 10_000;
/** After that they are refused, and their senders have this time to read it. */
const FAREWELL_MS = 1_000;
/** If stopping takes longer than this, a message says why. */
const SILENT_STOP_MS = 1_000;
const NEWLINE = Buffer.from('\n');

type Intake = ReturnType<typeof createIntake>;

/**
 * Takes events from deliveries, from `recover` and from the listener's own searches, and treats them alike.
 */
function createIntake(
  { token, forwardTo, zone }: ListenOptions,
  journal: Journal,
  handler: Handler | undefined,
  palette: Palette,
  { stdout, clock }: Context,
  reporter: Reporter,
) {
  /** Since the start; `rejected` are requests that carry no delivery, `recovered` are among the accepted. */
  const counts = { accepted: 0, duplicates: 0, failed: 0, rejected: 0, recovered: 0 };
  const failures = limitWarnings(20, reporter, clock);
  const lines = shareWrites<Buffer>(async (waiting) => {
    await stdout.write(Buffer.concat(waiting.flatMap((line) => [line, NEWLINE])), true);
  });
  let foundUnderWay = 0;

  /**
   * Accepts an event. The sender gets 200 only when the handler has accepted it, its line is written and its
   * id is on disk, in this order, and 502 otherwise, so that it sends the event again: an id in the journal
   * without its line would make the second delivery a duplicate that nobody has seen. Never rejects.
   */
  async function accept(delivery: Delivery): Promise<Acceptance> {
    const began = performance.now();
    let answer: HandlerAnswer | undefined;
    let outcome: Outcome = 'refused';
    let error: Error | undefined;
    const forward = async () => {
      answer = await handler?.forward(delivery);
      if (answer && !isTaken(answer)) return false;
      // On a terminal the line tells the outcome, so it comes at the end.
      if (!stdout.isTerminal) await lines.add(objectLine(delivery.body));
      return true;
    };
    try {
      outcome = await journal.once(delivery.key, forward);
    } catch (thrown) {
      error = thrown as Error;
    }
    counts[COUNTED[outcome]]++;
    if (stdout.isTerminal) {
      const ended = { delivery, outcome, answer, ms: performance.now() - began };
      const line = liveLine(ended, clock.now(), zone, stdout.columns, palette);
      lines.add(Buffer.from(line)).catch(() => undefined);
    }
    const id = shownId(delivery.eventId);
    // If the program is being stopped, the delivery is not at fault.
    const isStopped = error instanceof ClosedPipeError || error instanceof InterruptedError;
    if (error && !isStopped) failures.report(`${id}: ${error.message}`);
    else if (!error && outcome === 'refused' && answer)
      failures.report(`${id}: ${answerLine(answer)}`, sendAgainStep(delivery.eventId, forwardTo));
    return { outcome, answer, error };
  }

  /** Accepts an event that was found by search. */
  async function acceptFound(body: Buffer): Promise<Acceptance> {
    const delivery = readDelivery(body, { contentType: 'application/json', apiToken: token() });
    foundUnderWay++;
    const accepted = await accept(delivery).finally(() => foundUnderWay--);
    if (accepted.outcome === 'accepted') counts.recovered++;
    return accepted;
  }

  return {
    counts,
    accept,
    acceptFound,
    /** Found events that wait for their outcome. */
    get foundUnderWay() {
      return foundUnderWay;
    },
    /** Prints what waits to be printed. */
    async close() {
      failures.close();
      await handler?.close();
      await lines.inTurn(async () => {});
      if (stdout.isTerminal) reporter.notice(summaryText(counts));
    },
  };
}

/**
 * Returns the command that sends an event again; undefined if the service cannot find it, since its id is no
 * GUID.
 */
function sendAgainStep(eventId: string, forwardTo: URL | undefined): Advice | undefined {
  if (!forwardTo || !isGuid(eventId)) return undefined;
  return advise`${hooktrail('webhooks replay --id', eventId, '--forward-to', forwardTo.href)} sends it again`;
}

/** What one search for missed events came to. */
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
  { acceptFound }: Intake,
  journal: Journal,
  signal: AbortSignal,
): Promise<Recovered> {
  const missing: FoundEvent[] = [];
  for await (const event of found) if (event.key && !journal.has(event.key)) missing.push(event);
  let recovered = 0;
  let left = 0;
  let mayPass = false;
  for (const { body } of sortByCreation(oncePerEvent(missing), 'oldest first')) {
    signal.throwIfAborted();
    const { outcome, answer, error } = await acceptFound(body);
    if (outcome === 'accepted') recovered++;
    if (outcome !== 'refused') continue;
    left++;
    if (error || !answer || isPassing(answer)) mayPass = true;
  }
  return { recovered, left, mayPass };
}

/**
 * Recovers missed events at the start and after each interval, until the signal aborts. Never resolves;
 * rejects if there is no sign-in to search with.
 */
async function keepRecovering(
  find: FindMissed,
  intake: Intake,
  journal: Journal,
  { recover: window = 0, recoverInterval, keep = Number.POSITIVE_INFINITY }: ListenOptions,
  signal: AbortSignal,
  { clock }: Context,
  reporter: Reporter,
): Promise<never> {
  const again = durationText(recoverInterval);
  let unrecoveredSince = clock.now() - window;
  for (let isFirst = true; ; isFirst = false) {
    try {
      const began = clock.now();
      // After hours asleep, or of failed searches, the window alone would leave out a part of them. An event
      // that is older than `keep` may be one that the journal has forgotten.
      const lookBack = Math.min(Math.max(window, began - unrecoveredSince), keep);
      const found = find(lookBack, isFirst ? 0 : SETTLED_MS);
      const result = await handOnMissing(found, intake, journal, signal);
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
  else if (recovered > 0)
    reporter.warning(`recovered ${events} whose delivery never came: deliveries are being lost`);
  if (left === 0) return;
  const found = left === 1 ? '1 found event was' : `${left} found events were`;
  const text = `${found} not accepted, and ${left === 1 ? 'is' : 'are'} tried again in ${again}`;
  reporter.warning(text, { kind: 'incomplete' });
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

/** The outcome of a delivery or of a recovered event, after so many milliseconds. */
type Ended = Acceptance & { readonly delivery: Delivery; readonly ms: number };

/** From this width on an id is whole. */
const WHOLE_ID_COLUMNS = 80;
/** From this width on the milliseconds are shown. */
const DURATION_COLUMNS = 100;
const LEAST_TYPE_COLUMNS = 8;
const MOST_TYPE_COLUMNS = 32;

/** `12:00:01  order.created  0f8fad5b-…  200  12 ms`; in another zone than UTC the time has an offset. */
function liveLine(ended: Ended, now: number, zone: TimeZone, columns: number, palette: Palette): string {
  const { delivery, outcome, ms } = ended;
  const paint = { accepted: palette.good, duplicate: palette.dim, refused: palette.bad }[outcome];
  const time = zone.shown(new Date(now).toISOString().slice(0, 19)).slice(11);
  const id = columns < WHOLE_ID_COLUMNS ? cut(delivery.eventId, 8) : shownId(delivery.eventId).padEnd(36);
  const said = saidText(ended).padEnd(9);
  const took = columns < DURATION_COLUMNS ? '' : `${Math.round(ms)} ms`.padStart(8);
  const room = columns - time.length - id.length - said.length - took.length - 8;
  const type = cut(delivery.type, Math.min(Math.max(room, LEAST_TYPE_COLUMNS), MOST_TYPE_COLUMNS));
  const line = `${palette.dim(time)}  ${type}  ${id}  `;
  return took === '' ? line + paint(said.trimEnd()) : `${line}${paint(said)}  ${palette.dim(took)}`;
}

/** Returns the text in so many columns, escaped to stay on one line. */
function cut(text: string, columns: number): string {
  const line = terminalSafeLine(text);
  return line.length <= columns ? line.padEnd(columns) : `${line.slice(0, columns - 1)}…`;
}

/**
 * Returns a status, or a word for the outcome. If there was no answer, the warning on standard error says
 * why.
 */
function saidText({ outcome, answer }: Ended): string {
  if (outcome === 'duplicate' || answer === undefined) return outcome;
  return answer.status === undefined ? 'no answer' : String(answer.status);
}

/** `12 accepted, 3 duplicates, 1 failed try, 2 rejected; 4 of the accepted were recovered`. */
function summaryText(counts: Intake['counts']): string {
  const { accepted, duplicates, failed, rejected, recovered } = counts;
  const copies = duplicates === 1 ? 'duplicate' : 'duplicates';
  const tries = failed === 1 ? 'failed try' : 'failed tries';
  const text = `${accepted} accepted, ${duplicates} ${copies}, ${failed} ${tries}, ${rejected} rejected`;
  if (recovered === 0) return text;
  return `${text}; ${recovered} of the accepted ${recovered === 1 ? 'was' : 'were'} recovered`;
}

const INTERVAL_MS = 1_000;

/**
 * Prints so many warnings a second, then the latest, with the number of the others: a thousand may come in
 * that time.
 */
function limitWarnings(most: number, reporter: Reporter, clock: Clock) {
  const closed = new AbortController();
  /** Warnings of this second, which begins with the first. */
  let count = 0;
  let latest: { readonly text: string; readonly next: Advice | undefined } | undefined;
  const report = (text: string, next?: Advice) => {
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
  /** Prints the warning that waits. */
  const close = () => {
    closed.abort();
    end();
  };
  return { report, close };
}
