import type { Call } from '../command.ts';
import { UsageError } from '../errors.ts';
import type { EventFilters } from '../filters/event-filters.ts';
import { resolveListed } from '../filters/event-types.ts';
import { resolveFilters } from '../filters/resolve-filters.ts';
import type { OnRetry, Service } from '../http/service.ts';
import type { Items } from '../items/items.ts';
import { endpoint } from '../paging/event-query.ts';
import { adaptiveClient, askPage } from '../paging/page.ts';
import { withService } from '../sign-in/session.ts';
import { eachOnce, type Reporter, warnOfDoubts } from '../terminal/reporter.ts';
import { knownInstant, milliseconds } from '../time/instant.ts';
import { Deadline, type Polling, pollUntilEnd } from './poll-until-end.ts';
import { warnOfValuesWithoutEvents } from './values-without-events.ts';
import { Follower, type FollowerState, type Watch } from './watch-follower.ts';
import { type WatchKind, WatchStateFile, whileStateIsHeld } from './watch-state.ts';

/** Times are in milliseconds. */
export interface WatchOptions {
  readonly filters: EventFilters;
  readonly interval: number;
  /** How far each poll reaches back, for events that appear late. */
  readonly overlap: number;
  readonly concurrency: number;
  readonly state: string | undefined;
}

export interface WatchOpening<Kept> extends WatchOptions {
  readonly kind: WatchKind<Kept>;
  /** True to read earlier events as a sample. */
  readonly isSampled?: boolean;
  /** How far the first poll reaches back without `--since`; undefined: not at all. */
  readonly lookBack?: number;
  /** Filters the events further; the rest are looked at again. */
  readonly keep?: <Some extends Items>(items: Some) => Some;
  /** True if a failed poll must yield no events, since they have to come in order. */
  readonly isInOrder?: boolean;
  readonly timeout?: number | undefined;
  /** Makes the error of a watch that exceeds its timeout; `trouble` is why its last requests failed. */
  readonly timeoutError?: (trouble: string | undefined) => Error;
}

/** A watch at its first poll: its service has answered, and its place is known. */
export interface OpenWatch<Kept> {
  readonly filters: EventFilters;
  readonly service: Service;
  readonly follower: Follower;
  readonly sample: Items;
  /** True if it ends by now, so it reads once. */
  readonly isPast: boolean;
  /** The content that an earlier run kept next to its place; undefined in the first one. */
  readonly resumed: { readonly kept: Kept } | undefined;
  readonly deadline: Deadline;
  /** Makes the output durable, if there is a state: before a place is saved that covers it. */
  readonly sync: () => Promise<void>;
  /** Saves the place, after all events that the follower remembers, and `kept` with it. */
  readonly save: (kept: Kept) => Promise<void>;
  readonly pollUntilEnd: (follower: Pick<Follower, 'ended' | 'poll'>, polling: Polling) => Promise<void>;
}

/**
 * Does some work with a watch, while no other one can use its state. Throws `UsageError` if the flags leave
 * nothing to watch, or the state is not of this watch.
 */
export async function withWatch<Kept>(
  opening: WatchOpening<Kept>,
  call: Call,
  work: (watch: OpenWatch<Kept>, held: Call) => Promise<void>,
): Promise<void> {
  const { state, kind, timeout, timeoutError } = opening;
  await whileStateIsHeld(state, call, (held, place) =>
    withService(held, async (service) => {
      const { context, reporter } = held;
      const filters = await resolveFilters(opening.filters, service, reporter);
      const isKept = state !== undefined && place !== undefined;
      const file = isKept ? new WatchStateFile(state, place, service.baseUrl, filters, kind) : undefined;
      const deadline = new Deadline(context, timeout);
      let trouble: string | undefined;
      const onRetry: OnRetry = ({ reason }) => {
        trouble = reason;
      };
      try {
        const saved = file?.read(reporter);
        const begun = await beginWatch({ ...opening, filters }, saved, { service, deadline, onRetry }, held);
        const { follower, isPast } = begun;
        const save = async (kept: Kept) => {
          trouble = undefined;
          await file?.save({ ...follower.state, kept });
        };
        const sync = async () => {
          if (file) await context.stdout.sync?.();
        };
        const times = { clock: context.clock, intervalMs: opening.interval, isPast, deadline };
        const poll: OpenWatch<Kept>['pollUntilEnd'] = (polled, polling) =>
          pollUntilEnd(polled, polling, times, reporter);
        const known = { filters, service, deadline, resumed: saved };
        await work({ ...begun, ...known, sync, save, pollUntilEnd: poll }, held);
      } catch (error) {
        const isTooLate = deadline.hasExpired && !context.signal.aborted;
        throw isTooLate && timeoutError ? timeoutError(trouble) : error;
      } finally {
        deadline.close();
      }
    }),
  );
}

