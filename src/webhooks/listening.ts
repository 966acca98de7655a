import { untilStopped } from '../command.ts';
import type { Clock, Context } from '../context.ts';
import { ClosedPipeError, InterruptedError, NotSignedInError, UsageError } from '../errors.ts';
import type { LockedError } from '../lock/lock.ts';
import { durationText } from '../settings/flag-values.ts';
import { paletteOf } from '../terminal/palette.ts';
import type { Reporter } from '../terminal/reporter.ts';
import type { TimeZone } from '../time/time-zone.ts';
import { type Delivery, readDelivery, shownId } from './delivery.ts';
import { DeliveryLog, ProblemLog, summaryText } from './delivery-log.ts';
import { answerText, createHandler, type Handler, type HandlerAnswer, isTaken } from './forward.ts';
import { type FoundEvent, oldestFirst } from './found-events.ts';
import { type Journal, openJournal } from './journal.ts';
import { announceListener, recoveryDoor, wantJournal } from './listener-address.ts';
import { type Accepted, type Receiver, type Refused, startReceiver } from './receiver.ts';

export interface ListenOptions {
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
export interface PeriodicRecovery {
  /** How many milliseconds a search looks back. */
  readonly window: number;
  /** Milliseconds between the end of one search and the next. */
  readonly interval: number;
  /** Yields the events created between two times, which are milliseconds ago by the service's clock, in any order. */
  find(from: number, until: number): AsyncIterable<FoundEvent>;
}

/**
 * When the program is stopped, deliveries in progress get this many milliseconds to finish, and then as many to be
 * refused.
 */
const GRACE = 10_000;
const FAREWELL = 1_000;
/** If stopping takes longer than this, a message says why. */
const PATIENCE = 1_000;

/** Receives deliveries until the context's signal aborts, then rejects with its reason. */
export async function listen(options: ListenOptions, context: Context, reporter: Reporter): Promise<void> {
  const { host, port, path, forwardTo, recovery } = options;
  const { stdout, clock, signal } = context;
  const journal = await openListenersJournal(options, context, reporter);
  const handler = forwardTo && createHandler(forwardTo, options.forwardTimeout, context);
  const log = new DeliveryLog(stdout, clock, await paletteOf(reporter.stdoutColor), options.zone);
  const problems = new ProblemLog(reporter, clock);
  const accept = acceptance({ journal, handler, log, onProblem: (text) => problems.report(text) });
  // Count the ids before the first delivery of this run adds one.
  const known = `${journal.size} known ${journal.size === 1 ? 'id' : 'ids'} in ${journal.path}`;
  const startedAt = clock.now();
  const ended = new AbortController();
  let withdraw: (() => Promise<void>) | undefined;
  try {
    const receiver: Receiver = await startReceiver({
      ...options,
      accept,
      onRejected: ({ status, message }) => {
        log.counts.rejected++;
        problems.report(`refused with ${status}: ${message}`);
      },
      health: options.health === undefined ? undefined : { path: options.health, report: () => report() },
      ...(reporter.verbose ? { onAnswer: (answer) => reporter.trace(Object.values(answer).join(' ')) } : {}),
    }).catch((error) => {
      throw unusableAddress(error, port, host);
    });
    const report = () => ({
      since: new Date(startedAt).toISOString(),
      ...log.counts,
      underWay: receiver.underWay,
      known: journal.size,
    });
    withdraw = await openToRecovery(receiver, journal, forwardTo, reporter);
    const shown = host.includes(':') ? `[${host}]` : host;
    reporter.notice(`listening on http://${shown}:${receiver.port}${path}; ${known}; stop with Ctrl-C`);
    const parts = { token: options.token, journal, accept, clock, signal: ended.signal, reporter };
    try {
      await Promise.race([
        untilStopped(signal),
        journal.failed,
        ...(recovery ? [keepRecovering(recovery, parts)] : []),
      ]);
    } finally {
      ended.abort();
      await withdraw().catch(() => undefined);
      await stop(receiver, handler, clock, reporter);
    }
  } finally {
    await journal.close();
    problems.close();
    await handler?.close();
    await log.flushed().catch(() => undefined);
    if (stdout.isTerminal) reporter.notice(summaryText(log.counts));
  }
}

/**
 * Lets `recover` find this listener. Returns a function that ends this. A failure is only a warning, since deliveries
 * do not depend on it.
 */
async function openToRecovery(
  receiver: Receiver,
  journal: Journal,
  forwardTo: URL | undefined,
  reporter: Reporter,
): Promise<() => Promise<void>> {
  const address = { url: receiver.url, forwardTo: forwardTo?.href ?? null };
  try {
    const { secret, withdraw } = await announceListener(journal.path, address);
    receiver.admit(recoveryDoor(secret));
    return withdraw;
  } catch (error) {
    reporter.warning(`\`webhooks recover\` will not find this listener: ${(error as Error).message}`);
    return async () => {};
  }
}

/** Stops accepting deliveries, and gives those in progress some time. */
async function stop(
  receiver: Receiver,
  handler: Handler | undefined,
  clock: Clock,
  reporter: Reporter,
): Promise<void> {
  const stopped = new AbortController();
  const after = (milliseconds: number, act: () => void) => {
    clock.sleep(milliseconds, stopped.signal).then(act, () => undefined);
  };
  after(PATIENCE, () => {
    if (receiver.underWay > 0) reporter.notice(waiting(receiver.underWay));
  });
  // An event without an answer by then counts as not accepted.
  after(GRACE, () => void handler?.close());
  after(GRACE + FAREWELL, () => receiver.destroy());
  await receiver.stop();
  stopped.abort();
}

async function openListenersJournal(
  { journal: file, keep }: ListenOptions,
  context: Context,
  reporter: Reporter,
): Promise<Journal> {
  let wanted: Promise<() => Promise<void>> | undefined;
  const onWait = ({ holder }: LockedError, path: string) => {
    const name = holder === undefined ? '' : ` (${holder})`;
    reporter.notice(`waiting for another hooktrail process${name} that has the journal ${file}`);
    wanted = wantJournal(path);
  };
  const journal = await openJournal(file, { keep, onWait }, context).finally(async () => {
    await (await wanted)?.();
  });
  if (journal.damaged > 0) {
    reporter.warning(`${journal.damaged} bytes of ${file} belong to no record and are skipped`);
  }
  return journal;
}

type Accept = (delivery: Delivery, isRecovered: boolean) => Promise<Accepted | Refused>;

interface AcceptanceParts {
  readonly journal: Pick<Journal, 'once'>;
  readonly handler: { forward(delivery: Delivery): Promise<HandlerAnswer> } | undefined;
  readonly log: DeliveryLog;
  /** Called for each delivery that was not accepted. */
  readonly onProblem: (text: string) => void;
}

/**
 * Accepts deliveries. The sender gets 200 only when the event was forwarded, its id is on disk and its line is written,
 * and 502 otherwise, so that it sends the event again. Without a handler, printing the line counts as forwarding.
 */
function acceptance({ journal, handler, log, onProblem }: AcceptanceParts): Accept {
  return async (delivery, isRecovered) => {
    const began = performance.now();
    let answer: HandlerAnswer | undefined;
    const forward = async () => {
      if (!handler) {
        await log.print(delivery);
        return true;
      }
      answer = await handler.forward(delivery);
      if (isTaken(answer)) return true;
      onProblem(`${shownId(delivery.eventId)}: ${answerText(answer)}`);
      return false;
    };
    const end = (outcome: 'accepted' | 'duplicate' | 'refused') => {
      log.ended({ delivery, outcome, answer, ms: performance.now() - began });
    };
    try {
      const outcome = await journal.once(delivery.key, forward);
      if (handler && outcome === 'accepted') await log.print(delivery);
      end(outcome);
      if (isRecovered && outcome === 'accepted') log.counts.recovered++;
      if (outcome !== 'refused') return { status: 200, outcome };
      const message = 'the handler did not accept the delivery';
      return { status: 502, code: 'handler.failed', message, answer };
    } catch (error) {
      // If the program is being stopped, the delivery is not at fault.
      const isEnd = error instanceof ClosedPipeError || error instanceof InterruptedError;
      if (!isEnd) onProblem(`${shownId(delivery.eventId)}: ${(error as Error).message}`);
      end('refused');
      return { status: 502, code: 'delivery.not_accepted', message: 'the delivery could not be accepted' };
    }
  };
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
const SETTLED = 10_000;

/**
 * Recovers missed events at the start and after each interval. Never resolves; rejects if there is no sign-in to search
 * with.
 */
async function keepRecovering(recovery: PeriodicRecovery, parts: RecoveryParts): Promise<never> {
  const { clock, signal, reporter } = parts;
  const again = durationText(recovery.interval);
  for (let isFirst = true; ; isFirst = false) {
    try {
      const found = recovery.find(recovery.window, isFirst ? 0 : SETTLED);
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
  return `waiting up to ${GRACE / 1000} s for ${count} ${count === 1 ? 'delivery' : 'deliveries'} in progress`;
}
