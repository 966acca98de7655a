import type { Call } from '../command.ts';
import type { Service } from '../http/service.ts';
import { memberPath } from '../items/field-path.ts';
import { isGuid } from '../items/guid.ts';
import type { Items } from '../items/items.ts';
import { createCursor, MISSING } from '../items/json-cursor.ts';
import { stringText } from '../items/value-text.ts';
import { suggestion } from '../settings/nearest.ts';
import type { EventFilters } from './event-filters.ts';
import { askEventTypes, eventTypeNames } from './event-types.ts';

export interface SearchHints {
  /** Looks at items before they are printed. */
  see(items: Items): void;
  /** Prints what there is to say after a search; `printed`: the events it printed. */
  tell(printed: number, service: Service): Promise<void>;
}

/** Next steps for a person at a terminal; undefined where nobody looks, or wants to be told. */
export function searchHints(
  { context, reporter }: Pick<Call, 'context' | 'reporter'>,
  filters: EventFilters,
): SearchHints | undefined {
  if (!context.stdout.isTerminal || !context.stderr.isTerminal || reporter.quiet) return undefined;
  let failed: string | undefined;
  return {
    see: (items) => {
      failed ??= firstFailedId(items);
    },
    tell: async (printed, service) => {
      if (failed !== undefined) {
        for (const line of failureHints(failed, filters)) reporter.notice(`next: ${line}`);
      } else if (printed === 0 && filters.eventTypes.length > 0) {
        for (const line of await wrongTypes(filters.eventTypes, service, context)) reporter.notice(line);
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

/** The id of the first event of a page that failed, where items tell it in the fields that searches go by. */
export function firstFailedId(items: Items): string | undefined {
  const { bytes, count } = items;
  const cursor = createCursor(['publishStatus', 'eventId'].map(memberPath));
  const text = (path: number) => {
    const start = cursor.starts[path] as number;
    return start === MISSING || bytes[start] !== 0x22
      ? undefined
      : stringText(bytes, start, cursor.ends[path] as number);
  };
  for (let item = 0; item < count; item++) {
    cursor.read(bytes, items.start(item));
    const id = text(0) === 'FAILED' ? text(1) : undefined;
    if (id !== undefined && isGuid(id)) return id;
  }
  return undefined;
}

/** What to type next after a search that showed a failed event, as command lines with a comment each. */
export function failureHints(id: string, filters: EventFilters): string[] {
  const stats = ['hooktrail events stats', ...filters.words('id', 'status')].join(' ');
  return [`hooktrail events get ${id}  # in full`, `${stats}  # what fails, since when`];
}

/** What to say of types that the service does not list; it may have events of them all the same. */
export function unlistedTypes(asked: readonly string[], listed: readonly string[]): string[] {
  return asked
    .filter((type) => !listed.includes(type))
    .map((type) => {
      const next = suggestion(type, listed) ?? '`hooktrail event-types` lists them';
      return `'${type}' is not among the event types on offer; ${next}`;
    });
}
