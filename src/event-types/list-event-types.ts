import type { Call } from '../command.ts';
import { askEventTypes, keepEventTypes } from '../filters/event-types.ts';
import type { FormatOptions } from '../formats/format-options.ts';
import { createItemWriter } from '../formats/item-writer.ts';
import type { Items } from '../items/items.ts';
import { scalarsText } from '../items/json-scanner.ts';
import { withService } from '../sign-in/session.ts';

interface ListTypesOptions {
  readonly match: string | undefined;
  readonly limit: number | undefined;
  readonly format: FormatOptions;
}

/** Prints the types on offer that hold `match`, at most `limit`, and remembers them for shell completion. */
export async function listEventTypes(
  { match, limit = Number.POSITIVE_INFINITY, format }: ListTypesOptions,
  call: Call,
): Promise<void> {
  await withService(call, async (service) => {
    const writer = await createItemWriter(format, call.context, call.reporter);
    try {
      const { items: all } = (await askEventTypes(service)).page;
      await keepEventTypes(all, service);
      const items = (match === undefined ? all : matchingItems(all, match)).first(limit);
      if (items.count > 0) await writer.write(items, true);
    } catch (error) {
      await writer.abort?.();
      throw error;
    }
    await writer.end?.();
  });
}

/** Returns the items in which a value contains `match`, ignoring case. */
export function matchingItems(items: Items, match: string): Items {
  const textOf = (item: number) =>
    scalarsText(items.bytes, items.start(item), items.end(item), Number.POSITIVE_INFINITY);
  const indexes = [...Array(items.count).keys()];
  return items.pick(indexes.filter((item) => textOf(item).toLowerCase().includes(match.toLowerCase())));
}
