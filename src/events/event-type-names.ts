import { tableColumns } from '../output/default-columns.ts';
import { createRowReader } from '../output/item-cells.ts';
import type { ItemPage } from '../output/item-format.ts';
import { membersOf } from '../output/item-members.ts';
import { valueText } from '../output/value-text.ts';

/**
 * The names by which `eq(eventType,…)` takes the listed types. The service does not say which member holds it (service
 * description, part 2): it is the one that `event-types` shows first.
 */
export function eventTypeNames(items: ItemPage): string[] {
  if (items.count === 0) return [];
  const [name] = tableColumns(membersOf(items), 'event-types');
  const read = createRowReader(name ? [name] : [], valueText, '');
  const names = read(items).map(([text = '']) => text);
  return [...new Set(names.filter((text) => text !== ''))];
}
