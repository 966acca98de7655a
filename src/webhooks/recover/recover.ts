import { existsSync } from 'node:fs';
import { advise, hooktrail } from '../../advice.ts';
import type { Call } from '../../command.ts';
import type { Context } from '../../context.ts';
import { UsageError } from '../../errors.ts';
import type { EventFilters } from '../../filters/event-filters.ts';
import { warnOfNoMatch } from '../../filters/no-match.ts';
import { resolveToSend } from '../../filters/resolve-filters.ts';
import type { FormatOptions } from '../../formats/format-options.ts';
import { takesNames } from '../../formats/item-writer.ts';
import { type Service, waitText } from '../../http/service.ts';
import type { EventKey, EventKeys } from '../../ids/event-keys.ts';
import { comparedId } from '../../items/guids.ts';
import { withNames } from '../../names/subscription-names.ts';
import { withService } from '../../sign-in/session.ts';
import { startProgress } from '../../terminal/progress.ts';
import type { Reporter } from '../../terminal/reporter.ts';
import { grouped } from '../../terminal/terminal-text.ts';
import { apiTokenOrWarning, type TokenPlace } from '../api-token.ts';
import {
  eventPrinter,
  type FoundEvent,
  type HandOver,
  notFound,
  noticeHandOver,
  onceInOrder,
  onlySubscription,
  searchToForward,
} from '../found-events.ts';
import { defaultJournal, readJournal } from '../journal.ts';
import { LeftEvents, leftFor } from '../left-events.ts';
import { type Forwarded, type ForwardOptions, forwardOnce } from './forward-once.ts';

export interface RecoverFlags
  extends Pick<ForwardOptions, 'forwardTimeout' | 'concurrency' | 'rate' | 'retryFor'> {
  readonly filters: EventFilters;
  readonly handOver: HandOver;
  readonly format: FormatOptions;
  readonly journal?: string | undefined;
  readonly newJournal?: true;
  /** A file with ids of events that the handler has. Without `journal`, nothing is journaled then. */
  readonly received?: string;
  readonly receivedField?: string;
  readonly forwardTo?: URL | undefined;
}

export async function recoverAsProfile(flags: RecoverFlags, call: Call): Promise<void> {
  await withService(call, async (service, settings) => {
    const { journal, ids } = await knownIds(flags, settings.profile, call);
    const filters = await resolveToSend(flags.filters, service, call);
    const place = { ...settings, subscription: onlySubscription(filters) };
    const token = flags.forwardTo && (await tokenForHandler(place, call));
    const found = await findMissing(ids, { ...flags, filters }, service, call);
    const isNothing = !found.failure && found.missing.length + found.known === 0;
    if (isNothing) await warnOfNoMatch(filters, service, call.reporter);
    const { forwardTo } = flags;
    await withNames(service, takesNames(flags.format), async (names) => {
      const named = { ...flags, format: { ...flags.format, names } };
      if (forwardTo && token) await recoverMissing(found, named, { ...token, journal, forwardTo }, call);
      else await listMissing(found, named, call);
    });
  });
}

interface KnownIds {
  /** Undefined if only the file of received ids counts. */
  readonly journal: string | undefined;
  readonly ids: Pick<EventKeys, 'has'>;
}

async function knownIds(flags: RecoverFlags, profile: string, call: Call): Promise<KnownIds> {
  const { context } = call;
  const subscription = onlySubscription(flags.filters);
  const received = await receivedKeys(flags, call);
  if (received && flags.journal === undefined) return { journal: undefined, ids: received };
  const journal = flags.journal ?? defaultJournal(profile, context, subscription);
  const journaled = await idsIn(journal, flags.newJournal === true, call);
  if (!journaled && !flags.newJournal) throw noJournal(flags.journal, profile, subscription, context);
  const has = (key: EventKey) => received?.has(key) || journaled?.has(key) || false;
  return { journal, ids: { has } };
}

