import { type Advice, advise, hooktrail } from '../advice.ts';
import { UsageError } from '../errors.ts';
import { typeMatcher } from '../filters/event-filters.ts';
import { askEventTypes, eventTypeNames, keepEventTypes } from '../filters/event-types.ts';
import type { Service } from '../http/service.ts';
import { didYouMean } from '../settings/nearest-word.ts';
import type { Reporter } from '../terminal/reporter.ts';

/**
 * Returns the offered types that match the words of a flag: in any case, and `Dispatch*` for all that match
 * now. Throws `UsageError` for a word without a match.
 */
export async function typesOnOffer(
  words: readonly string[],
  flag: string,
  service: Service,
  reporter: Pick<Reporter, 'notice'>,
): Promise<string[]> {
  const { items } = (await askEventTypes(service)).page;
  await keepEventTypes(items, service);
  const types = matchingTypes(
    words,
    flag,
    eventTypeNames(items),
    'on offer',
    advise`${hooktrail('event-types')} lists them`,
  );
  for (const word of words.filter((one) => one.includes('*'))) {
    const { length } = matchesOf(word, types);
    const found = length === 1 ? '1 type' : `${length} types`;
    reporter.notice(`${flag} ${word}: ${found}; types offered later are not included`);
  }
  return types;
}

/** Returns the listed types that match the words. Throws `UsageError` for a word without a match. */
export function matchingTypes(
  words: readonly string[],
  flag: string,
  listed: readonly string[],
  where: string,
  otherwise: Advice,
): string[] {
  const types = words.flatMap((word) => {
    const found = matchesOf(word, listed);
    if (found.length > 0) return found;
    throw new UsageError(
      `${flag}: no event type ${where} is '${word}'`,
      didYouMean(word, candidatesFor(word, listed), otherwise),
    );
  });
  return [...new Set(types)];
}

function matchesOf(word: string, listed: readonly string[]): readonly string[] {
  if (listed.includes(word)) return [word];
  return listed.filter(typeMatcher(word));
}

/** Suggestions for a word: types or, for a pattern, the beginnings that several types share. */
function candidatesFor(word: string, listed: readonly string[]): readonly string[] {
  if (!word.includes('*')) return listed;
  return [...new Set(listed.flatMap(beginningsOf))].map((beginning) => `${beginning}*`);
}

/** `order.` of `order.created`; `Dispatch` of `DispatchCreated`. */
function beginningsOf(type: string): string[] {
  const ends = [...type.matchAll(/[._/:-](?=.)|[a-z0-9](?=[A-Z])/g)];
  return ends.map(({ index }) => type.slice(0, index + 1));
}
