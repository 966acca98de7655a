import { type Call, untilStopped } from '../command.ts';
import type { Clock, Context } from '../context.ts';
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
import { requireApiToken, saveApiToken, tokenPlace } from './api-token.ts';
import { type Delivery, readDelivery, shownId } from './delivery.ts';
import { DeliveryLog, ProblemLog, summaryText } from './delivery-log.ts';
import { answerLine, createHandler, type Handler, type HandlerAnswer, isTaken } from './forward.ts';
import { type FoundEvent, oldestFirst, searchEvents } from './found-events.ts';
import { defaultJournal, type Journal, openJournal } from './journal.ts';
import { answerAsHolder, askForJournal, type HolderReply, type HolderSocket } from './local-socket.ts';
import { type Accepted, type Receiver, type Refused, startReceiver } from './receiver.ts';

interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly path: string;
  /** The expected `Api-Token`. */
  readonly token: string;
  /** Undefined if deliveries are only printed. */
  readonly forwardTo: URL | undefined;
  /** Milliseconds without progress until the handler counts as failed. */
  readonly forwardTimeout: number;
  readonly journal: string;
  /** Milliseconds after which ids are forgotten. */
  readonly keep: number | undefined;
  /** Bytes. */
  readonly maxBody: number;
  /** Milliseconds a sender has for a whole delivery. */
  readonly requestTimeout: number;
  /** The path that answers with the health report. */
  readonly health: string | undefined;
  readonly recovery: PeriodicRecovery | undefined;
  /** The zone for times on a terminal. */
  readonly zone: TimeZone;
}

/** Options for the searches that find missed events, at the start and then at intervals. */
interface PeriodicRecovery {
  /** How many milliseconds a search looks back. */
  readonly window: number;
  /** Milliseconds between the end of one search and the next. */
  readonly interval: number;
  /** Yields the events created between two times, which are milliseconds ago by the service's clock, in any order. */
  find(from: number, until: number): AsyncIterable<FoundEvent>;
}

/** The command line. */
export interface ListenFlags extends Omit<ListenOptions, 'token' | 'journal' | 'recovery'> {
  /** Undefined for the profile's own. */
  readonly journal: string | undefined;
  readonly savesToken: boolean;
  readonly recovery: Omit<PeriodicRecovery, 'find'> | undefined;
}

/** Listens with the token and the journal of the profile, and with its sign-in if missed events are to be recovered. */
export async function listenAsProfile(
  { savesToken, recovery, ...flags }: ListenFlags,
  call: Call<SettingFlags>,
): Promise<void> {
  const { context, reporter } = call;
  const settings = await loadSettings(call.flags.profile ? { profile: call.flags.profile } : {}, context);
  const place = tokenPlace(settings);
  const token = await requireApiToken(place, context, savesToken);
  if (savesToken) {
    reporter.notice(`the Api-Token is saved in ${await saveApiToken(token, place, context)}`);
  }
  const journal = flags.journal ?? defaultJournal(settings.profile, context);
  const options = { ...flags, token, journal };
  if (!recovery) return listen({ ...options, recovery }, context, reporter);
  await withService(call, async (service) => {
    const find = (from: number, until: number) => {
      const within = { after: ago(from), ...(until === 0 ? {} : { before: ago(until) }) };
      const filters = new EventFilters(within);
      return searchEvents({ service, filters, context, progress: SILENT, onDoubt: reporter.trace });
    };
    await listen({ ...options, recovery: { ...recovery, find } }, context, reporter);
  });
}

const SILENT = { update: () => {} };