/** Puts the warning off until an event goes straight to the handler: a listener has a token of its own. */
async function tokenForHandler(
  place: TokenPlace,
  { context, reporter }: Call,
): Promise<Pick<ForwardOptions, 'apiToken' | 'warn'>> {
  const due: Parameters<Reporter['warning']>[] = [];
  const apiToken = await apiTokenOrWarning(place, context, { warning: (...one) => due.push(one) });
  const warn = () => {
    for (const one of due.splice(0)) reporter.warning(...one);
  };
  return { apiToken, warn };
}

async function receivedKeys(
  { received, receivedField }: Pick<RecoverFlags, 'received' | 'receivedField'>,
  call: Call,
): Promise<EventKeys | undefined> {
  if (received === undefined) return undefined;
  const { readReceivedIds } = await import('../../ids/received-ids.ts');
  return (await readReceivedIds(received, receivedField, call)).keys;
}

function knownText({ received, journal }: Pick<RecoverFlags, 'received' | 'journal'>): string {
  if (received === undefined) return 'in the journal already';
  return journal === undefined ? 'received already' : 'received or journaled already';
}

/**
 * Returns the ids in a journal; undefined if it is missing. `isNew`: the journal may be incomplete. Throws
 * `UsageError` if it has unreadable lines.
 */
async function idsIn(
  journal: string,
  isNew: boolean,
  { context, reporter }: Pick<Call, 'context' | 'reporter'>,
): Promise<EventKeys | undefined> {
  const records = await readJournal(journal, context.machine);
  if (records === undefined || isNew) return records?.ids;
  if (records.damaged > 0) throw unreadableLines(journal, records.damaged);
  // A listener writes a line when it begins a journal: an empty one was truncated, or never used.
  if (records.end === 0)
    reporter.warning(`--journal: ${journal} is empty: every event counts as missed`, { kind: 'usage' });
  return records.ids;
}

/** Without a journal every event would be forwarded again, so the user has to confirm. */
function noJournal(
  journal: string | undefined,
  profile: string,
  subscription: string | undefined,
  context: Pick<Context, 'environment' | 'machine'>,
): UsageError {
  const next = advise`name the journal that ${hooktrail('webhooks listen')} wrote; --new-journal recovers everything`;
  if (journal !== undefined) return new UsageError(`--journal: there is no journal ${journal}`, { next });
  const ofProfile = defaultJournal(profile, context);
  if (subscription !== undefined)
    return new UsageError(`--journal is missing, and the subscription ${subscription} has no journal yet`, {
      details: existsSync(ofProfile) ? [`the profile '${profile}' has the journal ${ofProfile}`] : [],
      next: advise`${next}; ${hooktrail('webhooks listen --subscription', subscription)} keeps one of its own`,
    });
  return new UsageError(`--journal is missing, and the profile '${profile}' has no journal yet`, { next });
}

/** An unreadable line may be any event, which the handler would get again. */
function unreadableLines(journal: string, count: number): UsageError {
  const lines = count === 1 ? '1 line' : `${grouped(count)} lines`;
  return new UsageError(`--journal: ${lines} of ${journal} cannot be read`, {
    next: 'restore the journal; --new-journal recovers anyway, and hands over the events of these lines again',
  });
}

interface Missing {
  readonly missing: readonly FoundEvent[];
  readonly known: number;
  /** The error that ended the search; events found before it are still used. */
  readonly failure: { readonly error: unknown } | undefined;
  /** The step that recovers the rest, valid at any later time. */
  readonly again: string;
}

