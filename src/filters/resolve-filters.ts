import { advise, hooktrail } from '../advice.ts';
import type { Call } from '../command.ts';
import { UsageError } from '../errors.ts';
import type { Service } from '../http/service.ts';
import { shownAddress } from '../names/callback-address.ts';
import {
  listSubscriptions,
  type NamedSubscription,
  withWord,
  wordsOfAddresses,
} from '../names/subscription-names.ts';
import { didYouMean } from '../settings/nearest-word.ts';
import { canPrompt, confirm } from '../terminal/prompt.ts';
import type { Reporter } from '../terminal/reporter.ts';
import type { EventFilters } from './event-filters.ts';
import { resolveTypes } from './event-types.ts';

type Telling = Pick<Reporter, 'notice' | 'warning'>;

/** Resolves spelling and patterns of types, and parts of addresses. */
export async function resolveFilters(
  filters: EventFilters,
  service: Service,
  reporter: Telling,
): Promise<EventFilters> {
  const named = await resolveSubscriptions(filters, service, reporter);
  return await resolveTypes(named, service, reporter);
}

/** A person confirms the match of a part of an address. Throws `UsageError` without a terminal. */
export async function resolveToSend(
  filters: EventFilters,
  service: Service,
  { context, reporter }: Pick<Call, 'context' | 'reporter'>,
): Promise<EventFilters> {
  const [word] = filters.subscriptionWords;
  if (word === undefined) return await resolveTypes(filters, service, reporter);
  if (!canPrompt(context))
    throw new UsageError(
      `--subscription: '${word}' is not a GUID, and without a terminal nobody can confirm its match`,
      { next: advise`${hooktrail('subscriptions')} lists the subscriptions with their ids` },
    );
  const meant = await subscriptionsWith(filters.subscriptionWords, service);
  const found = meant.map(({ one }) => one);
  const declined = new UsageError('nothing was sent', { next: 'give the id: --subscription GUID' });
  await confirm(`Use ${found.map(addressWithId).join(', ')}?`, context, declined);
  return await resolveTypes(withFound(filters, found), service, reporter);
}

export async function resolveSubscriptions(
  filters: EventFilters,
  service: Service,
  reporter: Pick<Reporter, 'notice'>,
): Promise<EventFilters> {
  const words = filters.subscriptionWords;
  if (words.length === 0) return filters;
  const meant = await subscriptionsWith(words, service);
  for (const { word, one } of meant) reporter.notice(`--subscription ${word}: ${addressWithId(one)}`);
  return withFound(
    filters,
    meant.map(({ one }) => one),
  );
}

function withFound(filters: EventFilters, found: readonly NamedSubscription[]): EventFilters {
  return filters.withSubscriptions([...filters.subscriptionIds, ...found.map(({ id }) => id)]);
}

interface Meant {
  readonly word: string;
  readonly one: NamedSubscription;
}

/** Splits at commas unless an address has them. Throws `UsageError` for no match or several. */
async function subscriptionsWith(texts: readonly string[], service: Service): Promise<Meant[]> {
  const listed = await listSubscriptions(service);
  const words = texts.flatMap((text) =>
    withWord(listed, text).length > 0 ? [text] : wordsBetweenCommas(text),
  );
  return [...new Set(words)].map((word) => ({
    word,
    one: subscriptionWith(word, listed, '--subscription: '),
  }));
}

function wordsBetweenCommas(text: string): string[] {
  const words = text.split(',').map((word) => word.trim());
  const given = words.filter((word) => word !== '');
  return given.length > 0 ? given : [text];
}

/** Matches part of an address and prints the match. Throws `UsageError` for no match or several. */
export async function namedSubscription(
  word: string,
  service: Service,
  reporter: Pick<Reporter, 'notice'>,
): Promise<NamedSubscription> {
  const found = subscriptionWith(word, await listSubscriptions(service));
  reporter.notice(`${word}: ${addressWithId(found)}`);
  return found;
}

/** Throws `UsageError`, which begins with `where`, for no match or several. */
export function subscriptionWith(
  word: string,
  listed: readonly NamedSubscription[],
  where = '',
): NamedSubscription {
  const found = withWord(listed, word);
  const [one, another] = found;
  if (one && !another) return one;
  if (one) throw severalSubscriptions(word, found, where);
  throw new UsageError(
    `${where}'${word}' is neither a GUID nor in the address of a subscription that is switched on`,
    didYouMean(
      word,
      wordsOfAddresses(listed),
      advise`${hooktrail('subscriptions')} lists them; ${hooktrail('events health')} shows those that are off, if they have events`,
    ),
  );
}

export function severalSubscriptions(
  word: string,
  found: readonly NamedSubscription[],
  where = '',
): UsageError {
  return new UsageError(`${where}'${word}' is in the addresses of ${found.length} subscriptions`, {
    details: found.map(addressWithId),
    next: 'give more of the address, or the id of one',
  });
}

export function addressWithId({ id, callbackUrl = '' }: NamedSubscription): string {
  return `${shownAddress(callbackUrl) ?? 'no address'} (${id})`;
}
