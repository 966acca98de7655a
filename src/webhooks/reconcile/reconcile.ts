import type { Call } from '../../command.ts';
import type { FormatOptions } from '../../formats/format-options.ts';
import { formatTraits } from '../../formats/format-registry.ts';
import { createItemWriter } from '../../formats/item-writer.ts';
import { type ReceivedIds, readReceivedIds } from '../../ids/received-ids.ts';
import { type SourceOptions, withEventSource } from '../../sources/event-source.ts';
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
  readonly received: number;
  /** A subscription's address as it may be shown; undefined if unknown. */
  readonly addressOf: (subscriptionId: string) => string | undefined;
  /** Its address and state, as tables show them. */
  readonly labelOf: (subscriptionId: string) => string | undefined;
}

export async function reconcile(options: ReconcileOptions, call: Call): Promise<ReconciliationReport> {
  const { format } = options;
  const { keys, ...file } = await readReceivedIds(options.received, options.receivedField, call);
  return await withEventSource(call, options, async (source) => {
    const names = source.service?.askNames();
    const comparison = new Reconciliation(keys, source.filters.zone);
    const isList = formatTraits(format.format).hasOnlyRecords;
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
    if (result.records === 0) await source.service?.doubt();
    await names?.learn(result.groups.flatMap(({ subscriptionId }) => subscriptionId ?? []));
    const { after, before } = source.windowOf(result.bounds);
    const addressOf = (id: string) => names?.nameOf(id);
    const labelOf = (id: string) => names?.labelOf(id);
    return { ...result, after, before, file, received: keys.size, addressOf, labelOf };
  });
}
