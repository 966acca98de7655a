import type { Call } from '../command.ts';
import type { SubscriptionNames } from '../names/subscription-names.ts';
import { ComparisonTable } from '../outcomes/comparison-table.ts';
import { type SourceOptions, windowOf, withEventSource } from '../sources/event-source.ts';
import type { Instant } from '../time/instant.ts';
import { type Baseline, type BaselineCounts, checkBaseline, countBaseline } from './baseline.ts';
import { type Cause, type Explanation, explainTable } from './causes.ts';

export interface Explained extends Explanation {
  /** The service's host, or the place of stored events. */
  readonly name: string;
  readonly after: Instant;
  readonly before: Instant;
  readonly baseline: BaselineCounts | undefined;
  /** Events of unknown outcome, which are left out. */
  readonly untold: number;
  /** The service's subscriptions, of which those in causes are known. */
  readonly names: SubscriptionNames | undefined;
}

/** Explains the failures among the events that the filters choose, whatever status they name. */
export async function explainEvents(
  call: Pick<Call, 'settings' | 'context' | 'reporter'>,
  { baseline, ...options }: SourceOptions & { readonly baseline?: Baseline | undefined },
): Promise<Explained> {
  const both = options.filters.withStatuses();
  return await withEventSource(call, { ...options, filters: both }, async (source) => {
    if (baseline) checkBaseline(source);
    const names = source.askNames?.();
    const table = new ComparisonTable();
    for await (const { items, haveFailed, share } of source.readOutcomes(source.filters, source.window))
      table.add(items, haveFailed, share);
    if (table.rows === 0) source.doubt();
    const explanation = explainTable(table, source.filters.zone);
    await names?.learn(subscriptionsIn(explanation.causes));
    const { after, before } = windowOf(source, table.times.bounds, call.context.clock);
    const explained = { ...explanation, after, before };
    return {
      ...explained,
      name: source.name,
      names,
      baseline: baseline && (await countBaseline(source, baseline, explained, call.reporter)),
      untold: source.warnOfUnknown(table.untold, table.times),
    };
  });
}

/** The ids of the subscriptions that conditions of some causes name. */
export function subscriptionsIn(causes: readonly Cause[]): string[] {
  return causes
    .flatMap(({ conditions, same }) => [...conditions, ...same])
    .flatMap(({ field, value }) => (field === 'subscriptionId' && typeof value === 'string' ? [value] : []));
}
