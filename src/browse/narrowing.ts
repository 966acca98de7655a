import type { KeepItems } from '../events/event-filters.ts';
import type { EventGroup } from '../events/group-events.ts';
import type { FieldPath } from '../items/field-path.ts';
import { itemFilter, parseCondition } from '../items/item-conditions.ts';
import type { TimeZone } from '../items/time-zone.ts';

/** A condition that the shown events meet, as a flag of a search gives it. */
export interface Narrowing {
  readonly flag: 'where' | 'grep';
  readonly text: string;
  readonly keep: KeepItems;
}

/**
 * Reads a condition of `--where`; a text without an operator, or in quotes, is one of `--grep`. Throws `UsageError`.
 * Spans ago count from `now` (milliseconds since the epoch), times without a zone are those of `zone`.
 */
export function narrowingOf(typed: string, now: number, zone: TimeZone): Narrowing {
  const text = typed.trim();
  const isQuoted = /^"[^"]+"$/.test(text);
  if (!isQuoted && /[!=<>~]/.test(text))
    return { flag: 'where', text, keep: itemFilter([parseCondition(text, 'w', now, zone)], []) };
  const wanted = isQuoted ? text.slice(1, -1) : text;
  return { flag: 'grep', text: wanted, keep: itemFilter([], [wanted]) };
}

/** The condition that the events of a group meet. */
export function groupCondition(field: FieldPath, { values: [value] }: EventGroup): string {
  return `${field.text} = ${value ?? 'null'}`;
}