/** Events held at once, some 10 MB. */
const MAX_HELD_EVENTS = 20_000;
/** Earlier events that determine the widths of a table's columns. */
const SAMPLE_EVENTS = 100;

interface Following {
  readonly service: Service;
  readonly deadline: Deadline;
  readonly onRetry: OnRetry;
}

/**
 * Sends one request for the service's time, which also reports a failure at the start. `saved`: the place of
 * an earlier run.
 */
async function beginWatch<Kept>(
  opening: WatchOpening<Kept>,
  saved: FollowerState | undefined,
  { service, deadline: { signal }, onRetry }: Following,
  { context: { clock }, reporter }: Call,
): Promise<Pick<OpenWatch<Kept>, 'follower' | 'sample' | 'isPast'>> {
  const { filters, overlap, concurrency, isSampled, isInOrder = false, state: file, lookBack } = opening;
  const { client, width } = adaptiveClient(service, concurrency, onRetry);
  const { typePatterns = [] } = filters;
  const keep = filters.createKeep();
  const typed = filters.withTypes(typePatterns, []);
  const askQueries = async () => {
    const { page } = await client.fetchPage(endpoint(client.baseUrl, 'event-types'), signal);
    return resolveListed(typed, page.items, { warning: reporter.trace }).queriesWithin({});
  };
  const more = typePatterns.some((type) => type.includes('*')) ? { askQueries } : {};
  const count = isSampled || keep ? SAMPLE_EVENTS : 1;
  const any = filters.queries(clock.now())[0];
  const { page, serviceTime: now = clock.now() } = await askPage(client, any, { start: 1, count }, signal);
  const state = saved && presentPlace(saved, now, file as string, reporter);
  if (!state) filters.requirePastStart(now);
  keep?.(page.items);
  for (const doubt of keep?.doubts() ?? [])
    reporter.warning(`${doubt} (of the latest ${page.items.count})`, { kind: 'usage' });
  const queries = filters.queries(now);
  const { after, before } = queries[0];
  // `gt` is exclusive, and a service's times may be whole seconds.
  const start = state?.start ?? after ?? knownInstant(Math.floor(now / 1000) * 1000 - 1 - (lookBack ?? 0));
  const isPast = before !== undefined && milliseconds(before) <= now;
  // Allowed although `--until now` leaves nothing to wait for: a first run with `--state`, which only saves
  // the position for the next, and a run that looks back, which reads earlier events.
  const isMarked = (file ?? lookBack) !== undefined && filters.before?.time.kind === 'ago';
  if (!state && !after && isPast && !isMarked)
    throw new UsageError(
      `--until: ${filters.zone.shown(before.text)} has passed: the service's time is ${filters.zone.shown(knownInstant(now).text)}`,
    );
  const follower = new Follower(
    { queries, start, before, keep: keepOf(opening), overlap, most: MAX_HELD_EVENTS, isInOrder },
    {
      ...client,
      ...more,
      concurrency: width,
      signal,
      onForeignLinks: eachOnce(warnOfDoubts(reporter)),
      now: () => clock.now(),
    },
    state,
  );
  await warnOfValuesWithoutEvents({ filters, isResumed: saved !== undefined }, client, signal, reporter);
  return { follower, sample: page.items, isPast };
}

function keepOf({ filters, keep }: Pick<WatchOpening<unknown>, 'filters' | 'keep'>): Watch['keep'] {
  const ofFilters = filters.createKeep();
  if (!keep || !ofFilters) return keep ?? ofFilters;
  return (items) => keep(ofFilters(items));
}

/** Milliseconds of clock difference that are not worth reporting. */
const CLOCKS_APART_MS = 60_000;

/**
 * Limits the place of an earlier run to `now`: a place in the future, from a wrong clock, would hide the
 * events until then.
 */
function presentPlace(
  saved: FollowerState,
  now: number,
  file: string,
  reporter: Pick<Reporter, 'warning'>,
): FollowerState {
  const latest = Math.max(saved.watermark, milliseconds(saved.start));
  if (latest <= now) return saved;
  if (latest > now + CLOCKS_APART_MS)
    reporter.warning(
      `--state: the place in ${file} is in the future (${knownInstant(latest).text}), since a clock was wrong: events are watched from now on, and earlier ones may be missing`,
      {
        kind: 'incomplete',
        next: `to read them too, remove ${file} and begin with --since at the last event that you have`,
      },
    );
  const start = milliseconds(saved.start) > now ? knownInstant(now) : saved.start;
  return { ...saved, start, watermark: Math.min(saved.watermark, now) };
}
