import type { Clock } from '../context.ts';
import type { Service } from '../http/service.ts';
import type { ItemPage } from '../output/item-format.ts';
import { type Answer, pageFetcher } from './fetch-page.ts';
import { endpoint } from './query.ts';

/** The event types on offer, or those of them in which a value holds `match`, in any case (service description, part 4). */
export async function fetchEventTypes(service: Service, clock: Clock, match?: string): Promise<ItemPage> {
  const { page } = await askEventTypes(service, clock);
  return match === undefined ? page.items : matching(page.items, match.toLowerCase());
}

/** The event types on offer, and the service's time. */
export async function askEventTypes(service: Service, clock: Clock): Promise<Answer> {
  const fetchPage = pageFetcher(service, clock, undefined, 'the event types cannot be listed');
  return fetchPage(endpoint(service.baseUrl, 'event-types'));
}

function matching({ bytes, spans, count }: ItemPage, text: string): ItemPage {
  const kept: number[] = [];
  for (let index = 0; index < count; index++) {
    const [start, end] = [spans[index * 2] as number, spans[index * 2 + 1] as number];
    if (holds(JSON.parse(bytes.toString('utf8', start, end)), text)) kept.push(start, end);
  }
  return { bytes, spans: Uint32Array.from(kept), count: kept.length / 2 };
}

function holds(value: unknown, text: string): boolean {
  if (value !== null && typeof value === 'object')
    return Object.values(value).some((member) => holds(member, text));
  return String(value).toLowerCase().includes(text);
}
