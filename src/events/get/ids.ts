import { UsageError } from '../../errors.ts';
import { isGuid, notAGuid } from '../guid.ts';

/** A line of text that is no GUID may be long; this much of it tells which one it is. */
const SHOWN = 60;

/** Event ids given as arguments; all are checked before any is used. Throws `UsageError`. */
export function idsOfArguments(args: readonly string[]): readonly string[] {
  for (const text of args) {
    if (text === '-')
      throw new UsageError('<eventId>: - reads all ids from standard input: give it alone, or give ids');
    if (!isGuid(text)) throw noId('<eventId>', text);
  }
  return args;
}

/**
 * Event ids, one a line, as the lines arrive; blank lines are skipped. `ending` leaves the input, also while it is waited for.
 * Throws `UsageError` at a line that is no id.
 */
export async function* idsOfLines(lines: AsyncIterable<string>, ending: AbortSignal): AsyncGenerator<string> {
  const source = lines[Symbol.asyncIterator]();
  const leave = () => void source.return?.();
  ending.addEventListener('abort', leave, { once: true });
  try {
    for (let number = 1; ; number++) {
      const { done, value } = await source.next();
      if (done) return;
      const text = value.trim();
      if (text === '') continue;
      if (!isGuid(text)) throw noId(`standard input, line ${number}`, text);
      yield text;
    }
  } finally {
    ending.removeEventListener('abort', leave);
    leave();
  }
}

function noId(where: string, text: string): UsageError {
  const shown = text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
  return new UsageError(`${where}: ${notAGuid(shown)}`, {
    next: where === '<eventId>' ? undefined : 'give one event id a line',
  });
}
