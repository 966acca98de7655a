import { UsageError } from '../errors.ts';

const GUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
/** A line of text that is no GUID may be long; this much of it tells which one it is. */
const SHOWN = 60;

/** Event ids given as arguments; all are checked before any is used. Throws `UsageError`. */
export function idsOfArguments(args: readonly string[]): readonly string[] {
  for (const text of args) {
    if (text === '-')
      throw new UsageError('<eventId>: - reads all ids from standard input: give it alone, or give ids');
    if (!GUID.test(text)) throw notAGuid('<eventId>', text);
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
      if (!GUID.test(text)) throw notAGuid(`standard input, line ${number}`, text);
      yield text;
    }
  } finally {
    ending.removeEventListener('abort', leave);
    leave();
  }
}

function notAGuid(where: string, text: string): UsageError {
  const shown = text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
  return new UsageError(`${where}: '${shown}' is not a GUID such as 0f8fad5b-d9cb-469f-a165-70867728950e`, {
    next: where === '<eventId>' ? undefined : 'give one event id a line',
  });
}
