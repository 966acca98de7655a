import { type Advice, advise, hooktrail } from '../advice.ts';
import type { Call } from '../command.ts';
import { NO_SUBSCRIPTIONS, namedSubscription } from '../filters/resolve-filters.ts';
import { apiUrl } from '../http/service.ts';
import { Items, type ItemWriter, isObject, pastedGuid } from '../items/items.ts';
import { shownAddress } from '../names/callback-address.ts';
import { keepSubscriptions } from '../names/kept-subscriptions.ts';
import { LIST_PATH, type NamedSubscription, subscriptionOf } from '../names/subscription-names.ts';
import { pageClient } from '../paging/page.ts';
import type { SettingFlags } from '../settings/settings.ts';
import { withService } from '../sign-in/session.ts';
import { grouped } from '../terminal/terminal-text.ts';
import { readSubscription } from './read-subscription.ts';

/** Prints the service's subscriptions; with `isMasked` their addresses as they may be shown. */
export async function printSubscriptions(
  isMasked: boolean,
  call: Call<SettingFlags>,
  createWriter: () => Promise<ItemWriter>,
): Promise<void> {
  await withService(call, async (service, settings) => {
    const asked = { failure: 'the subscriptions cannot be listed', ifNotFound: NO_SUBSCRIPTIONS };
    const client = pageClient(service, call.context.clock, undefined, asked);
    const { page } = await client.fetchPage(apiUrl(service.baseUrl, LIST_PATH), call.context.signal);
    const listed = [...page.items.values()].flatMap((item) => subscriptionOf(item) ?? []);
    await keepSubscriptions(listed, settings, call.context);
    const writer = await createWriter();
    if (page.items.count > 0) await writer.write(isMasked ? masked(page.items) : page.items, true);
    await writer.end?.();
    if (isMasked && call.context.stdout.isTerminal) call.reporter.notice(statesText(listed));
  });
}

/** How many subscriptions there are, how many of them are off, and where to look for more of those. */
function statesText(listed: readonly NamedSubscription[]): Advice {
  const shown = advise`${hooktrail('events health')} shows each that has events`;
  if (listed.length === 0) return advise`a service may leave out those that are off: ${shown}`;
  const off = listed.filter(({ state }) => state === 'off').length;
  const number = listed.length === 1 ? '1 subscription' : `${grouped(listed.length)} subscriptions`;
  const states = off === 0 ? 'none of them off' : `${grouped(off)} off`;
  return advise`${number}, ${states}; a service may leave out those that are: ${shown}`;
}

/** The same items with the part of each address that may be shown. */
function masked(items: Items): Items {
  const texts = [...items.values()].map((item) => {
    if (!isObject(item)) return JSON.stringify(item);
    const { callbackUrl } = item;
    const address = typeof callbackUrl === 'string' ? (shownAddress(callbackUrl) ?? null) : null;
    return JSON.stringify({ ...item, callbackUrl: address });
  });
  return Items.of(texts.map((text) => Buffer.from(text)));
}

/** Prints one subscription, named by its id or a part of its address, exactly as the service wrote it. */
export async function printSubscription(
  word: string,
  call: Call<SettingFlags>,
  createWriter: () => Promise<ItemWriter>,
): Promise<void> {
  await withService(call, async (service) => {
    const id = pastedGuid(word) ?? (await namedSubscription(word, service, call)).id;
    const { text } = await readSubscription(id, service, call.context);
    const writer = await createWriter();
    await writer.write(text.compact(), true);
    await writer.end?.();
  });
}
