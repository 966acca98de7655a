import type { Call } from '../command.ts';
import type { SubscriptionNames } from '../names/subscription-names.ts';
import { foldPages } from '../questions/fold.ts';
import { type EventSource, type SourceOptions, withEventSource } from '../sources/event-source.ts';
import type { Reporter } from '../terminal/reporter.ts';
import type { Instant } from '../time/instant.ts';
import { type Baseline, type BaselineCounts, checkBaseline, countBaseline } from './baseline.ts';
import type { Cause } from './exact-counts.ts';
import type { Explanation } from './explanation.ts';
import { againFrom, TwoReadings } from './two-readings.ts';

export interface Explained extends Explanation {
  readonly name: string;
  readonly after: Instant;
  readonly before: Instant;
  readonly baseline: BaselineCounts | undefined;
  readonly unknownOutcomes: number;
  readonly names: SubscriptionNames | undefined;
}

/** Explains the failures among the events that the filters select, whatever status they name. */
export async function explainEvents(
  call: Pick<Call, 'settings' | 'context' | 'reporter'>,
  { baseline, ...options }: SourceOptions & { readonly baseline?: Baseline | undefined },
): Promise<Explained> {
  const both = options.filters.withStatuses();
  return await withEventSource(call, { ...options, filters: both }, async (source) => {
    return await explainSource(source, baseline, [], call.reporter);
  });
}

/** The folds see each page of the first reading. */
export async function explainSource(
  source: EventSource,
  baseline: Baseline | undefined,
  folds: Parameters<typeof foldPages>[1],
  reporter: Reporter,
): Promise<Explained> {
  if (baseline) checkBaseline(source);
  const names = source.service?.askNames();
  const failures = new TwoReadings(againFrom(source, source.filters));
  await foldPages(source.readOutcomes(source.filters, source.window), [...folds, failures]);
  const { sample } = failures;
  const explanation = await failures.explain(source.filters.zone);
  await source.adviseOnResult(sample.events);
  await names?.learn(subscriptionsIn(explanation.causes));
  const { after, before } = source.windowOf(sample.bounds);
  const unknownOutcomes = source.warnOfUnknown(sample.unknownOutcomes, { unknown: sample.unknownTimes });
  const window = { after, before, causes: explanation.causes };
  const then = baseline && (await countBaseline(source, baseline, window, reporter));
  return { ...explanation, after, before, name: source.name, names, baseline: then, unknownOutcomes };
}

export function subscriptionsIn(causes: readonly Cause[]): string[] {
  return causes
    .flatMap(({ conditions, same }) => [...conditions, ...same])
    .flatMap(({ field, value }) => (field === 'subscriptionId' && typeof value === 'string' ? [value] : []));
}
