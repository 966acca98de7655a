import type { Context } from '../../context.ts';
import type { EventFilters } from '../../events/event-filters.ts';
import type { Service } from '../../http/service.ts';
import { createItemWriter } from '../../output/create-item-writer.ts';
import type { FormatOptions } from '../../output/item-writer.ts';
import { startProgress } from '../../terminal/progress.ts';
import type { Reporter } from '../../terminal/reporter.ts';
import { knownIds } from '../journal/known-ids.ts';
import { foundEvents } from './found-events.ts';
import { LeftEvents } from './left-events.ts';

export interface Missing {
  readonly service: Service;
  readonly filters: EventFilters;
  readonly format: FormatOptions;
  /** The journal's. */
  readonly file: string;
  readonly context: Context;
  readonly reporter: Reporter;
}

/** Prints the events that the journal does not hold; touches neither journal nor handler. */
export async function listMissing({ service, filters, format, file, context, reporter }: Missing) {
  const ids = await knownIds(file);
  const writer = await createItemWriter(format, context, reporter);
  const left = new LeftEvents(writer, format);
  const progress = startProgress(context, reporter, 'comparing');
  let found = 0;
  try {
    for await (const event of foundEvents({ service, filters, context, progress })) {
      progress.update({ events: ++found, note: '' });
      if (event.key === undefined || !ids.has(event.key)) left.add(event);
      await left.printed();
    }
    progress.stop();
    await left.end();
  } catch (error) {
    progress.stop();
    await writer.abort();
    throw error;
  }
  return { missing: left.count, known: found - left.count };
}
