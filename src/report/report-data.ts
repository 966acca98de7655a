import type { Call } from '../command.ts';
import { type Baseline, checkBaseline, countBaseline } from '../explain/baseline.ts';
import { explainTable } from '../explain/causes.ts';
import { type Explained, subscriptionsIn } from '../explain/explain.ts';
import { type Health, namedRows } from '../health/health-row.ts';
import { HealthTable } from '../health/health-table.ts';
import { type FieldPath, memberPath } from '../items/field-path.ts';
import { parseCondition } from '../items/item-conditions.ts';
import { itemFilter } from '../items/item-filter.ts';
import { createdOnReader } from '../items/item-times.ts';
import { Items } from '../items/items.ts';
import { loadNameField } from '../names/name-field.ts';
import { ComparisonTable } from '../outcomes/comparison-table.ts';
import type { SettingFlags } from '../settings/settings.ts';
import { sortByCreation } from '../sources/creation-order.ts';
import {
  type EventSource,
  type PageOfOutcomes,
  type SourceOptions,
  windowOf,
  withEventSource,
} from '../sources/event-source.ts';
import type { Division } from '../stats/buckets.ts';
import { EventGroups } from '../stats/event-groups.ts';
import { type Stats, statsOfTable } from '../stats/statistics.ts';
import type { Instant } from '../time/instant.ts';
import type { TimeZone } from '../time/time-zone.ts';

/** Everything that a report shows. */
export interface ReportData {
  readonly explained: Explained;
  readonly stats: Stats;
  /** Who the events are for, by the field that names them; undefined where no event has it. */
  readonly customers: Affected | undefined;
  /** Undefined where the events name no subscription. */
  readonly subscriptions: Affected | undefined;
  /** The latest failures, newest first. */
  readonly failures: Items;
  /** The field that names who a failure is for, where events have it. */
  readonly nameField: FieldPath | undefined;
  /** All failures, grouped by the requested fields. */
  readonly groups: EventGroups | undefined;
}

/** Those that events are for, by one field. */
export interface Affected {
  readonly field: FieldPath;
  /** How many there are, with failures or without. */
  readonly all: number;
  /** Those with failures: first those that still fail, then the worst. */
  readonly rows: readonly Health[];
}

export interface ReportOptions extends SourceOptions {
  /** Fields to group the failures by. */
  readonly by: readonly FieldPath[] | undefined;
  /** Failures to show. */
  readonly limit: number;
  readonly buckets: Division | undefined;
  readonly baseline: Baseline | undefined;
}

const SUBSCRIPTION = memberPath('subscriptionId');

/** Reads the events of the window once, and finds in them what a report shows. */
export async function gatherReport(
  call: Pick<Call<SettingFlags>, 'flags' | 'context' | 'reporter'>,
  { by, limit, buckets, baseline, ...options }: ReportOptions,
): Promise<ReportData> {
  const nameField = await loadNameField(call.flags, call.context);
  // The status says what the table shows anyway; with both, the charts can tell how much went well.
  const filters = options.filters.withStatuses();
  return await withEventSource(call, { ...options, filters }, async (source) => {
    if (baseline) checkBaseline(source);
    const names = source.askNames?.();
    const reading = new ReportReading(by, nameField, limit, filters.zone);
    for await (const page of source.readOutcomes(source.filters, source.window)) reading.add(page);
    const { table } = reading;
    if (table.rows === 0) source.doubt();
    const window = windowOf(source, table.times.bounds, call.context.clock);
    const stats = statsOfTable(table, window, buckets);
    const explanation = explainTable(table, filters.zone);
    const { causes } = explanation;
    const untold = source.warnOfUnknown(table.untold, table.times);
    await names?.learn([...subscriptionsIn(causes), ...reading.failingSubscriptions()]);
    const then = baseline && (await countBaseline(source, baseline, { ...window, causes }, call.reporter));
    return {
      explained: { ...explanation, ...window, names, name: source.name, baseline: then, untold },
      stats,
      ...reading.found(names),
    };
  });
}

/** Gathers from each page what a report shows of it. */
class ReportReading {
  readonly table = new ComparisonTable();
  readonly #bySubscription: HealthTable;
  readonly #byName: HealthTable | undefined;
  readonly #nameField: FieldPath | undefined;
  readonly #groups: EventGroups | undefined;
  readonly #latest: LatestItems;
  readonly #isFailed = itemFilter([parseCondition('publishStatus = FAILED', '--status', 0)], []);

  constructor(
    by: readonly FieldPath[] | undefined,
    nameField: FieldPath | undefined,
    limit: number,
    zone: TimeZone,
  ) {
    this.#bySubscription = new HealthTable([SUBSCRIPTION], zone, nameField);
    this.#byName = nameField && new HealthTable([nameField], zone);
    this.#nameField = nameField;
    this.#groups = by && new EventGroups(by, zone);
    this.#latest = new LatestItems(limit);
  }

  add({ items, haveFailed }: PageOfOutcomes): void {
    this.table.add(items, haveFailed);
    this.#bySubscription.add(items, haveFailed);
    this.#byName?.add(items, haveFailed);
    const failed = this.#failedOf(items, haveFailed);
    this.#groups?.add(failed);
    this.#latest.add(failed);
  }

  failingSubscriptions(): string[] {
    const failing = this.#bySubscription.rows().filter(({ failed }) => failed > 0);
    return failing.flatMap(({ values: [id] }) => (typeof id === 'string' ? [id] : []));
  }

  found(names: ReturnType<NonNullable<EventSource['askNames']>> | undefined) {
    const customers =
      this.#byName && this.#nameField && affectedOf(this.#byName, this.#nameField, false, undefined);
    return {
      customers,
      subscriptions: affectedOf(this.#bySubscription, SUBSCRIPTION, true, names),
      failures: this.#latest.items(),
      nameField: customers && this.#nameField,
      groups: this.#groups,
    };
  }

  #failedOf(items: Items, haveFailed: boolean | undefined): Items {
    if (haveFailed === undefined) return this.#isFailed(items);
    return items.first(haveFailed ? items.count : 0);
  }
}

/** Undefined where no event has a value in the field. */
function affectedOf(
  table: HealthTable,
  field: FieldPath,
  areSubscriptions: boolean,
  names: Parameters<typeof namedRows>[2],
): Affected | undefined {
  const rows = table.rows().filter(({ values: [value] }) => value !== null);
  if (rows.length === 0) return undefined;
  const failed = rows.filter((row) => row.failed > 0);
  return { field, all: rows.length, rows: namedRows(failed, areSubscriptions, names) };
}

/** The items that were created last. */
class LatestItems {
  readonly #limit: number;
  readonly #createdOn = createdOnReader();
  #kept: { readonly text: Buffer; readonly createdOn: Instant | undefined }[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  add(items: Items): void {
    for (const text of items.texts())
      this.#kept.push({ text: Buffer.from(text), createdOn: this.#createdOn(text, 0) });
    if (this.#kept.length > 4 * this.#limit) this.#drop();
  }

  /** Newest first. */
  items(): Items {
    this.#drop();
    return Items.of(this.#kept.map(({ text }) => text));
  }

  #drop(): void {
    this.#kept = sortByCreation(this.#kept, 'newest first').slice(0, this.#limit);
  }
}