async function findMissing(
  ids: Pick<EventKeys, 'has'>,
  { filters, handOver }: Pick<RecoverFlags, 'filters' | 'handOver'>,
  service: Service,
  call: Call,
): Promise<Missing> {
  const records: FoundEvent[] = [];
  const wanted = new Map(filters.eventIds.map((id) => [comparedId(id), id.toLowerCase()]));
  const known = new Set<EventKey>();
  let failure: Missing['failure'];
  let again = 'run the same command again';
  try {
    const { queries, events } = await searchToForward(filters, service, call, handOver);
    const after = queries[0]?.after;
    if (filters.after?.time.kind !== 'instant' && after) again += ` with --since ${after.text}`;
    for await (const event of events) {
      wanted.delete(comparedId(event.eventId ?? ''));
      if (event.key && ids.has(event.key)) known.add(event.key);
      else records.push(event);
    }
  } catch (error) {
    call.context.signal.throwIfAborted();
    failure = { error };
  }
  if (!failure && wanted.size > 0) throw notFound([...wanted.values()], filters, { done: 'recovered' });
  return { missing: onceInOrder(records, call.reporter), known: known.size, failure, again };
}

async function listMissing(
  { missing, known, failure }: Missing,
  flags: RecoverFlags,
  call: Call,
): Promise<void> {
  await (await eventPrinter(flags.format, call))(missing);
  if (failure) throw failure.error;
  call.reporter.notice(`${grouped(missing.length)} to forward; ${grouped(known)} ${knownText(flags)}`);
  noticeHandOver(missing, call.reporter);
  noticeDelivered(missing, call.reporter);
}

/**
 * Forwards the events that the journal lacks, oldest first, then prints those that the handler did not accept
 * and a summary. Throws `ServiceError` if there are any.
 */
async function recoverMissing(
  found: Missing,
  flags: RecoverFlags,
  target: Pick<ForwardOptions, 'journal' | 'forwardTo' | 'apiToken' | 'warn'>,
  call: Call,
): Promise<void> {
  const { failure } = found;
  // Without a journal, the file of received ids does not have the events forwarded now.
  const again =
    target.journal === undefined
      ? `export the received ids again, now with the accepted events, then ${found.again}`
      : found.again;
  if (failure && found.missing.length + found.known === 0) throw failure.error;
  const { context, reporter } = call;
  const print = await eventPrinter(flags.format, call);
  const progress = startProgress(context, reporter, 'recovering');
  const onWait = (reason: string, delay: number) => progress.update({ note: waitText({ reason, delay }) });
  const left = new LeftEvents();
  const forwarded: FoundEvent[] = [];
  let { known } = found;
  const onEnd = (event: FoundEvent, { outcome, reason = NOT_ACCEPTED }: Forwarded) => {
    if (outcome === 'refused') left.add(event, reason, reporter);
    else if (outcome === 'duplicate') known++;
    else forwarded.push(event);
    const { length } = forwarded;
    progress.update({ events: length + known + left.events.length, note: `${grouped(length)} forwarded` });
  };
  try {
    await forwardOnce(found.missing, { ...flags, ...target, onWait, onEnd }, context);
  } finally {
    progress.stop();
    await print(left.events).catch(() => undefined);
    const rest = found.missing.length + found.known - forwarded.length - known;
    const those = failure ? ' of those found' : '';
    reporter.notice(
      `${grouped(forwarded.length)} forwarded; ${grouped(known)} ${knownText(flags)}; ${grouped(rest)} left${those}`,
    );
    noticeDelivered(forwarded, reporter);
    if (context.signal.aborted && rest > 0) reporter.notice(`next: ${again}: it forwards them`);
  }
  if (failure) throw failure.error;
  const next = left.events.some(({ key }) => key) ? `${again} to retry them` : REPLAY;
  if (left.events.length > 0) throw left.error('recovered', next);
}

const REPLAY = advise`${hooktrail('webhooks replay')} also sends events without an 'eventId'`;
const NOT_ACCEPTED = leftFor('the handler did not accept it');

/**
 * An event that the journal lacks may have been delivered before the journal began, or to another handler.
 */
function noticeDelivered(events: readonly FoundEvent[], reporter: Reporter): void {
  const count = events.filter(({ isDelivered }) => isDelivered).length;
  if (count === 0) return;
  reporter.notice(
    `${grouped(count)} of these ${count === 1 ? 'was' : 'were'} already delivered, according to the service; --failed leaves such events out`,
  );
}
