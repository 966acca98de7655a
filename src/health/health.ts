import type { Call } from '../command.ts';
import { ServiceError, UnreachableError } from '../errors.ts';
import type { FieldPath } from '../items/field-path.ts';
import { foldPages } from '../questions/fold.ts';
import { HealthFold } from '../questions/health-fold.ts';
import { type Health, namedRows, subscriptionIdOf } from '../questions/health-row.ts';
import type { Silence } from '../questions/silence.ts';
import { quietSubscriptions, silencesOf, withSilence } from '../questions/silent-rows.ts';
import { type SourceOptions, withEventSource } from '../sources/event-source.ts';
import type { Reporter } from '../terminal/reporter.ts';
import type { Instant } from '../time/instant.ts';
import { areSubscriptions, refuseStatuses, SUBSCRIPTION } from './health-subject.ts';

export interface HealthReport {
  readonly after: Instant;
  readonly before: Instant;
  readonly unknownOutcomes: number;
  readonly by: readonly FieldPath[];
  /** True if the list of subscriptions failed, so those without events have no row. */
  readonly isListUnknown: boolean;
  readonly rows: readonly Health[];
}

export async function checkHealth(
  call: Pick<Call, 'settings' | 'context' | 'reporter'>,
  { by = SUBSCRIPTION, ...options }: SourceOptions & { readonly by?: readonly FieldPath[] | undefined },
): Promise<HealthReport> {
  refuseStatuses(options.filters);
  const { nameField } = options.filters;
  return await withEventSource(call, options, async (source) => {
    const isBySubscription = areSubscriptions(by);
    const names = isBySubscription ? source.service?.askNames() : undefined;
    const table = new HealthFold([by], source.filters.zone, isBySubscription ? nameField : undefined);
    await foldPages(source.readOutcomes(source.filters, source.window), [table]);
    await source.adviseOnResult(table.events);
    for (const doubt of table.doubts()) call.reporter.warning(doubt, { kind: 'usage' });
    if (table.isUnordered) call.reporter.warning(UNORDERED, { kind: 'incomplete' });
    const { after, before } = source.windowOf(table.times.bounds);
    const found = table.result();
    await names?.learn(found.flatMap((row) => subscriptionIdOf(row) ?? []));
    const whyUnknown = names?.whyUnknown;
    if (whyUnknown !== undefined)
      call.reporter.warning(`subscriptions without events have no row here: ${whyUnknown}`, {
        kind: 'incomplete',
      });
    const quiet = names ? quietSubscriptions(names, found, source.filters) : [];
    const rows = [...found, ...quiet];
    const watching = { by, isBySubscription, names, before };
    const silences = await silencesOf(source, table, rows, watching).catch((error) => {
      warnOfUnknownSilences(error, call.reporter);
      return new Map<string, Silence>();
    });
    const known = rows.map((row) => withSilence(row, silences.get(row.key)));
    const named = namedRows(known, isBySubscription, names);
    const unknownOutcomes = source.warnOfUnknown(table.unknownOutcomes, table.times);
    return { after, before, unknownOutcomes, by, rows: named, isListUnknown: whyUnknown !== undefined };
  });
}

const UNORDERED = 'events have no time, so their order is unknown: failing means that any event failed';

/** Reports the rows without silences. Rethrows errors that are not the service's. */
function warnOfUnknownSilences(error: unknown, reporter: Reporter): void {
  if (!(error instanceof ServiceError || error instanceof UnreachableError)) throw error;
  reporter.warning(`silence of subscriptions could not be checked: ${error.message}`, { kind: error.kind });
}
