import { type Advice, advise, hooktrail } from '../advice.ts';
import type { Call } from '../command.ts';
import { namedSubscription } from '../filters/resolve-filters.ts';
import type { FormatOptions } from '../formats/format-options.ts';
import { createItemWriter } from '../formats/item-writer.ts';
import { apiUrl } from '../http/service.ts';
import { pastedGuid } from '../items/guids.ts';
import { Items } from '../items/items.ts';
import { withShownAddress } from '../names/callback-address.ts';
import { keepSubscriptions } from '../names/kept-subscriptions.ts';
import {
  LIST_FAILURE,
  LIST_PATH,
  type NamedSubscription,
  NO_SUBSCRIPTIONS,
  subscriptionOf,
} from '../names/subscription-names.ts';
import { pageClient } from '../paging/page.ts';
import { withService } from '../sign-in/session.ts';
import { grouped } from '../terminal/terminal-text.ts';
import { findInactive, type InactiveSubscription, LOOK_BACK_DAYS } from './inactive-subscriptions.ts';
import { readSubscription } from './read-subscription.ts';
import { IS_ENABLED, STATE, SubscriptionText } from './subscription-text.ts';

export interface ListOptions {
  readonly isMasked: boolean;
  readonly areAllWanted: boolean;
  readonly format: FormatOptions;
}

export async function printSubscriptions(
  { isMasked, areAllWanted, format }: ListOptions,
  call: Call,
): Promise<void> {
  const { context, reporter } = call;
  await withService(call, async (service) => {
    const asked = { failure: LIST_FAILURE, ifNotFound: NO_SUBSCRIPTIONS };
    const client = pageClient(service, undefined, asked);
    const { page, serviceTime } = await client.fetchPage(apiUrl(service.baseUrl, LIST_PATH), context.signal);
    const listed = [...page.items.values()].flatMap((item) => subscriptionOf(item) ?? []);
    await keepSubscriptions(listed, service);
    const ids = new Set(listed.map(({ id }) => id.toLowerCase()));
    const asking = { service, client, now: serviceTime ?? context.clock.now(), call };
    const inactive = areAllWanted ? await findInactive(ids, asking) : undefined;
    const items = inactive ? withStates(page.items, inactive) : page.items;
    const writer = await createItemWriter(format, context, reporter);
    if (items.count > 0) await writer.write(isMasked ? masked(items) : items, true);
    await writer.end?.();
    if (isMasked) reporter.notice(inactive ? allText(listed, inactive) : activeText(listed));
  });
}

function activeText(listed: readonly NamedSubscription[]): Advice {
  const off = listed.filter(({ state }) => state === 'off').length;
  const states = off === 0 ? '' : `, ${grouped(off)} of them off`;
  const all = hooktrail('subscriptions list --all');
  return advise`${numberText(listed.length)}${states}; the service lists only active ones: ${all} adds those that are off or gone`;
}

function allText(listed: readonly NamedSubscription[], inactive: readonly InactiveSubscription[]): string {
  const states = [...listed, ...inactive].map(({ state }) => state);
  const counts = (['on', 'off', 'gone', 'unknown'] as const).flatMap((state) => {
    const count = states.filter((one) => one === state).length;
    return count === 0 ? [] : [`${grouped(count)} ${state}`];
  });
  const known = `the service lists only active ones; others are shown if they had events in the last ${LOOK_BACK_DAYS} days`;
  return `${[numberText(states.length), ...counts].join(', ')}; ${known}`;
}

function numberText(count: number): string {
  return count === 1 ? '1 subscription' : `${grouped(count)} subscriptions`;
}

/** Appends the unlisted subscriptions, and gives each item a state as its last member. */
function withStates(listed: Items, inactive: readonly InactiveSubscription[]): Items {
  const texts = listed.texts().map((text) => {
    const subscription = SubscriptionText.of(Buffer.from(text));
    return withState(subscription, subscription.value(IS_ENABLED) === false ? 'off' : 'on');
  });
  const others = inactive.map(({ id, state, text }) => {
    const shown = text ?? SubscriptionText.of(Buffer.from(JSON.stringify({ subscriptionId: id })));
    return withState(shown, state);
  });
  return Items.of([...texts, ...others].map((text) => text.compact().text(0)));
}

function withState(text: SubscriptionText, state: string): SubscriptionText {
  return text.with(STATE, JSON.stringify(state));
}

function masked(items: Items): Items {
  return Items.of([...items.values()].map((item) => Buffer.from(JSON.stringify(withShownAddress(item)))));
}

export async function printSubscription(word: string, format: FormatOptions, call: Call): Promise<void> {
  await withService(call, async (service) => {
    const id = pastedGuid(word) ?? (await namedSubscription(word, service, call.reporter)).id;
    const { text } = await readSubscription(id, service, call.context);
    const writer = await createItemWriter(format, call.context, call.reporter);
    await writer.write(text.compact(), true);
    await writer.end?.();
  });
}
