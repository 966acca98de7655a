import type { Context } from '../../context.ts';
import type { Query } from '../../events/event-query.ts';
import { pageFetcher } from '../../events/fetch-page.ts';
import { PAGE_SIZE } from '../../events/page-flags.ts';
import { readPages } from '../../events/read-pages.ts';
import { waitText } from '../../http/retry.ts';
import type { Service } from '../../http/service.ts';
import { textsOf } from '../../items/item-texts.ts';
import { JsonScanner } from '../../items/json-scanner.ts';
import type { Progress } from '../../terminal/progress.ts';
import { type EventKey, eventKey } from '../event-key.ts';

/** An event of a search, with memory of its own. */
export interface FoundEvent {
  /** The item's own JSON text. */
  readonly body: Buffer;
  /** Undefined where the item has no `eventId` that is a string. */
  readonly eventId: string | undefined;
  readonly key: EventKey | undefined;
}

export interface Finding {
  readonly service: Service;
  readonly queries: readonly Query[];
  readonly context: Pick<Context, 'clock' | 'signal'>;
  readonly progress: Progress;
}

const QUOTE = 0x22;
/** Handing over takes longer than finding: more pages ahead would only wait. */
const PAGES_AHEAD = 2;

/** The events of every search, one after the other. */
export async function* foundEvents({
  service,
  queries,
  context,
  progress,
}: Finding): AsyncGenerator<FoundEvent> {
  const { clock, signal } = context;
  let pages = 0;
  const fetchPage = pageFetcher(service, clock, (attempt) => progress.update({ note: waitText(attempt) }));
  for (const query of queries) {
    const options = {
      baseUrl: service.baseUrl,
      query,
      pageSize: PAGE_SIZE,
      concurrency: () => PAGES_AHEAD,
      signal,
    };
    for await (const { items, total } of readPages(fetchPage, options)) {
      progress.update({ pages: ++pages, total: queries.length === 1 ? total : undefined });
      yield* textsOf(items).map(foundEvent);
    }
  }
}

function foundEvent(text: Buffer): FoundEvent {
  const body = Buffer.from(text);
  const scanner = new JsonScanner(body);
  scanner.value(0);
  const at = scanner.eventIdAt;
  const isText = at > 0 && body[at] === QUOTE;
  const eventId = isText ? (JSON.parse(body.toString('utf8', at, scanner.string(at))) as string) : undefined;
  return { body, eventId, key: eventId ? eventKey(eventId) : undefined };
}
