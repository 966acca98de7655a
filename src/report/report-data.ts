import type { Call } from '../command.ts';
import type { Baseline } from '../explain/baseline.ts';
import { type Explained, explainSource } from '../explain/explain.ts';
import { type FieldPath, memberPath } from '../items/field-path.ts';
import type { Items } from '../items/items.ts';
import { EventGroups } from '../questions/event-groups.ts';
import { HealthFold } from '../questions/health-fold.ts';
import { type Health, namedRows, type UnnamedHealth } from '../questions/health-row.ts';
import { failuresOf, LatestFailures } from '../questions/latest-failures.ts';
import { OutcomeTable } from '../questions/outcome-table.ts';
import { type PageOfOutcomes, type SourceOptions, withEventSource } from '../sources/event-source.ts';
import type { Division } from '../stats/buckets.ts';
import { type Stats, statsOfTable } from '../stats/tallies.ts';

export interface ReportData {
  readonly explained: Explained;
  readonly stats: Stats;
  readonly mixedMarketplaces?: readonly string[] | undefined;
  readonly customers: Affected | undefined;
  readonly subscriptions: Affected | undefined;
  readonly failures: Items;
  /** Undefined unless some event names a customer. */
  readonly nameField: FieldPath | undefined;
  readonly groups: EventGroups | undefined;
}

export interface Affected {
  readonly all: number;
  readonly rows: readonly Health[];
}

export interface ReportOptions extends SourceOptions {
  readonly by: readonly FieldPath[] | undefined;
  /** Maximum failures to show. */
  readonly limit: number;
  readonly buckets: Division | undefined;
  readonly baseline: Baseline | undefined;
}

const SUBSCRIPTION = memberPath('subscriptionId');

/** Indexes of the groupings. */
const BY_SUBSCRIPTION = 0;
const BY_NAME = 1;

export async function gatherReport(
  call: Pick<Call, 'settings' | 'context' | 'reporter'>,
  { by, limit, buckets, baseline, ...options }: ReportOptions,
): Promise<ReportData> {
  // Read both statuses even if one is requested, so the charts show how much was delivered.
  const filters = options.filters.withStatuses();
  const { nameField, zone } = filters;
  const table = new OutcomeTable();
  const health = new HealthFold([[SUBSCRIPTION], ...(nameField ? [[nameField]] : [])], zone, nameField);
  const latest = new LatestFailures(limit);
  const groups = by && new EventGroups(by, zone);
  const folds = [table, health, latest, ...(groups ? [ofFailures(groups)] : [])];
  return await withEventSource(call, { ...options, filters }, async (source) => {
    const explained = await explainSource(source, baseline, folds, call.reporter);
    const subscriptions = health.result(BY_SUBSCRIPTION);
    await explained.names?.learn(failingIds(subscriptions));
    const customers = nameField && affectedOf(health.result(BY_NAME), false, undefined);
    return {
      explained,
      stats: statsOfTable(table, source.windowOf(table.times.bounds), buckets),
      mixedMarketplaces: source.mixedMarketplaces,
      customers,
      subscriptions: affectedOf(subscriptions, true, explained.names),
      failures: latest.result(),
      nameField: customers && nameField,
      groups,
    };
  });
}

function ofFailures(groups: EventGroups) {
  const failures = failuresOf();
  return { see: (page: PageOfOutcomes) => groups.see({ items: failures(page), haveFailed: true }) };
}

function failingIds(subscriptions: readonly UnnamedHealth[]): string[] {
  return subscriptions.flatMap(({ failed, values: [id] }) =>
    failed > 0 && typeof id === 'string' ? [id] : [],
  );
}

function affectedOf(
  all: readonly UnnamedHealth[],
  areSubscriptions: boolean,
  names: Parameters<typeof namedRows>[2],
): Affected | undefined {
  const rows = all.filter(({ values: [value] }) => value !== null);
  if (rows.length === 0) return undefined;
  const failed = rows.filter((row) => row.failed > 0);
  return { all: rows.length, rows: namedRows(failed, areSubscriptions, names) };
}
