import type { Call } from '../command.ts';
import { memberPath } from '../json/field-path.ts';
import { isGuid } from '../json/guid.ts';
import type { Items } from '../json/items.ts';
import { stringText } from '../json/json-bytes.ts';
import { createCursor, MISSING } from '../json/json-cursor.ts';
import type { EventFilters } from './event-filters.ts';

export interface SearchHints {
  /** Looks at items before they are printed. */
  see(items: Items): void;
  /** Prints the hints after a search. */
  tell(): void;
}

/** Next steps for a person at a terminal; undefined without a terminal, or if hints are off. */
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
    tell: () => {
      if (failed === undefined) return;
      for (const line of failureHints(failed, filters)) reporter.notice(`next: ${line}`);
    },
  };
}

/** The id of the first failed event of a page, if its items have the fields that searches filter by. */
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

/** Commands to type after a search that showed a failed event, each with a comment. */
export function failureHints(id: string, filters: EventFilters): string[] {
  const stats = ['hooktrail events stats', ...filters.words('id', 'status')].join(' ');
  return [`hooktrail events get ${id}  # in full`, `${stats}  # what fails, since when`];
}
