import { UsageError } from '../../errors.ts';
import { compareInstants, parseInstant } from '../instant.ts';
import type { Filters } from '../typed-filters.ts';
import type { Manifest } from './manifest.ts';

/** What makes two calls the same export. */
export type Identity = Pick<Manifest, 'service' | 'filters' | 'gzip'>;

/** Throws `UsageError` naming each difference where the directory's export is another one than is asked for. */
export function checkSame(directory: string, there: Identity, here: Identity): void {
  const differences: string[] = [];
  const compare = (name: string, a: string, b: string) => {
    if (a !== b) differences.push(`${name}: ${a} there, ${b} here`);
  };
  compare('--base-url', there.service, here.service);
  for (const name of ['after', 'before', 'subscription', 'id', 'status', 'type']) {
    const [a, b] = [there.filters[name], here.filters[name]];
    if (!isSameTime(a, b)) compare(`--${name}`, text(a), text(b));
  }
  compare('--gzip', there.gzip ? 'given' : 'not given', here.gzip ? 'given' : 'not given');
  if (differences.length === 0) return;
  throw new UsageError(`${directory} holds another export`, {
    details: differences,
    next: 'choose another directory, or repeat the command that began this one',
  });
}

/** `2026-11-01` and `2026-11-01T00:00:00Z` are one time. A span such as 7d is the same only as itself: it was resolved once. */
function isSameTime(a: Filters[string] | undefined, b: Filters[string] | undefined): boolean {
  if (typeof a !== 'string' || typeof b !== 'string') return false;
  const isAbsolute = (time: string) => /^\d{4}-/.test(time);
  if (a === b) return true;
  if (!isAbsolute(a) || !isAbsolute(b)) return false;
  return compareInstants(parseInstant(a, 'a', 0), parseInstant(b, 'b', 0)) === 0;
}

function text(value: Filters[string] | undefined): string {
  if (value === undefined) return 'not given';
  return typeof value === 'string' ? value : value.join(', ');
}
