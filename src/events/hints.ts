import { flagWords } from '../config/flag-words.ts';
import { suggestion } from '../config/nearest.ts';
import { shellWord } from '../config/shell-word.ts';
import { memberPath } from '../output/field-path.ts';
import type { ItemPage } from '../output/item-format.ts';
import { createCursor, MISSING } from '../output/json/cursor.ts';
import { stringText } from '../output/value-text.ts';
import type { FilterFlags } from './filter-flags.ts';
import { isGuid } from './guid.ts';

/** The id of the first event of a page that failed, where items tell it in the fields that searches go by. */
export function firstFailedId({ bytes, spans, count }: ItemPage): string | undefined {
  const cursor = createCursor(['publishStatus', 'eventId'].map(memberPath));
  const text = (path: number) => {
    const start = cursor.starts[path] as number;
    return start === MISSING || bytes[start] !== 0x22
      ? undefined
      : stringText(bytes, start, cursor.ends[path] as number);
  };
  for (let item = 0; item < count; item++) {
    cursor.read(bytes, spans[2 * item] as number);
    const id = text(0) === 'FAILED' ? text(1) : undefined;
    if (id !== undefined && isGuid(id)) return id;
  }
  return undefined;
}

/** What to type next after a search that showed a failed event, as command lines with a comment each. */
export function failureHints(id: string, flags: FilterFlags): string[] {
  const kept = flagWords(flags, ['after', 'since', 'before', 'until', 'subscription', 'type']);
  const stats = ['hooktrail events stats', ...kept.map(shellWord)].join(' ');
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
