import type { Call } from '../command.ts';
import type { Service } from '../http/service.ts';
import type { ItemPage } from '../output/item-format.ts';
import { eventTypeNames } from './event-type-names.ts';
import { askEventTypes } from './event-types.ts';
import type { FilterFlags } from './filter-flags.ts';
import { failureHints, firstFailedId, unlistedTypes } from './hints.ts';

export interface SearchHints {
  /** Looks at items before they are printed. */
  see(items: ItemPage): void;
  /** Prints what there is to say after a search; `printed`: the events it printed. */
  tell(printed: number, service: Service): Promise<void>;
}

/** Next steps for a person at a terminal; undefined where nobody looks, or wants to be told. */
export function searchHints({ context, flags, reporter }: Call<FilterFlags>): SearchHints | undefined {
  if (!context.stdout.isTerminal || !context.stderr.isTerminal || reporter.quiet) return undefined;
  let failed: string | undefined;
  return {
    see: (items) => {
      failed ??= firstFailedId(items);
    },
    tell: async (printed, service) => {
      if (failed !== undefined) {
        for (const line of failureHints(failed, flags)) reporter.notice(`next: ${line}`);
      } else if (printed === 0 && flags.type) {
        for (const line of await wrongTypes(flags.type, service, context)) reporter.notice(line);
      }
    },
  };
}

/** A hint is not worth an error: where the types cannot be had there is none. */
async function wrongTypes(
  types: readonly string[],
  service: Service,
  { clock, signal }: Call['context'],
): Promise<string[]> {
  try {
    const { page } = await askEventTypes(service, clock);
    return unlistedTypes(types, eventTypeNames(page.items));
  } catch {
    signal.throwIfAborted();
    return [];
  }
}
