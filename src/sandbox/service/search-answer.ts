import type { CollectionMember } from '../behaviour.ts';
import type { EventPage } from '../store/event-store.ts';
import type { Links } from './links.ts';

/** A SearchIntegratorEventCollection (service description, part 2) around items that are serialised already. */
export function searchAnswer(
  links: Links,
  limit: number,
  page: EventPage,
  omit: readonly CollectionMember[],
): Buffer {
  const members = { ...links, count: page.count, limit } as Partial<Record<CollectionMember, unknown>>;
  for (const member of omit) delete members[member];
  const head = JSON.stringify(members).slice(0, -1);
  if (omit.includes('items')) return Buffer.from(`${head}}`);
  return Buffer.concat([
    Buffer.from(`${head}${head.length > 1 ? ',' : ''}"items":[`),
    ...page.items,
    Buffer.from(']}'),
  ]);
}