/** A time so many milliseconds ago, for a search. */
function ago(milliseconds: number) {
  const time = { kind: 'ago', seconds: milliseconds / 1000 } as const;
  return { flag: '--recover', text: durationText(milliseconds), time };
}

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
  const { host, port, path, forwardTo, recovery, token } = options;
  const { stdout, stderr, clock, signal } = context;
  const journal = await openListenersJournal(options, context, reporter);
  const handler = forwardTo && createHandler(forwardTo, options.forwardTimeout, context);
  const log = new DeliveryLog(stdout, clock, await paletteOf(reporter.stdoutColor), options.zone);
  const rejections = new ProblemLog(reporter, clock, 1);
  const failures = new ProblemLog(reporter, clock, 20);
  const onFailure = (text: string, next?: string) => failures.report(text, next);
  const accept = acceptance({ journal, handler, forwardTo, log, onFailure });
  // Count the ids before the first delivery of this run adds one.
  const known = `${journal.size} known ${journal.size === 1 ? 'id' : 'ids'} in ${journal.path}`;
  const startedAt = clock.now();
  const ended = new AbortController();
  let socket: HolderSocket | undefined;
  try {
    const receiver: Receiver = await startReceiver({
      ...options,
      accept: (delivery) => accept(delivery, false),
      onRejected: ({ status, message }) => {
        log.counts.rejected++;
        rejections.report(`refused with ${status}: ${message}`);
      },
      health: options.health === undefined ? undefined : { path: options.health, report: () => report() },
      ...(reporter.verbose ? { onAnswer: (answer) => reporter.trace(Object.values(answer).join(' ')) } : {}),
    }).catch((error) => {
      throw unusableAddress(error, port, host);
    });
    const underWay = () => receiver.underWay + (socket?.underWay ?? 0);
    const report = () => ({
      since: new Date(startedAt).toISOString(),
      ...log.counts,
      underWay: underWay(),
      known: journal.size,
    });
    socket = await openToRecovery({ journal, accept, token, options, context, reporter });
    const shown = host.includes(':') ? `[${host}]` : host;
    reporter.notice(`listening on http://${shown}:${receiver.port}${path}; ${known}; stop with Ctrl-C`);
    const parts = { token, journal, accept, clock, signal: ended.signal, reporter };
    try {
      await Promise.race([
        untilStopped(signal),
        journal.failed,
        ...(recovery ? [keepRecovering(recovery, parts)] : []),
      ]);
    } finally {
      ended.abort();
      // The terminal has echoed ^C where the next line would begin.
      if (stderr.isTerminal && signal.aborted) await stderr.write('\n').catch(() => undefined);
      const closing = [() => receiver.stop(), () => socket?.close()];
      const destroy = () => receiver.destroy();
      await stop({ closing, underWay, destroy, handler, clock, reporter });
    }
  } finally {
    await journal.close();
    rejections.close();
    failures.close();
    await handler?.close();
    await log.flushed().catch(() => undefined);
    if (stdout.isTerminal) reporter.notice(summaryText(log.counts));
  }
}

interface OpenToRecovery {
  readonly journal: Journal;
  readonly accept: Accept;
  readonly token: string;
  readonly options: ListenOptions;
  readonly context: Context;
  readonly reporter: Reporter;
}

/**
 * Lets `recover` hand its events to this listener, which treats them as deliveries. A failure is only a warning, since
 * deliveries do not depend on it.
 */
async function openToRecovery({
  journal,
  accept,
  token,
  options: { forwardTo, forwardTimeout },
  context,
  reporter,
}: OpenToRecovery): Promise<HolderSocket | undefined> {
  const self = { holder: 'listener', forwardTo: forwardTo?.href ?? null, forwardTimeout } as const;
  const answers = {
    describe: () => self,
    accept: async (body: Buffer): Promise<HolderReply> => {
      const delivery = readDelivery(body, { contentType: 'application/json', apiToken: token });
      const result = await accept(delivery, true);
      return 'outcome' in result
        ? { ...self, outcome: result.outcome }
        : { ...self, outcome: 'refused', answer: result.answer };
    },
  };
  return await answerAsHolder(journal, context.machine, answers).catch((error) => {
    reporter.warning(`\`webhooks recover\` will not reach this listener: ${(error as Error).message}`);
    return undefined;
  });
}

interface StopParts {
  readonly closing: readonly (() => Promise<void> | undefined)[];
  readonly underWay: () => number;
  readonly destroy: () => void;
  readonly handler: Handler | undefined;
  readonly clock: Clock;
  readonly reporter: Reporter;
}

/** Stops accepting deliveries, and gives those in progress some time. */
async function stop({ closing, underWay, destroy, handler, clock, reporter }: StopParts): Promise<void> {
  const stopped = new AbortController();
  const after = (milliseconds: number, act: () => void) => {
    clock.sleep(milliseconds, stopped.signal).then(act, () => undefined);
  };
  after(SILENT_STOP_MS, () => {
    if (underWay() > 0) reporter.notice(waiting(underWay()));
  });
  // An event without an answer by then counts as not accepted.
  after(GRACE_MS, () => void handler?.close());
  after(GRACE_MS + FAREWELL_MS, destroy);
  await Promise.all(closing.map((close) => close()));
  stopped.abort();
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
    reporter.warning(
      `${lines} of ${file} cannot be read and ${journal.damaged === 1 ? 'is' : 'are'} skipped`,
    );
  }
  return journal;
}

type Accept = (delivery: Delivery, isRecovered: boolean) => Promise<Accepted | Refused>;

interface AcceptanceParts {
  readonly journal: Pick<Journal, 'once'>;
  readonly handler: { forward(delivery: Delivery): Promise<HandlerAnswer> } | undefined;
  readonly forwardTo: URL | undefined;
  readonly log: DeliveryLog;
  /** Called for each delivery that was not accepted. */
  readonly onFailure: (text: string, next?: string) => void;
}

