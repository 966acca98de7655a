import type { Call } from '../command.ts';
import { explainTable } from '../explain/causes.ts';
import { type Explained, subscriptionsIn } from '../explain/explain.ts';
import type { FieldPath } from '../items/field-path.ts';
import { itemFilter, parseCondition } from '../items/item-conditions.ts';
import { createdOnReader } from '../items/item-times.ts';
import { Items } from '../items/items.ts';
import { ComparisonTable } from '../outcomes/comparison-table.ts';
import { sortByCreation } from '../sources/creation-order.ts';
import { type SourceOptions, windowOf, withEventSource } from '../sources/event-source.ts';
import { EventGroups } from '../stats/event-groups.ts';
import { type Stats, statsOfTable } from '../stats/statistics.ts';
import type { Instant } from '../time/instant.ts';

/** Everything that a report shows. */
export interface ReportData {
  readonly explained: Explained;
  readonly stats: Stats;
  /** Those with failures, worst first; empty if the events name no subscription. */
  readonly subscriptions: ReturnType<ComparisonTable['outcomesOf']>;
  /** The latest failures, newest first. */
  readonly failures: Items;
  /** All failures, grouped by the requested fields. */
  readonly groups: EventGroups | undefined;
}

export interface ReportOptions extends SourceOptions {
  /** Fields to group the failures by. */
  readonly by: readonly FieldPath[] | undefined;
  /** Failures to show. */
  readonly limit: number;
  readonly buckets: number | undefined;
}

/** Reads the events of the window once, and finds in them what a report shows. */
export async function gatherReport(
  call: Pick<Call, 'flags' | 'context' | 'reporter'>,
  { by, limit, buckets, ...options }: ReportOptions,
): Promise<ReportData> {
  // The status says what the table shows anyway; with both, the charts can tell how much went well.
  const filters = options.filters.withStatuses();
  return await withEventSource(call, { ...options, filters }, async (source) => {
    const names = source.askNames?.();
    const table = new ComparisonTable();
    const groups = by && new EventGroups(by);
    const latest = new LatestItems(limit);
    const isFailed = itemFilter([parseCondition('publishStatus = FAILED', '--status', 0)], []);
    for await (const { items, haveFailed } of source.readOutcomes(source.filters, source.window)) {
      table.add(items, haveFailed);
      const failed = haveFailed === undefined ? isFailed(items) : items.first(haveFailed ? items.count : 0);
      groups?.add(failed);
      latest.add(failed);
    }
    if (table.rows === 0) source.doubt();
    const window = windowOf(source, table.times.bounds, call.context.clock);
    const stats = statsOfTable(table, window, buckets);
    const subscriptions = table
      .outcomesOf('subscriptionId')
      .filter(({ value, failed }) => value && failed > 0)
      .sort((a, b) => b.failed - a.failed);
    const explanation = explainTable(table);
    await names?.learn([
      ...subscriptionsIn(explanation.causes),
      ...subscriptions.flatMap(({ value }) => value ?? []),
    ]);
    const facts = {
      names,
      name: source.name,
      baseline: undefined,
      untold: source.warnOfUnknown(table.untold, table.times),
    };
    const explained = { ...explanation, ...window, ...facts };
    return { explained, stats, subscriptions, failures: latest.items(), groups };
  });
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
