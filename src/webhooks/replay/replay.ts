import { type Advice, advise, hooktrail, hooktrailOver } from '../../advice.ts';
import type { Call } from '../../command.ts';
import { UsageError } from '../../errors.ts';
import type { EventFilters } from '../../filters/event-filters.ts';
import { warnOfNoMatch } from '../../filters/no-match.ts';
import { resolveToSend } from '../../filters/resolve-filters.ts';
import type { FormatOptions } from '../../formats/format-options.ts';
import { takesNames } from '../../formats/item-writer.ts';
import { eventsById, type Got, type Ids, storedById } from '../../get/get-events.ts';
import type { Service } from '../../http/service.ts';
import { EMPTY_LIST, idsOfInput } from '../../ids/event-ids.ts';
import { comparedId, isGuid } from '../../items/guids.ts';
import { withNames } from '../../names/subscription-names.ts';
import { sideBySide } from '../../paging/side-by-side.ts';
import { type Settings, serviceText } from '../../settings/settings.ts';
import { isOfThisProcess } from '../../shell-words.ts';
import { withService } from '../../sign-in/session.ts';
import { storedEvents } from '../../sources/stored-events.ts';
import { startProgress } from '../../terminal/progress.ts';
import { canPrompt, confirm } from '../../terminal/prompt.ts';
import { warnOfDoubts } from '../../terminal/reporter.ts';
import { grouped } from '../../terminal/terminal-text.ts';
import { apiTokenOrWarning } from '../api-token.ts';
import { createHandler, createPace, isTaken } from '../forward.ts';
import {
  createEventReader,
  eventPrinter,
  type FoundEvent,
  type HandOver,
  notFound,
  noticeHandOver,
  onceInOrder,
  onlySubscription,
  searchToForward,
} from '../found-events.ts';
import { LeftEvents, reasonOf } from '../left-events.ts';

/**
 * The service, by a search or by ids on standard input; or the place named by `--from`: all its events, or
 * with `hasIds` those whose ids are on standard input.
 */
export type ReplaySource = 'ids' | 'search' | { readonly from: string; readonly hasIds: boolean };

export interface ReplayFlags {
  readonly filters: EventFilters;
  readonly source: ReplaySource;
  readonly mayBeEmpty: boolean;
  readonly handOver: HandOver;
  readonly format: FormatOptions;
  readonly forwardTo?: URL | undefined;
  /** The handler named, even if the events are only listed. */
  readonly target: URL | undefined;
  /** Milliseconds that the handler has to answer. */
  readonly forwardTimeout: number;
  /** Events forwarded at once. The order is kept only with 1. */
  readonly concurrency: number;
  /** The maximum number of events started per second. */
  readonly rate?: number;
  readonly yes?: true;
}

interface Sending extends ReplayFlags {
  readonly forwardTo: URL;
  /** The only subscription whose events were chosen; its `Api-Token` is sent. */
  readonly subscription: string | undefined;
}

/** Events to replay, chosen by these filters. */
interface Chosen {
  readonly records: readonly FoundEvent[];
  /** Chosen ids without an event. */
  readonly missing: readonly string[];
  readonly filters: EventFilters;
}

export async function replayAsProfile(flags: ReplayFlags, call: Call): Promise<void> {
  const { source } = flags;
  if (typeof source === 'object') {
    const settings = call.settings.checked();
    return await replayChosen(await chooseStored(flags, source, call), settings, flags, call);
  }
  await withService(call, async (service, settings) => {
    const filters = await resolveToSend(flags.filters, service, call);
    const chosen = await chooseFromService({ ...flags, filters }, service, call);
    await withNames(service, takesNames(flags.format), (names) =>
      replayChosen(chosen, settings, { ...flags, format: { ...flags.format, names } }, call),
    );
  });
}

