import fs from 'node:fs';
import { type Call, untilStopped } from '../../command.ts';
import type { Context } from '../../context.ts';
import { UsageError } from '../../errors.ts';
import type { LockedError } from '../../lock/lock.ts';
import { marketplacesText } from '../../names/marketplaces.ts';
import { withService } from '../../sign-in/session.ts';
import { paletteOf } from '../../terminal/palette.ts';
import type { Reporter } from '../../terminal/reporter.ts';
import { grouped } from '../../terminal/terminal-text.ts';
import type { TimeZone } from '../../time/time-zone.ts';
import { createHandler, type Handler } from '../forward.ts';
import type { HandOver } from '../found-events.ts';
import { defaultJournal, type Journal, openJournal } from '../journal.ts';
import { openListenerSocket } from '../local-socket.ts';
import { DeliveryPrinter } from './delivery-printer.ts';
import { ExpectedToken, probeTokenStore, saveApiToken } from './expected-token.ts';
import { Intake, summaryText } from './intake.ts';
import { createFindMissed, keepRecovering, type Recovery, type RecoveryTimes } from './missed-events.ts';
import { type Receiver, type ReceiverOptions, startReceiver } from './receiver.ts';

/** Milliseconds that deliveries in progress have to finish after a stop. */
const GRACE_MS = 10_000;
/** Milliseconds that senders have after that to read the refusal. */
const FAREWELL_MS = 1_000;
/** Milliseconds after which a message explains why stopping takes long. */
const SILENT_STOP_MS = 1_000;

export interface ListenFlags
  extends Pick<ReceiverOptions, 'host' | 'port' | 'path' | 'maxBody' | 'requestTimeout' | 'health'>,
    RecoveryTimes {
  readonly forwardTo?: URL;
  /** Milliseconds without progress until the handler counts as failed. */
  readonly forwardTimeout: number;
  readonly journal?: string;
  readonly subscription?: string;
  readonly saveToken?: true;
  readonly handOver: HandOver;
  readonly newJournal?: true;
  readonly zone: TimeZone;
}

interface ListenOptions extends ListenFlags {
  readonly token: () => string;
  readonly isExpected: ReceiverOptions['isExpected'];
  readonly journal: string;
}

type ListenCall = Pick<Call, 'context' | 'reporter'>;

export async function listenAsProfile(flags: ListenFlags, call: Call): Promise<void> {
  const { context, reporter } = call;
  const settings = call.settings.checked();
  const place = { ...settings, subscription: flags.subscription };
  if (flags.saveToken) await probeTokenStore(place, context);
  const token = await ExpectedToken.open(place, flags.saveToken === true, call);
  try {
    if (flags.saveToken)
      reporter.notice(`the Api-Token is saved in ${await saveApiToken(token.current(), place, context)}`);
    const journal = flags.journal ?? defaultJournal(settings.profile, context, flags.subscription);
    if (flags.journal === undefined && flags.subscription !== undefined)
      sayOtherJournal(journal, settings.profile, context, reporter);
    const options = { ...flags, token: token.current, isExpected: token.isCurrent, journal };
    if (flags.recover === undefined) return await listen(options, undefined, call);
    const { marketplaces = [] } = call.settings;
    if (marketplaces.length > 0)
      reporter.notice(`only events of ${marketplacesText(marketplaces)} are recovered, by your settings`);
    await withService(call, async (service) => {
      const find = createFindMissed(service, flags.subscription, flags.handOver, call);
      await listen(options, find, call);
    });
  } finally {
    token.close();
  }
}

/**
 * A subscription's first journal does not know the events in the profile's journal, so the same handler would
 * get them again.
 */
function sayOtherJournal(journal: string, profile: string, context: Context, reporter: Reporter): void {
  const ofProfile = defaultJournal(profile, context);
  if (fs.existsSync(journal) || !fs.existsSync(ofProfile)) return;
  reporter.notice(
    `a new journal begins for this subscription: events in ${ofProfile} count as new here (--journal names another)`,
  );
}

async function listen(
  options: ListenOptions,
  find: Recovery['find'] | undefined,
  call: ListenCall,
): Promise<void> {
  const { context, reporter } = call;
  const { forwardTo, forwardTimeout, subscription, token } = options;
  const { clock, signal } = context;
  const journal = await openListenersJournal(options, call);
  // Count the ids before this run's first delivery adds one.
  const known = `${grouped(journal.size)} known ${journal.size === 1 ? 'id' : 'ids'} in ${journal.path}`;
  const leftBefore = journal.size > 0 || options.newJournal ? undefined : clock.now();
  const handler = forwardTo && createHandler(forwardTo, forwardTimeout, context);
  const palette = await paletteOf(reporter.stdoutColor);
  const printer = new DeliveryPrinter(options.zone, palette, context);
  const intake = new Intake({ token, journal, handler, forwardTo, subscription, clock, printer, reporter });
  try {
    const receiver = await openReceiver(options, intake, journal, call);
    const closeSocket = await openSocket(options, intake, journal, call);
    reporter.notice(`listening on ${addressText(options, receiver.port)}; ${known}; stop with Ctrl-C`);
    const ended = new AbortController();
    const stopped = untilStopped(AbortSignal.any([signal, journal.failed]));
    const recovery = find && { find, intake, journal, times: options, leftBefore, clock, reporter };
    const recovering = recovery ? [keepRecovering(recovery, ended.signal)] : [];
    await Promise.race([stopped, ...recovering]).finally(async () => {
      ended.abort();
      await stopListening({ receiver, handler, closeSocket, journal, intake }, call);
    });
  } finally {
    await journal.close();
    intake.close();
    await handler?.close();
    await printer.flush();
    if (context.stdout.isTerminal) reporter.notice(summaryText(intake.counts));
  }
}

