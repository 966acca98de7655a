import type { Call } from '../command.ts';
import { type Baseline, checkBaseline, countBaseline } from '../explain/baseline.ts';
import { type Explained, subscriptionsIn } from '../explain/explain.ts';
import { againFrom, TwoReadings } from '../explain/two-readings.ts';
import { type FieldPath, memberPath } from '../items/field-path.ts';
import type { Items } from '../items/items.ts';
import { EventGroups } from '../questions/event-groups.ts';
import { foldPages } from '../questions/fold.ts';
import { HealthFold } from '../questions/health-fold.ts';
import { type Health, namedRows, type UnnamedHealth } from '../questions/health-row.ts';
import { failuresOf, LatestFailures } from '../questions/latest-failures.ts';
import { OutcomeTable } from '../questions/outcome-table.ts';
import {
  type EventSource,
  type PageOfOutcomes,
  type SourceOptions,
  withEventSource,
} from '../sources/event-source.ts';
import type { Division } from '../stats/buckets.ts';
import { type Stats, statsOfTable } from '../stats/tallies.ts';
import type { TimeZone } from '../time/time-zone.ts';

export interface ReportData {
  readonly explained: Explained;
  readonly stats: Stats;
  readonly mixedMarketplaces?: readonly string[] | undefined;
  readonly customers: Affected | undefined;
  readonly subscriptions: Affected | undefined;
  readonly failures: Items;
  readonly nameField: FieldPath | undefined;
  readonly groups: EventGroups | undefined;
}

export interface Affected {
  readonly field: FieldPath;
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

export async function gatherReport(
  call: Pick<Call, 'settings' | 'context' | 'reporter'>,
  { by, limit, buckets, baseline, ...options }: ReportOptions,
): Promise<ReportData> {
  // Read both statuses even if one is requested, so the charts show how much was delivered.
  const filters = options.filters.withStatuses();
  const { nameField } = filters;
  return await withEventSource(call, { ...options, filters }, async (source) => {
    if (baseline) checkBaseline(source);
    const names = source.askNames?.();
    const failures = new TwoReadings(againFrom(source, source.filters));
    const questions = new ReportQuestions(by, nameField, limit, filters.zone);
    await questions.askOf(source.readOutcomes(source.filters, source.window), failures);
    const { table } = questions;
    if (table.rows === 0) await source.doubt();
    const window = source.windowOf(table.times.bounds);
    const stats = statsOfTable(table, window, buckets);
    const explanation = await failures.explain(filters.zone);
    const { causes } = explanation;
    const unknownOutcomes = source.warnOfUnknown(table.unknownOutcomes, table.times);
    await names?.learn([...subscriptionsIn(causes), ...questions.failingSubscriptions()]);
    const then = baseline && (await countBaseline(source, baseline, { ...window, causes }, call.reporter));
    return {
      explained: { ...explanation, ...window, names, name: source.name, baseline: then, unknownOutcomes },
      stats,
      mixedMarketplaces: source.mixedMarketplaces(),
      ...questions.found(names),
    };
  });
}

/** Indexes of the groupings. */
const BY_SUBSCRIPTION = 0;
const BY_NAME = 1;

class ReportQuestions {
  readonly table = new OutcomeTable();
  readonly #health: HealthFold;
  readonly #nameField: FieldPath | undefined;
  readonly #groups: EventGroups | undefined;
  readonly #latest: LatestFailures;
  readonly #failuresOf = failuresOf();

  constructor(
    by: readonly FieldPath[] | undefined,
    nameField: FieldPath | undefined,
    limit: number,
    zone: TimeZone,
  ) {
    this.#health = new HealthFold([[SUBSCRIPTION], ...(nameField ? [[nameField]] : [])], zone, nameField);
    this.#nameField = nameField;
    this.#groups = by && new EventGroups(by, zone);
    this.#latest = new LatestFailures(limit);
  }

  async askOf(pages: AsyncIterable<PageOfOutcomes>, explained: TwoReadings): Promise<void> {
    const groups = this.#groups;
    const failed = groups && {
      see: (page: PageOfOutcomes) => groups.see({ items: this.#failuresOf(page), haveFailed: true }),
    };
    const asked = [this.table, explained, this.#health, this.#latest];
    await foldPages(pages, [...asked, ...(failed ? [failed] : [])]);
  }

  failingSubscriptions(): string[] {
    const failing = this.#health.result(BY_SUBSCRIPTION).filter(({ failed }) => failed > 0);
    return failing.flatMap(({ values: [id] }) => (typeof id === 'string' ? [id] : []));
  }

  found(names: ReturnType<NonNullable<EventSource['askNames']>> | undefined) {
    const customers =
      this.#nameField && affectedOf(this.#health.result(BY_NAME), this.#nameField, false, undefined);
    return {
      customers,
      subscriptions: affectedOf(this.#health.result(BY_SUBSCRIPTION), SUBSCRIPTION, true, names),
      failures: this.#latest.result(),
      nameField: customers && this.#nameField,
      groups: this.#groups,
    };
  }
}

function affectedOf(
  all: readonly UnnamedHealth[],
  field: FieldPath,
  areSubscriptions: boolean,
  names: Parameters<typeof namedRows>[2],
): Affected | undefined {
  const rows = all.filter(({ values: [value] }) => value !== null);
  if (rows.length === 0) return undefined;
  const failed = rows.filter((row) => row.failed > 0);
  return { field, all: rows.length, rows: namedRows(failed, areSubscriptions, names) };
}
