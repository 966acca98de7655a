import type { Call } from '../command.ts';
import type { Context } from '../context.ts';
import { ServiceError } from '../errors.ts';
import { isReadOnce } from '../files/whole-files.ts';
import type { EventFilters } from '../filters/event-filters.ts';
import {
  askEventTypes,
  eventTypeNames,
  keepEventTypes,
  resolveListed,
  warnOfUnlisted,
} from '../filters/event-types.ts';
import { furtherBack, warnOfUnsubscribed } from '../filters/no-match.ts';
import { resolveSubscriptions } from '../filters/resolve-filters.ts';
import { type CountQueries, type StatsWindow, statsWindow, storedWindow } from '../filters/stats-window.ts';
import { type FormatName, formatTraits } from '../formats/format-registry.ts';
import type { Service } from '../http/service.ts';
import type { Direction } from '../items/item-times.ts';
import type { Items } from '../items/items.ts';
import type { TimeColumn } from '../items/time-column.ts';
import { MarketplaceMix } from '../names/marketplaces.ts';
import { SubscriptionNames } from '../names/subscription-names.ts';
import { type Query, queryString } from '../paging/event-query.ts';
import { adaptiveClient, askCount, type FoundPage, observed } from '../paging/page.ts';
import { readAhead } from '../paging/read-ahead.ts';
import { withService } from '../sign-in/session.ts';
import { startProgress } from '../terminal/progress.ts';
import { eachOnce, type Reporter, warnOfDoubts } from '../terminal/reporter.ts';
import { eventsText } from '../terminal/terminal-text.ts';
import { instantAt, milliseconds } from '../time/instant.ts';
import { openWithProgress, showProgress } from './find-events.ts';
import { UNDATED } from './stored-doubts.ts';
import { storedEvents } from './stored-events.ts';
import { keepKnownOutcomes } from './stored-matches.ts';

type Bounds = Pick<Query, 'after' | 'before'>;

export interface PageOfOutcomes {
  readonly items: Items;
  /**
   * The outcome of the whole page: true if all failed, false if all were delivered. Undefined if each item
   * has its own, or if none is known.
   */
  readonly haveFailed: boolean | undefined;
  readonly share?: number | undefined;
}

export interface SourceOptions {
  readonly from: string | undefined;
  readonly filters: EventFilters;
  readonly concurrency: number;
  readonly format?: { readonly format: FormatName | 'pretty' };
}

type SourceCall = Pick<Call, 'settings' | 'context' | 'reporter'>;

type Read = (
  filters: EventFilters,
  within: Bounds | undefined,
  direction: Direction | undefined,
) => AsyncIterable<FoundPage>;

/** Only a service answers these. */
export interface AskedService {
  readonly count: CountQueries;
  readonly typesOnOffer: readonly string[];
  readonly askNames: () => SubscriptionNames;
  /** Warns of unlisted types, and suggests a longer time. */
  readonly doubt: () => Promise<void>;
}

export class EventSource {
  readonly name: string;
  readonly filters: EventFilters;
  /** Undefined if the window is the span of the stored events. */
  readonly window: StatsWindow | undefined;
  /** True for stored events that cannot be read a second time, such as those of a pipe. */
  readonly isReadOnce: boolean;
  /** Undefined for stored events, which may be fewer than the service's. */
  readonly service: AskedService | undefined;
  readonly #read: Read;
  readonly #mix: MarketplaceMix;
  readonly #format: SourceOptions['format'];
  readonly #context: Context;
  readonly #reporter: Reporter;
  #unknownOutcomes = 0;

  constructor(
    place: Pick<EventSource, 'name' | 'filters' | 'window' | 'isReadOnce' | 'service'>,
    read: Read,
    mix: MarketplaceMix,
    { format }: Pick<SourceOptions, 'format'>,
    { context, reporter }: SourceCall,
  ) {
    this.name = place.name;
    this.filters = place.filters;
    this.window = place.window;
    this.isReadOnce = place.isReadOnce;
    this.service = place.service;
    this.#read = read;
    this.#mix = mix;
    this.#format = format;
    this.#context = context;
    this.#reporter = reporter;
  }