async function chooseStored(
  flags: ReplayFlags,
  { from, hasIds }: Exclude<ReplaySource, string>,
  call: Call,
): Promise<Chosen> {
  const { filters, handOver } = flags;
  if (hasIds) return await chooseByInput((ids) => storedById(ids, from, { filters }, call), flags, call);
  const eventsOf = createEventReader(handOver);
  const records: FoundEvent[] = [];
  const onDoubt = warnOfDoubts(call.reporter);
  for await (const { items } of storedEvents(from, filters, { context: call.context, onDoubt }))
    records.push(...eventsOf(items));
  return chosenByFilters(records, filters);
}

async function chooseFromService(flags: ReplayFlags, service: Service, call: Call): Promise<Chosen> {
  const { filters, source, handOver } = flags;
  if (source === 'ids') {
    const options = { filters, concurrency: PAGES_AT_ONCE };
    return await chooseByInput((ids) => eventsById(ids, service, options, call), flags, call);
  }
  const records: FoundEvent[] = [];
  const { events } = await searchToForward(filters, service, call, handOver);
  for await (const event of events) records.push(event);
  if (records.length === 0) await warnOfNoMatch(filters, service, call.reporter);
  return chosenByFilters(records, filters);
}

function chosenByFilters(records: readonly FoundEvent[], filters: EventFilters): Chosen {
  const found = new Set(records.map(({ eventId }) => comparedId(eventId ?? '')));
  const missing = filters.eventIds.filter((id) => !found.has(comparedId(id)));
  return { records, missing, filters };
}

const PAGES_AT_ONCE = 4;

async function chooseByInput(
  find: (ids: Ids) => AsyncIterable<Got>,
  { mayBeEmpty, filters, handOver }: ReplayFlags,
  call: Call,
): Promise<Chosen> {
  const eventsOf = createEventReader(handOver);
  const onEmpty = () => call.reporter.notice(EMPTY_LIST);
  const ids = new Set<string>();
  const records: FoundEvent[] = [];
  const missing: string[] = [];
  const given = async function* (ending: AbortSignal) {
    for await (const id of idsOfInput(call.context, ending, mayBeEmpty ? onEmpty : undefined)) {
      if (!ids.has(comparedId(id))) yield id;
      ids.add(comparedId(id));
    }
  };
  for await (const { id, items } of find(given)) {
    if (items.count > 0) records.push(...eventsOf(items));
    else missing.push(id);
  }
  call.context.signal.throwIfAborted();
  return { records, missing, filters };
}

/** Throws `ServiceError` if there was no event for an id, after the others are replayed. */
async function replayChosen(
  chosen: Chosen,
  settings: Settings,
  flags: ReplayFlags,
  call: Call,
): Promise<void> {
  const { records, missing } = chosen;
  const { filters, forwardTo } = flags;
  if (missing.length === 0) return await listOrReplay(chosen, settings, flags, call);
  if (records.length === 0) throw notFound(missing, filters, { done: 'replayed' });
  const outcome = forwardTo ? 'the others were replayed' : 'the others are listed';
  const absence = notFound(missing, filters, { done: 'replayed', outcome });
  try {
    await listOrReplay(chosen, settings, flags, call);
  } catch (error) {
    call.reporter.warning(`${absence.message}: ${absence.details.join(', ')}`, { kind: 'incomplete' });
    throw error;
  }
  throw absence;
}

async function listOrReplay(
  { records, filters }: Chosen,
  settings: Settings,
  flags: ReplayFlags,
  call: Call,
): Promise<void> {
  const { forwardTo } = flags;
  const events = onceInOrder(records, call.reporter);
  if (forwardTo === undefined) return await list(events, settings, flags, call);
  const subscription = onlySubscription(filters);
  const apiToken = await apiTokenOrWarning({ ...settings, subscription }, call.context, call.reporter);
  await replay(events, { ...flags, forwardTo, subscription }, apiToken, call);
}

