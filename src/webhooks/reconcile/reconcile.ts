import type { Call } from '../../command.ts';
import type { FormatOptions } from '../../formats/format-flags.ts';
import { createItemWriter } from '../../formats/formats.ts';
import { type ReceivedIds, readReceivedIds } from '../../ids/received-ids.ts';
import { type SourceOptions, windowOf, withEventSource } from '../../sources/event-source.ts';
import type { Instant } from '../../time/instant.ts';
import { Reconciliation, type ReconciliationResult } from './reconciliation.ts';

export interface ReconcileOptions extends SourceOptions {
  readonly received: string;
  readonly receivedField: string | undefined;
  readonly format: FormatOptions;
}

export interface ReconciliationReport extends ReconciliationResult {
  readonly after: Instant;
  readonly before: Instant;
  readonly file: Omit<ReceivedIds, 'keys'>;
  /** Distinct ids in FILE. */
  readonly received: number;
  /** The address of a subscription, as it may be shown; undefined where it is not known. */
  readonly addressOf: (subscriptionId: string) => string | undefined;
}

/**
 * Compares the ids of a file with the service's records of the window. With NDJSON or CSV, prints the missing
 * records as they are found. Throws `UsageError` for a file without ids, and the errors of the search.
 */
export async function reconcile(options: ReconcileOptions, call: Call): Promise<ReconciliationReport> {
  const { format } = options;
  const { keys, ...file } = await readReceivedIds(options.received, options.receivedField, call);
  return await withEventSource(call, options, async (source) => {
    const names = source.askNames?.();
    const comparison = new Reconciliation(keys, source.filters.zone);
    const isList = format.format === 'ndjson' || format.format === 'csv';
    const writer = isList ? await createItemWriter(format, call.context, call.reporter) : undefined;
    try {
      for await (const { items, haveFailed } of source.readOutcomes(source.filters, source.window)) {
        const missing = comparison.see(items, haveFailed);
        if (missing.count > 0) await writer?.write(missing);
      }
      await writer?.end?.();
    } catch (error) {
      await writer?.abort?.();
      throw error;
    }
    const result = comparison.result();
    if (result.records === 0) await source.doubt();
    await names?.learn(result.groups.flatMap(({ subscriptionId }) => subscriptionId ?? []));
    const { after, before } = windowOf(source, result.bounds, call.context.clock);
    const addressOf = (id: string) => names?.labelOf(id);
    return { ...result, after, before, file, received: keys.size, addressOf };
  });
}
