import { fewOf } from '../errors.ts';
import { shownAddress } from '../names/callback-address.ts';
import { CALLBACK_URL, type SubscriptionChange, type SubscriptionText } from './subscription-text.ts';

/** The subscription for people: the part of its address that may be shown, and its id. */
export function titleOf(text: SubscriptionText, id: string): string {
  const address = text.value(CALLBACK_URL);
  const shown = typeof address === 'string' ? shownAddress(address) : undefined;
  return shown === undefined ? id : `${shown} (${id})`;
}

/** Elements of a list that a question shows. */
export const MOST_SHOWN = 12;

/** A line for each difference: at most `most` of the elements of a list. */
export function changeLines(
  changes: readonly SubscriptionChange[],
  most = Number.POSITIVE_INFINITY,
): string[] {
  return changes.flatMap((change) => {
    const { member, before, after, added, removed } = change;
    if (added === undefined || removed === undefined)
      return [`${member}: ${valueText(member, before)} → ${valueText(member, after)}${hiddenPart(change)}`];
    const elements = [...removed.map((one) => `- ${plain(one)}`), ...added.map((one) => `+ ${plain(one)}`)];
    return [`${member}:`, ...fewOf(elements, most).map((line) => `  ${line}`)];
  });
}

/** Addresses often hold a secret, and differences end up in logs. */
function valueText(member: string, json: string | null): string {
  if (json === null) return 'nothing';
  if (member !== CALLBACK_URL[0]) return plain(json);
  return shownAddress(plain(json)) ?? plain(json);
}

function hiddenPart({ member, before, after }: SubscriptionChange): string {
  const isSame = valueText(member, before) === valueText(member, after);
  return isSame ? ' (it differs in the part that is not shown)' : '';
}

function plain(json: string): string {
  const value: unknown = JSON.parse(json);
  return typeof value === 'string' ? value : json;
}
