import { type Advice, advise, hooktrail } from '../advice.ts';
import { ServiceError, UsageError } from '../errors.ts';
import { didYouMean } from '../settings/nearest-word.ts';
import { type ChangeCall, changeSubscription, requireSwitch } from './change-subscription.ts';
import { matchingTypes, typesOnOffer } from './chosen-types.ts';
import {
  CALLBACK_URL,
  EVENT_TYPES,
  MARKETPLACES,
  type MemberPath,
  type SubscriptionText,
} from './subscription-text.ts';

export interface Update {
  readonly url?: string;
  readonly addType?: readonly string[];
  readonly removeType?: readonly string[];
  readonly addMarketplace?: readonly string[];
  readonly removeMarketplace?: readonly string[];
}

export async function updateSubscription(word: string, update: Update, call: ChangeCall): Promise<void> {
  const { url, addType = [], removeType = [], addMarketplace = [], removeMarketplace = [] } = update;
  await changeSubscription(
    word,
    'Change this subscription?',
    async (now, service) => {
      requireSwitch(now, word);
      const text = url === undefined ? now : now.with(CALLBACK_URL, JSON.stringify(url));
      const added =
        addType.length === 0 ? [] : await typesOnOffer(addType, '--add-type', service, call.reporter);
      const withTypes = editList(text, EVENT_TYPES, added, (listed) =>
        matchingTypes(removeType, '--remove-type', listed, 'of this subscription', showing(word)),
      );
      if (isEmptied(now, withTypes, EVENT_TYPES))
        throw new UsageError('--remove-type: no event type would be left', {
          next: advise`${hooktrail('subscriptions disable', word)} stops the deliveries`,
        });
      const changed = editList(withTypes, MARKETPLACES, addMarketplace, (listed) =>
        knownMarketplaces(removeMarketplace, listed, word),
      );
      // Without a marketplace a service may deliver events of all, or none.
      if (isEmptied(now, changed, MARKETPLACES))
        throw new UsageError('--remove-marketplace: no marketplace would be left', {
          next: 'add another one in the same command: --add-marketplace',
        });
      return changed;
    },
    call,
  );
}

function showing(word: string): Advice {
  return advise`${hooktrail('subscriptions get', word)} shows what it has`;
}

function knownMarketplaces(
  ids: readonly string[],
  listed: readonly string[],
  word: string,
): readonly string[] {
  const unknown = ids.find((id) => !listed.includes(id));
  if (unknown === undefined) return ids;
  throw new UsageError(
    `--remove-marketplace: the subscription has no '${unknown}'`,
    didYouMean(unknown, listed, showing(word)),
  );
}

/** Adds elements to a list, and removes those that `choose` returns. The others keep their spelling. */
function editList(
  text: SubscriptionText,
  path: MemberPath,
  added: readonly string[],
  choose: (listed: readonly string[]) => readonly string[],
): SubscriptionText {
  const member = path.join('.');
  const isAbsent = text.value(path) === undefined;
  const elements = isAbsent ? [] : text.list(path);
  if (elements === undefined)
    throw new ServiceError(`the service wrote '${member}' as something that is not a list of names`, {
      next: advise`${hooktrail('api')} writes what this command does not know`,
    });
  const names = elements.map((element) => String(JSON.parse(element)));
  const removed = new Set(choose(names));
  const kept = elements.filter((_, index) => !removed.has(names[index] as string));
  const areNumbers = elements.length > 0 && elements.every((element) => !element.startsWith('"'));
  const written = added
    .filter((name) => !names.includes(name) && !removed.has(name))
    .map((name) => (areNumbers && /^[1-9]\d*$/.test(name) ? name : JSON.stringify(name)));
  if (written.length === 0 && kept.length === elements.length) return text;
  return text.with(path, `[${[...kept, ...written].join(',')}]`);
}

function isEmptied(before: SubscriptionText, after: SubscriptionText, path: MemberPath): boolean {
  return (before.list(path)?.length ?? 0) > 0 && after.list(path)?.length === 0;
}