  /** Returns the requested window, or else the span of the events. Both bounds are exclusive. */
  windowOf(bounds: TimeColumn['bounds']): StatsWindow {
    return this.window ?? spanOf(bounds, this.filters, this.#context.clock.now());
  }

  /**
   * `within` replaces the filters' times. A service lists events in `direction`, or by default in its own;
   * stored events may be in any order.
   */
  async *read(filters: EventFilters, within?: Bounds, direction?: Direction): AsyncGenerator<FoundPage> {
    for await (const page of this.#read(filters, within, direction)) {
      this.#mix.see(page.items);
      yield page;
    }
  }

  /**
   * Like `read`. Uses the service's filter if items lack their status, which is optional (service
   * description, part 2).
   */
  async *readOutcomes(
    filters: EventFilters,
    within?: Bounds,
    direction?: Direction,
  ): AsyncGenerator<PageOfOutcomes> {
    let hasOutcomes = this.service ? undefined : true;
    for await (const { items, total, share } of this.read(filters, within, direction)) {
      if (items.count > 0) hasOutcomes ??= keepKnownOutcomes(items).count > 0;
      if (hasOutcomes !== false) {
        yield { items, haveFailed: undefined, share };
        continue;
      }
      // All events, less those that the filter finds below.
      this.#unknownOutcomes += total ?? items.count;
      if (total !== undefined) break;
    }
    if (hasOutcomes !== false) return;
    const statuses = filters.statuses.length > 0 ? filters.statuses : (['FAILED', 'SUCCESS'] as const);
    for (const publishStatus of statuses)
      for await (const { items } of this.read(filters.withStatuses(publishStatus), within, direction)) {
        this.#unknownOutcomes -= items.count;
        yield { items, haveFailed: publishStatus === 'FAILED' };
      }
  }

  /** Shows the progress of pages that were kept, and stops at a signal. */
  showKept(pages: AsyncIterable<PageOfOutcomes>): AsyncIterable<PageOfOutcomes> {
    return showProgress(untilAborted(pages, this.#context.signal), this.#context, this.#reporter);
  }

  /**
   * Warns of unknown times and outcomes, and returns the number of unknown outcomes. `among` is how many of
   * the items read have one.
   */
  warnOfUnknown(among = 0, times?: Pick<TimeColumn, 'unknown'>): number {
    if (times && times.unknown > 0)
      this.#reporter.warning(`${eventsText(times.unknown)} counted, but in no span of time: ${UNDATED}`, {
        kind: 'incomplete',
      });
    const count = Math.max(0, among + this.#unknownOutcomes);
    if (count > 0) this.#reporter.warning(unknownOutcomesText(count), { kind: 'incomplete' });
    return count;
  }

  /** Undefined unless events of several marketplaces are mixed and nobody chose one. */
  get mixedMarketplaces(): readonly string[] | undefined {
    return this.filters.marketplaceChoice ? undefined : this.#mix.ids;
  }

  /** Call once everything is read: explains an empty result, and reports mixed marketplaces to people. */
  async adviseOnResult(events: number): Promise<void> {
    if (events === 0) await this.service?.doubt();
    const ids = this.mixedMarketplaces;
    const isForPeople = this.#format && formatTraits(this.#format.format).isForPeople;
    if (ids && isForPeople) this.#reporter.notice(mixText(ids));
  }
}

/** Throws `UsageError` for an invalid window before any request. */
export async function withEventSource<Result>(
  call: SourceCall,
  options: SourceOptions,
  work: (source: EventSource) => Promise<Result>,
): Promise<Result> {
  const { from, filters } = options;
  const { context, reporter } = call;
  const now = context.clock.now();
  const byIds = filters.withSubscriptions(filters.subscriptionIds);
  if (from === undefined) {
    statsWindow(byIds, now);
    return await withServiceSource(call, options, work);
  }
  const window = storedWindow(byIds, now);
  const onDoubt = eachOnce(warnOfDoubts(reporter));
  const stored = { context, onDoubt, comparesOutcomes: filters.statuses.length === 0 };
  const read: Read = (chosen, within) =>
    showProgress(storedEvents(from, chosen, { ...stored, within }), context, reporter);
  const place = {
    name: from === '-' ? 'standard input' : from,
    filters,
    window: filters.after && !filters.seemsToBeginLater(now) ? window : undefined,
    isReadOnce: isReadOnce(from),
    service: undefined,
  };
  return await work(new EventSource(place, read, new MarketplaceMix(), options, call));
}

async function withServiceSource<Result>(
  call: SourceCall,
  options: SourceOptions,
  work: (source: EventSource) => Promise<Result>,
): Promise<Result> {
  const { filters, concurrency } = options;
  const { context, reporter } = call;
  return await withService(call, async (service) => {
    const { page, serviceTime } = await askEventTypes(service);
    await keepEventTypes(page.items, service);
    const ofSubscriptions = await resolveSubscriptions(filters, service, reporter);
    const resolved = resolveListed(ofSubscriptions, page.items, reporter);
    let names: SubscriptionNames | undefined;
    const askNames = () => {
      names ??= new SubscriptionNames(service);
      return names;
    };
    const doubt = async () => {
      const hasWarned =
        warnOfUnlisted(resolved, page.items, reporter, 'after') ||
        (await warnOfUnsubscribed(resolved, service, reporter));
      if (!hasWarned && context.stderr.isTerminal) sayFurtherBack(resolved, context, reporter);
    };
    const read: Read = async function* (chosen, within, direction) {
      const reading = { concurrency, within, direction };
      yield* (await openWithProgress(service, chosen, reading, context, reporter)).pages;
    };
    const mix = new MarketplaceMix();
    const count = countQueries(service, concurrency, mix, context, reporter);
    const place = {
      name: service.baseUrl.host,
      filters: resolved,
      window: statsWindow(resolved, serviceTime ?? context.clock.now()),
      isReadOnce: false,
      service: { count, typesOnOffer: eventTypeNames(page.items), askNames, doubt },
    };
    const done = work(new EventSource(place, read, mix, options, call));
    return await done.finally(() => names?.close());
  });
}

async function* untilAborted<Page>(pages: AsyncIterable<Page>, signal: AbortSignal): AsyncGenerator<Page> {
  for await (const page of pages) {
    signal.throwIfAborted();
    yield page;
  }
}

/** Test and live events may share a service, and their failures look alike. */
export function mixText(ids: readonly string[]): string {
  return `events of several marketplaces are mixed here (${ids.slice(0, 2).join(', ')} …): --marketplace chooses one`;
}

function sayFurtherBack(
  filters: EventFilters,
  { clock }: Pick<Context, 'clock'>,
  reporter: Pick<Reporter, 'notice'>,
): void {
  const now = clock.now();
  const [{ after, before }] = filters.queries(now);
  const isDefault = !after && !before;
  const next = isDefault
    ? '`--since 30d` looks further back than a day'
    : furtherBack(storedWindow(filters, now).after, now);
  if (next !== undefined && !(after && before)) reporter.notice(`next: ${next}`);
}

export function unknownOutcomesText(count: number): string {
  return `${eventsText(count)} skipped: publishStatus is neither SUCCESS nor FAILED`;
}

/** Both bounds are exclusive, so they are moved outward. `now`: milliseconds. */
function spanOf({ first, last }: TimeColumn['bounds'], filters: EventFilters, now: number): StatsWindow {
  if (!first || !last) return storedWindow(filters, now);
  return {
    ...storedWindow(filters.withoutTimes(), now),
    isSpan: true,
    after: instantAt(milliseconds(first) - 1) ?? first,
    before: instantAt((last.seconds + 1) * 1000) ?? last,
  };
}

/** Counts each distinct query once. Throws `ServiceError` if the service gives no count. */
function countQueries(
  service: Service,
  concurrency: number,
  mix: MarketplaceMix,
  context: Pick<Context, 'stdout' | 'stderr' | 'environment' | 'machine' | 'clock' | 'signal' | 'memory'>,
  reporter: Reporter,
): CountQueries {
  return async (queries) => {
    const { client: asking, width } = adaptiveClient(service, concurrency);
    // The answer to a count holds one of the events.
    const client = observed(asking, ({ page }) => mix.see(page.items));
    const distinct = new Map(queries.map((query) => [queryString(query), query]));
    const progress = startProgress(context, reporter, 'counting');
    const counts = new Map<string, number>();
    const ask = ([, query]: [string, Query], ending: AbortSignal) => askCount(client, query, ending);
    try {
      for await (const { job, result } of readAhead(distinct.entries(), ask, width, context.signal)) {
        if (result === undefined)
          throw new ServiceError('the service gives no count, and statistics are made of its counts', {
            next: 'add `--where eventId`: then the events are read and counted here',
          });
        counts.set(job[0], result);
        progress.update({ note: `${counts.size} of ${distinct.size} counts` });
      }
    } finally {
      progress.stop();
    }
    return queries.map((query) => counts.get(queryString(query)) as number);
  };
}
