import { setImmediate } from 'node:timers/promises';
import type { Context } from '../context.ts';
import type { EventFilters } from '../events/event-filters.ts';
import type { Query } from '../events/event-query.ts';
import type { FindOptions } from '../events/find-events.ts';
import type { FoundPage } from '../events/merge-pages.ts';
import { waitText } from '../http/retry.ts';
import type { Items } from '../json/items.ts';
import { pagedOutput } from '../terminal/paged-output.ts';
import { startProgress } from '../terminal/progress.ts';
import type { Reporter } from '../terminal/reporter.ts';
import type { TimeZone } from '../time/time-zone.ts';
import { createItemWriter } from './create-item-writer.ts';
import type { FormatOptions } from './item-writer.ts';

export interface Search {
  /** Reads the events from the service, an export or a file. */
  readonly find: (
    options: Pick<FindOptions, 'onRetry' | 'onDoubt' | 'onQueries'>,
  ) => AsyncIterable<FoundPage>;
  readonly filters: EventFilters;
  readonly limit: number | undefined;
  readonly format: FormatOptions;
  readonly context: Context;
  readonly reporter: Reporter;
  /** True if output that does not fit on the terminal goes through the user's pager. */
  readonly isPaged: boolean;
  /** Called with the items of each page before they are printed. */
  readonly onItems?: ((items: Items) => void) | undefined;
}

/** Prints the matching events. Returns how many it printed, the total if the service gives one, and whether there are more. */
export async function searchAll(search: Search) {
  const { filters, format, context, reporter, onItems, isPaged } = search;
  const { limit = Number.POSITIVE_INFINITY } = search;
  const progress = startProgress(context, reporter, 'searching');
  const paged = isPaged ? pagedOutput(context, () => progress.stop()) : undefined;
  const { environment, stdout } = context;
  const itemContext = { environment, stdout: paged ?? stdout };
  let printed = 0;
  let pages = 0;
  let total: number | undefined;
  let searched: Query | undefined;
  const found = search.find({
    onRetry: (attempt) => progress.update({ note: waitText(attempt) }),
    onDoubt: (doubt) => reporter.warning(doubt),
    onQueries: ([query]) => {
      searched = query;
    },
  });
  // The first request is sent in the next turn of the event loop; loading the format first would delay it.
  await setImmediate();
  const writer = await createItemWriter(
    { ...format, constant: filters.constantFields, zone: filters.zone },
    itemContext,
    reporter,
  );
  try {
    for await (const page of found) {
      printed += page.items.count;
      pages++;
      total = page.total;
      progress.update({ pages, events: printed, total, note: '' });
      onItems?.(page.items);
      await writer.write(page.items, printed >= Math.min(limit, total ?? limit));
    }
    progress.stop();
    await writer.end();
  } catch (error) {
    await writer.abort();
    throw error;
  } finally {
    progress.stop();
    await paged?.end();
  }
  // The command line does not show the time that a span ago stood for.
  if (searched && filters.isRelative && stdout.isTerminal)
    reporter.notice(windowText(searched, filters.zone));
  return { printed, total, more: printed >= limit && (total === undefined || total > printed) };
}

function windowText({ after, before }: Query, zone: TimeZone): string {
  const bounds = [after && `after ${zone.shown(after.text)}`, before && `before ${zone.shown(before.text)}`];
  return `searched events created ${bounds.filter(Boolean).join(' and ')}`;
}
