import { fewOf } from '../errors.ts';
import { shownAddress, typedAddress } from '../names/callback-address.ts';
import { CALLBACK_URL, type SubscriptionChange, type SubscriptionText } from './subscription-text.ts';

export function titleOf(text: SubscriptionText, id: string): string {
  const address = text.value(CALLBACK_URL);
  const shown = typeof address === 'string' ? shownAddress(address) : undefined;
  return shown === undefined ? id : `${shown} (${id})`;
}

/** Elements of a list shown in a question. */
export const MAX_SHOWN = 12;

/**
 * Returns lines for each difference, with up to `most` elements of a list. `isTyped`: shows a new address
 * whole to the person who typed it.
 */
export function changeLines(
  changes: readonly SubscriptionChange[],
  most = Number.POSITIVE_INFINITY,
  isTyped = false,
): string[] {
  return changes.flatMap((change) => {
    const { member, before, after, added, removed } = change;
    if (added === undefined || removed === undefined) {
      const [from, to] = [valueText(member, before), valueText(member, after, isTyped)];
      return [
        `${member}: ${from} → ${to}${from === to ? ' (it differs in the part that is not shown)' : ''}`,
      ];
    }
    const elements = [...removed.map((one) => `- ${plain(one)}`), ...added.map((one) => `+ ${plain(one)}`)];
    return [`${member}:`, ...fewOf(elements, most).map((line) => `  ${line}`)];
  });
}

/** Addresses often hold a secret, and differences end up in logs. */
function valueText(member: string, json: string | null, isTyped = false): string {
  if (json === null) return 'nothing';
  const text = plain(json);
  if (member !== CALLBACK_URL[0]) return text;
  return (isTyped ? typedAddress(text) : shownAddress(text)) ?? text;
}

function plain(json: string): string {
  const value: unknown = JSON.parse(json);
  return typeof value === 'string' ? value : json;
}