async function list(
  events: readonly FoundEvent[],
  settings: Settings,
  { format, source, target }: ReplayFlags,
  call: Call,
): Promise<void> {
  const print = await eventPrinter(format, call);
  await print(events);
  const to = target ? ` to ${target.href}` : '';
  const from = typeof source === 'object' ? source.from : serviceText(settings);
  call.reporter.notice(`${grouped(events.length)} to replay${to}, from ${from}`);
  noticeHandOver(events, call.reporter);
}

/** Number of events up to which a terminal asks no confirmation. */
const UNASKED = 100;

/**
 * Forwards events without a journal. Prints those that the handler did not take, and throws `ServiceError` if
 * there are any.
 */
async function replay(
  chosen: readonly FoundEvent[],
  flags: Sending,
  apiToken: string | undefined,
  call: Call,
): Promise<void> {
  const { context, reporter } = call;
  const { forwardTo, concurrency } = flags;
  const { signal } = context;
  if (!flags.yes && chosen.length > UNASKED && canPrompt(context)) {
    const next = 'add --yes to replay without a question';
    const declined = new UsageError('nothing was replayed', { next });
    await confirm(`Replay ${grouped(chosen.length)} events to ${forwardTo.href}?`, context, declined);
  }
  const handler = createHandler(forwardTo, flags.forwardTimeout, context);
  const print = await eventPrinter(flags.format, call);
  const left = new LeftEvents();
  const progress = startProgress(context, reporter, 'replaying');
  const turn = createPace(flags.rate, context);
  const due = new Set(chosen);
  try {
    const forwardOne = async (event: FoundEvent) => {
      await turn();
      signal.throwIfAborted();
      const outgoing = { body: event.body, contentType: 'application/json', apiToken, signal };
      const answer = await handler.forward(outgoing);
      if (isTaken(answer)) due.delete(event);
      else left.add(event, reasonOf(answer), reporter);
      progress.update({ events: chosen.length - due.size + left.events.length, total: chosen.length });
    };
    await sideBySide(chosen, forwardOne, () => concurrency, signal);
  } finally {
    progress.stop();
    await print([...due]).catch(() => undefined);
    await handler.close();
    const unsent = due.size - left.events.length;
    const rest =
      unsent > 0
        ? advise`; ${grouped(unsent)} not answered or not sent\nnext: ${nextReplay(due, flags)}`
        : '';
    reporter.notice(
      advise`${grouped(chosen.length - due.size)} replayed; ${grouped(left.events.length)} refused${rest}`,
    );
  }
  if (due.size > 0) throw left.error('replayed', nextReplay(due, flags));
}

const MAX_IDS = 5;

function nextReplay(
  due: ReadonlySet<FoundEvent>,
  { forwardTo, rate, source, handOver, subscription }: Sending,
): Advice {
  const ids = [...due].flatMap(({ eventId }) => (eventId !== undefined && isGuid(eventId) ? [eventId] : []));
  const from = typeof source === 'object' ? source.from : undefined;
  const what = handOver === 'event' ? [] : ['--hand-over', handOver];
  const pace = rate === undefined ? [] : ['--rate', String(rate)];
  const whose = subscription === undefined ? [] : ['--subscription', subscription];
  const to = ['--forward-to', forwardTo.href, ...whose, ...what, ...pace];
  // Events without an id can only be sent again as whole records.
  const areNamed = ids.length === due.size;
  if (areNamed && ids.length <= MAX_IDS)
    return advise`${hooktrailOver(from, 'webhooks replay --id', ids.join(','), ...to)} sends ${ids.length === 1 ? 'it' : 'them'} again`;
  if ((from !== undefined && isOfThisProcess(from)) || !areNamed)
    return advise`list them with --ndjson, and pipe that to ${hooktrail('webhooks replay', ...to, '--from', '-')}`;
  return advise`pipe what is listed to ${hooktrailOver(from, 'webhooks replay -', ...to)}, which sends them again`;
}
