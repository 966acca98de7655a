import type { Call } from '../command.ts';
import type { EventFilters } from '../filters/event-filters.ts';
import type { StatsWindow } from '../filters/stats-window.ts';
import type { FieldPath } from '../items/field-path.ts';
import { EventGroups } from '../questions/event-groups.ts';
import { foldPages } from '../questions/fold.ts';
import { OutcomeTable } from '../questions/outcome-table.ts';
import {
  type AskedService,
  type EventSource,
  type PageOfOutcomes,
  type SourceOptions,
  unknownOutcomesText,
  withEventSource,
} from '../sources/event-source.ts';
import type { Division } from './buckets.ts';
import { gatherStats, type Stats, statsOfTable } from './tallies.ts';

/** The service counts if it can apply the filters; otherwise the events are read. */
export async function askStats(
  call: Pick<Call, 'settings' | 'context' | 'reporter'>,
  { buckets, ...options }: SourceOptions & { readonly buckets: Division | undefined },
): Promise<{ readonly stats: Stats; readonly name: string; readonly unknownOutcomes: number }> {
  return await withEventSource(call, options, async (source) => {
    const { window, service, name, filters } = source;
    const counted =
      window && service && !filters.runHere
        ? await countedStats(call, filters, service, window, buckets)
        : await readStats(source, buckets);
    await source.adviseOnResult(counted.stats.total);
    return { stats: counted.stats, unknownOutcomes: counted.unknownOutcomes, name };
  });
}

async function countedStats(
  { reporter }: Pick<Call, 'reporter'>,
  filters: EventFilters,
  { count, typesOnOffer }: AskedService,
  window: StatsWindow,
  buckets: Division | undefined,
) {
  const types = filters.eventTypes.length > 0 ? null : typesOnOffer;
  const { queries, after, before, status } = window;
  // Count all first, so events that arrive meanwhile do not seem left out.
  const all = status ? [] : await count(queries.map((query) => ({ ...query, after, before })));
  const stats = await gatherStats(window, types, buckets, count);
  if (status) return { stats, unknownOutcomes: 0 };
  const unknownOutcomes = Math.max(0, all.reduce((sum, one) => sum + one, 0) - stats.total);
  if (unknownOutcomes > 0) reporter.warning(unknownOutcomesText(unknownOutcomes), { kind: 'incomplete' });
  return { stats, unknownOutcomes };
}

async function readStats(source: EventSource, buckets: Division | undefined) {
  const table = new OutcomeTable();
  await foldPages(source.readOutcomes(source.filters, source.window), [table]);
  const window = source.windowOf(table.times.bounds);
  const unknownOutcomes = source.warnOfUnknown(table.unknownOutcomes, table.times);
  return { stats: statsOfTable(table, window, buckets), unknownOutcomes };
}

export interface GroupOptions extends SourceOptions {
  readonly by: readonly FieldPath[];
  readonly percentiles: FieldPath | undefined;
}

/** Stored events have a window only if the filters give one. */
export async function askGroups(
  call: Pick<Call, 'settings' | 'context' | 'reporter'>,
  { by, percentiles, ...options }: GroupOptions,
): Promise<{ readonly groups: EventGroups; readonly window: StatsWindow | undefined }> {
  return await withEventSource(call, options, async (source) => {
    const groups = new EventGroups(by, source.filters.zone, percentiles);
    await foldPages(readForGroups(source), [groups]);
    await source.adviseOnResult(groups.total);
    source.warnOfUnknown();
    return { groups, window: source.window };
  });
}

/** A filter by one status reveals outcomes without another read. */
export async function* readForGroups(source: EventSource): AsyncGenerator<PageOfOutcomes> {
  const { filters, window } = source;
  const { onlyStatus } = filters;
  if (!onlyStatus) return yield* source.readOutcomes(filters, window);
  const haveFailed = onlyStatus === 'FAILED';
  for await (const { items } of source.read(filters, window)) yield { items, haveFailed };
}
