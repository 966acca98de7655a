import { ServiceError } from '../../errors.ts';
import { memberPath } from '../../output/field-path.ts';
import type { ItemPage } from '../../output/item-format.ts';
import { createCursor, MISSING } from '../../output/json/cursor.ts';
import { stringText } from '../../output/value-text.ts';
import type { FetchPage } from '../fetch-page.ts';
import { PAGE_SIZE } from '../page-flags.ts';
import { type Query, searchUrl } from '../query.ts';

export interface Got {
  readonly id: string;
  /** What the service has under the id: one item as a rule, none where it is not found. */
  readonly items: ItemPage;
}

/**
 * Asks for one event by its id (service description, part 4), within each of `queries`.
 * Throws `ServiceError` where the service answers with another event.
 */
export async function getEvent(
  fetchPage: FetchPage,
  baseUrl: URL,
  queries: readonly Query[],
  id: string,
  signal: AbortSignal,
): Promise<Got> {
  let items: ItemPage | undefined;
  for (const query of queries) {
    const url = searchUrl(baseUrl, { ...query, eventId: id }, { start: 1, count: PAGE_SIZE });
    ({ items } = (await fetchPage(url, signal)).page);
    verify(items, id);
    if (items.count > 0) break;
  }
  return { id, items: items as ItemPage };
}

/** Items need not say which event they are; where they do, it has to be the one asked for. */
function verify({ bytes, spans, count }: ItemPage, id: string): void {
  const cursor = createCursor([memberPath('eventId')]);
  for (let item = 0; item < count; item++) {
    cursor.read(bytes, spans[2 * item] as number);
    const [start, end] = [cursor.starts[0] as number, cursor.ends[0] as number];
    if (start === MISSING || bytes[start] !== 0x22) continue;
    const found = stringText(bytes, start, end);
    if (found.toLowerCase() === id.toLowerCase()) continue;
    throw new ServiceError(`the service was asked for the event ${id} and answered with ${found}`);
  }
}