async function openReceiver(
  options: ListenOptions,
  intake: Intake,
  journal: Journal,
  { context: { clock }, reporter }: ListenCall,
): Promise<Receiver> {
  const since = new Date(clock.now()).toISOString();
  const receiver: Receiver = await startReceiver({
    ...options,
    accept: (delivery) => intake.accept(delivery),
    onRejected: (status, message) => intake.noteRejected(status, message),
    report: () => {
      // Leaves out the request for the report itself.
      const underWay = receiver.underWay + intake.foundUnderWay - 1;
      return { since, ...intake.counts, underWay, known: journal.size };
    },
    onAnswer: reporter.trace,
    clock,
  }).catch((error) => {
    throw unusableAddress(error, options);
  });
  return receiver;
}

/** Warns if other processes cannot reach this listener: deliveries do not depend on that. */
async function openSocket(
  { forwardTo, forwardTimeout }: ListenOptions,
  intake: Intake,
  journal: Journal,
  { context: { machine }, reporter }: ListenCall,
): Promise<(() => Promise<void>) | undefined> {
  const self = { forwardTo: forwardTo?.href ?? null, forwardTimeout };
  const acceptFound = (body: Buffer) => intake.acceptFound(body);
  return await openListenerSocket(journal, machine, self, acceptFound).catch((error) => {
    reporter.warning(`\`webhooks recover\` will not reach this listener: ${error.message}`, {
      kind: 'incomplete',
    });
    return undefined;
  });
}

interface Listening {
  readonly receiver: Receiver;
  readonly handler: Handler | undefined;
  readonly closeSocket: (() => Promise<void>) | undefined;
  readonly journal: Journal;
  readonly intake: Intake;
}

async function stopListening(
  { receiver, handler, closeSocket, journal, intake }: Listening,
  { context: { clock }, reporter }: ListenCall,
): Promise<void> {
  const stopped = new AbortController();
  const after = (milliseconds: number, act: () => void) =>
    void clock.sleep(milliseconds, stopped.signal).then(act, () => undefined);
  after(SILENT_STOP_MS, () => {
    const count = receiver.underWay + intake.foundUnderWay;
    const deliveries = count === 1 ? 'delivery' : 'deliveries';
    if (count > 0)
      reporter.notice(`waiting up to ${GRACE_MS / 1000} s for ${grouped(count)} ${deliveries} in progress`);
  });
  // Closing the handler makes unanswered events count as not accepted.
  after(GRACE_MS, () => void handler?.close());
  after(GRACE_MS + FAREWELL_MS, () => receiver.destroy());
  await Promise.all([receiver.stop(), closeSocket?.(), journal.idle()]);
  stopped.abort();
}

function addressText({ host, path }: ListenOptions, port: number): string {
  const shownHost = host.includes(':') ? `[${host}]` : host;
  return `http://${shownHost}:${port}${path}`;
}

async function openListenersJournal(
  { journal: file, keep }: ListenOptions,
  { context, reporter }: ListenCall,
): Promise<Journal> {
  const onWait = ({ holder }: LockedError) => {
    const other = `another hooktrail process${holder === undefined ? '' : ` (${holder})`}`;
    reporter.notice(`waiting for ${other} that has the journal ${file}; another --journal needs no wait`);
  };
  const journal = await openJournal(file, { keep, onWait }, context);
  const lines = journal.damaged === 1 ? '1 line' : `${grouped(journal.damaged)} lines`;
  if (journal.damaged > 0)
    reporter.warning(`skipped ${lines} of ${file} that cannot be read`, { kind: 'incomplete' });
  return journal;
}

function unusableAddress(error: NodeJS.ErrnoException, { port, host }: ListenOptions): unknown {
  const { code, message } = error;
  if (code === 'EADDRINUSE')
    return new UsageError(`--port: ${port} is taken`, { next: 'choose another port' });
  if (code === 'EACCES') return new UsageError(`--port: this user may not listen on ${port}`);
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return new UsageError(`--host: '${host}' is not an address of this machine`, { details: [message] });
  }
  return error;
}
