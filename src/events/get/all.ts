import type { Context } from '../../context.ts';
import type { Service } from '../../http/service.ts';
import type { ItemPage, ItemWriter } from '../../output/item-format.ts';
import type { Reporter } from '../../output/reporter.ts';
import { adaptiveConcurrency } from '../adaptive-concurrency.ts';
import { pageFetcher } from '../fetch-page.ts';
import { pageOf, textsOf } from '../item-texts.ts';
import type { Query } from '../query.ts';
import { getEvent } from './event.ts';
import { inOrder } from './in-order.ts';

export interface GetParts {
  readonly service: Service;
  /** An event is looked for within each of them. */
  readonly queries: readonly Query[];
  readonly writer: ItemWriter;
  /** Events printed together: the first batch decides a table's columns, one at a time goes out at once. */
  readonly batch: number;
  readonly context: Pick<Context, 'clock' | 'signal'>;
  readonly reporter: Reporter;
}

/** Prints the events of the ids in their order, names those that are not found, and returns how many these are. */
export async function getAll(
  ids: (ending: AbortSignal) => AsyncIterable<string>,
  { service, queries, writer, batch, context, reporter }: GetParts,
  concurrency: number,
): Promise<number> {
  const { width, onRetry } = adaptiveConcurrency(concurrency);
  const fetchPage = pageFetcher(service, context.clock, onRetry);
  const ask = (id: string, signal: AbortSignal) => getEvent(fetchPage, service.baseUrl, queries, id, signal);
  let missing = 0;
  let found: ItemPage[] = [];
  const print = async () => {
    if (found.length > 0) await writer.write(pageOf(found.flatMap(textsOf)));
    found = [];
  };
  try {
    for await (const { id, items } of inOrder(ids, ask, width, context.signal)) {
      if (items.count > 0) found.push(items);
      else {
        missing++;
        reporter.warning(`the event ${id} was not found`);
      }
      if (found.length >= batch) await print();
    }
    await print();
  } catch (error) {
    // What came before a bad line was found all the same.
    if (!context.signal.aborted) await print();
    await writer.abort();
    throw error;
  }
  await writer.end();
  return missing;
}
