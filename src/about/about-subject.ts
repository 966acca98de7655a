import { advise, hooktrail } from '../advice.ts';
import { ServiceError, UsageError } from '../errors.ts';
import { EventFilters } from '../filters/event-filters.ts';
import { severalSubscriptions } from '../filters/resolve-filters.ts';
import type { FieldPath } from '../items/field-path.ts';
import { guidsIn, withoutGuidCase } from '../items/guids.ts';
import { wordMatcher } from '../items/whole-words.ts';
import { type SubscriptionNames, withWord, wordsOfAddresses } from '../names/subscription-names.ts';
import { createWhoReader } from '../names/who.ts';
import { didYouMean } from '../settings/nearest-word.ts';
import type { EventSource } from '../sources/event-source.ts';
import { instantAt, milliseconds } from '../time/instant.ts';
import { DAY_MS } from '../time/lengths.ts';
import type { AboutQuestions, Subject } from './about-questions.ts';

interface Knowledge {
  readonly source: EventSource;
  readonly names: SubscriptionNames | undefined;
  readonly nameField: FieldPath | undefined;
}

/**
 * Resolves the word and reads its events. Subscriptions that are switched off are not listed: their addresses
 * are known only through events, which are searched last. Throws `UsageError` if the word matches nothing or
 * several subscriptions, and `ServiceError` if the service cannot resolve it.
 */
export async function readSubject(
  word: string,
  known: Knowledge,
  read: (subject: Subject, filters: EventFilters) => Promise<AboutQuestions>,
): Promise<{ readonly subject: Subject; readonly reading: AboutQuestions }> {
  const { source, names, nameField } = known;
  const { filters } = source;
  await names?.awaitList();
  const listed = subjectOf(word, names);
  if (listed) return { subject: listed, reading: await read(listed, filters) };
  const name: Subject = { by: 'name', id: undefined };
  const named = nameField && (await read(name, filters));
  if (named && named.result().health.events > 0) return { subject: name, reading: named };
  // Without the list the word could be in any address.
  await names?.requireList();
  const late =
    subjectOf(word, names) ?? (names?.isListed ? await findUnlisted(word, { ...known, names }) : undefined);
  if (late && late.by !== 'earlier name')
    return { subject: late, reading: await read(late, named ? withoutDoubts(filters) : filters) };
  if (named) {
    if (late) named.receivers.add(late.lastId);
    return { subject: name, reading: named };
  }
  throw unknownWord(word, known);
}

/** Days before the window's end to search for subscriptions that are off or gone. */
const UNLISTED_DAYS = 30;
/** Maximum events read in that search, newest first. */
const MAX_EVENTS_READ = 20_000;

/** A name whose last event precedes the window; `lastId` is that event's subscription. */
interface EarlierName {
  readonly by: 'earlier name';
  readonly lastId: string;
}

/**
 * Searches recent events for unlisted subscriptions whose address contains the word, and for names that match
 * it. Throws `ServiceError` if some addresses cannot be read, since the word may be in one of them.
 */
async function findUnlisted(
  word: string,
  { source, names, nameField }: Knowledge & { readonly names: SubscriptionNames },
): Promise<Subject | EarlierName | undefined> {
  const before = source.window?.before;
  if (!before) return undefined;
  const whoOf = createWhoReader(nameField);
  const isMeant = wordMatcher(word);
  const ids = new Set<string>();
  let events = 0;
  const after = instantAt(milliseconds(before) - UNLISTED_DAYS * DAY_MS);
  const chosen = withoutDoubts(source.filters.withoutTimes());
  for await (const { items } of source.read(chosen, { after, before }, 'newest first')) {
    const whos = Array.from({ length: items.count }, (_, item) => whoOf(items.bytes, items.start(item)));
    for (const { subscriptionId } of whos) if (subscriptionId !== undefined) ids.add(subscriptionId);
    await names.learn(ids);
    const found = subjectOf(word, names);
    if (found) return found;
    const lastId = whos.find((who) => who.names.some(isMeant))?.subscriptionId;
    if (lastId !== undefined) return { by: 'earlier name', lastId };
    events += items.count;
    if (events >= MAX_EVENTS_READ) break;
  }
  const unknown = [...ids].filter((id) => !names.of(id));
  if (unknown.length === 0) return undefined;
  throw new ServiceError(
    `'${word}' is not in an address that is known, and ${unknown.length} ${unknown.length === 1 ? 'subscription' : 'subscriptions'} with events could not be looked up`,
    { details: unknown.slice(0, 10), next: 'give the id of the subscription' },
  );
}

/** Matches the id or part of a known address. Throws `UsageError` if it matches several. */
function subjectOf(word: string, names: SubscriptionNames | undefined): Subject | undefined {
  const [guid, another] = guidsIn(word);
  if (guid !== undefined && another === undefined) return { by: 'id', id: guid.toLowerCase() };
  const found = withWord(names?.all ?? [], word);
  const [one, second] = found;
  if (one && !second) return { by: 'address', id: withoutGuidCase(one.id) };
  if (one) throw severalSubscriptions(word, found);
  return undefined;
}

function unknownWord(word: string, { source, names }: Knowledge): UsageError {
  if (!names?.isListed)
    return new UsageError(
      `'${word}' is not an id, and ${source.service ? 'this service lists' : 'stored events name'} no addresses`,
      {
        next: advise`give the id of a subscription, or name the field that says who an event is for: ${hooktrail('config set name-field PATH')}`,
      },
    );
  return new UsageError(
    `'${word}' is neither an id nor in the address of a subscription that is switched on or had events in the last ${UNLISTED_DAYS} days`,
    didYouMean(
      word,
      wordsOfAddresses(names.all),
      advise`${hooktrail('subscriptions')} lists those that are switched on`,
    ),
  );
}

/** For another reading of events whose doubts were already reported. */
export function withoutDoubts(filters: EventFilters): EventFilters {
  return new EventFilters({ ...filters, hasDoubts: false });
}