/**
 * Accepts deliveries. The sender gets 200 only when the handler has accepted the event, its line is written and its id
 * is on disk, in this order, and 502 otherwise, so that it sends the event again: an id in the journal without its line
 * would make the second delivery a duplicate that nobody has seen.
 */
function acceptance({ journal, handler, forwardTo, log, onFailure }: AcceptanceParts): Accept {
  return async (delivery, isRecovered) => {
    const began = performance.now();
    let answer: HandlerAnswer | undefined;
    const forward = async () => {
      answer = await handler?.forward(delivery);
      if (answer && !isTaken(answer)) return false;
      await log.print(delivery);
      return true;
    };
    const end = (outcome: 'accepted' | 'duplicate' | 'refused') => {
      log.ended({ delivery, outcome, answer, ms: performance.now() - began });
    };
    try {
      const outcome = await journal.once(delivery.key, forward);
      end(outcome);
      if (isRecovered && outcome === 'accepted') log.counts.recovered++;
      if (outcome !== 'refused') return { status: 200, outcome };
      if (answer && forwardTo) {
        const next = replayCommand(delivery.eventId, forwardTo);
        onFailure(`${shownId(delivery.eventId)}: ${answerLine(answer)}`, next);
      }
      const message = 'the handler did not accept the delivery';
      return { status: 502, code: 'handler.failed', message, answer };
    } catch (error) {
      // If the program is being stopped, the delivery is not at fault.
      const isEnd = error instanceof ClosedPipeError || error instanceof InterruptedError;
      if (!isEnd) onFailure(`${shownId(delivery.eventId)}: ${(error as Error).message}`);
      end('refused');
      return { status: 502, code: 'delivery.not_accepted', message: 'the delivery could not be accepted' };
    }
  };
}

/** The command that sends an event again; undefined if the service cannot find it, since its id is no GUID. */
function replayCommand(eventId: string, forwardTo: URL): string | undefined {
  if (!isGuid(eventId)) return undefined;
  return `\`hooktrail webhooks replay --id ${eventId} --forward-to ${shellWord(forwardTo.href)}\` sends it again`;
}

interface RecoveryParts {
  readonly token: string;
  readonly journal: Journal;
  readonly accept: Accept;
  readonly clock: Clock;
  /** Aborts when the listener closes. */
  readonly signal: AbortSignal;
  readonly reporter: Reporter;
}

/** The delivery of an event this young may still arrive, so the next search looks for it again. */
const SETTLED_MS = 10_000;

/**
 * Recovers missed events at the start and after each interval. Never resolves; rejects if there is no sign-in to search
 * with.
 */
async function keepRecovering(recovery: PeriodicRecovery, parts: RecoveryParts): Promise<never> {
  const { clock, signal, reporter } = parts;
  const again = durationText(recovery.interval);
  for (let isFirst = true; ; isFirst = false) {
    try {
      const found = recovery.find(recovery.window, isFirst ? 0 : SETTLED_MS);
      const { recovered, left } = await recoverOnce(found, parts);
      const events = `${recovered} ${recovered === 1 ? 'event' : 'events'}`;
      const window = durationText(recovery.window);
      if (isFirst) reporter.notice(`recovered ${events} of the last ${window}`);
      else if (recovered > 0) {
        reporter.warning(`recovered ${events} whose delivery never came: deliveries are being lost`);
      }
      if (left > 0) {
        const found = left === 1 ? '1 found event was' : `${left} found events were`;
        reporter.warning(`${found} not accepted, and ${left === 1 ? 'is' : 'are'} tried again in ${again}`);
      }
    } catch (error) {
      signal.throwIfAborted();
      if (isFirst && (error instanceof NotSignedInError || error instanceof UsageError)) throw error;
      reporter.warning(`events could not be recovered, again in ${again}: ${(error as Error).message}`);
    }
    await clock.sleep(recovery.interval, signal);
  }
}

async function recoverOnce(
  found: AsyncIterable<FoundEvent>,
  { token, journal, accept, signal }: RecoveryParts,
): Promise<{ recovered: number; left: number }> {
  const missing: FoundEvent[] = [];
  for await (const event of found) if (event.key && !journal.has(event.key)) missing.push(event);
  const result = { recovered: 0, left: 0 };
  // One at a time, so that the handler gets them in order of creation.
  for (const { body } of oldestFirst(missing)) {
    signal.throwIfAborted();
    const headers = { contentType: 'application/json', apiToken: token };
    const answer = await accept(readDelivery(body, headers), true);
    if (!('outcome' in answer)) result.left++;
    else if (answer.outcome === 'accepted') result.recovered++;
  }
  return result;
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

function waiting(count: number): string {
  return `waiting up to ${GRACE_MS / 1000} s for ${count} ${count === 1 ? 'delivery' : 'deliveries'} in progress`;
}
