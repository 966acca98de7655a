import type { Call } from '../command.ts';
import { withService } from '../sign-in/session.ts';
import { startProgress } from '../terminal/progress.ts';
import type { EventFilters } from './event-filters.ts';
import type { Query } from './event-query.ts';
import { askEventTypes, keepEventTypes, resolveTypes, warnOfUnlisted } from './event-types.ts';
import { readWithProgress } from './find-events.ts';
import type { FoundPage } from './merge-pages.ts';
import { type CountQueries, countQueries } from './statistics.ts';
import { type StatsWindow, statsWindow } from './statistics-window.ts';
import { storedEvents } from './stored-events.ts';

/** The service or a place with stored events, for commands that ask about a time. */
export interface EventSource {
  /** The service's host, or the place. */
  readonly name: string;
  /** The filters with types as the service spells them. */
  readonly filters: EventFilters;
  /** The time asked about. Undefined if it is the time that the events span. */
  readonly window: StatsWindow | undefined;
  /** Reads the events that the filters choose. Times that are given replace those of the filters. */
  read(filters: EventFilters, within?: Pick<Query, 'after' | 'before'>): AsyncIterable<FoundPage>;
  /** Absent where nobody counts without reading. */
  readonly count?: CountQueries;
  /** True for standard input. */
  readonly isReadOnce: boolean;
  /** Called where nothing was found: warns of a type that the service does not list. */
  doubt(): void;
}

export interface SourceOptions {
  /** A place with stored events instead of the service. */
  readonly from: string | undefined;
  readonly filters: EventFilters;
  /** Requests at once. */
  readonly concurrency: number;
}

/** Runs `work` with the events that a command asks about. Throws `UsageError` for an invalid window before any request. */
export async function withEventSource<Result>(
  call: Pick<Call, 'flags' | 'context' | 'reporter'>,
  { from, filters, concurrency }: SourceOptions,
  work: (source: EventSource) => Promise<Result>,
): Promise<Result> {
  const { context, reporter } = call;
  const { clock } = context;
  const window = statsWindow(filters, clock.now());
  if (from !== undefined) {
    return await work({
      name: from === '-' ? 'standard input' : from,
      filters,
      window: filters.after ? window : undefined,
      read: (chosen, within) => readStored(from, chosen, within, call),
      isReadOnce: from === '-',
      doubt: () => {},
    });
  }
  return await withService(call, async (service, settings) => {
    const { page, serviceTime } = await askEventTypes(service, clock);
    await keepEventTypes(page.items, settings, context);
    const resolved = await resolveTypes(filters, service, settings, context);
    return await work({
      name: service.baseUrl.host,
      filters: resolved,
      window: statsWindow(filters, serviceTime ?? clock.now()),
      read: (chosen, within) =>
        readWithProgress(
          service,
          chosen,
          { concurrency, within: within && { after: undefined, before: undefined, ...within } },
          context,
          reporter,
        ),
      count: countQueries(service, concurrency, context, reporter),
      isReadOnce: false,
      doubt: () => warnOfUnlisted(resolved, page.items, reporter),
    });
  });
}

async function* readStored(
  from: string,
  filters: EventFilters,
  within: Pick<Query, 'after' | 'before'> | undefined,
  { context, reporter }: Pick<Call, 'context' | 'reporter'>,
): AsyncGenerator<FoundPage> {
  const progress = startProgress(context, reporter, 'reading');
  let events = 0;
  try {
    for await (const page of storedEvents(from, filters, { context, onDoubt: reporter.warning, within })) {
      events += page.items.count;
      progress.update({ events });
      yield page;
    }
  } finally {
    progress.stop();
  }
}
