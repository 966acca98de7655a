import { EACH, type PathStep } from '../items/field-path.ts';
import { EFFECT_RULES } from './effect-rules.ts';

/** Names of fields, such as those of an attempt in a list, that tell why it failed. */
const OF_REASONS = /error|exception|reason|message|response|status|code/i;

/** How surely the names of a field say that it is an outcome; undefined if they do not. */
export type Certainty = 'sure' | 'likely' | undefined;

/** How surely the names of a field say that it tells how a delivery went. */
export function outcomeOf(steps: readonly PathStep[], isByPlace: boolean): Certainty {
  const names = namesOf(steps).map(wordsOfName);
  if (isByPlace || names.some((name) => EFFECT_RULES.outcomeWords.words.test(name))) return 'sure';
  return names.some((name) => EFFECT_RULES.outcomeLikeWords.words.test(name)) ? 'likely' : undefined;
}

/**
 * True for `delivery.ms`, what a list of attempts holds, and the like: it came of the delivery in any case.
 */
export function isOutcomeByPlace(steps: readonly PathStep[]): boolean {
  if (EFFECT_RULES.attemptsPath.words.test(steps.map((step) => (step === EACH ? '[]' : step)).join('.')))
    return true;
  const names = namesOf(steps).map(wordsOfName);
  const isOfDelivery = names.slice(0, -1).some((name) => /\bdeliver(y|ies)\b/.test(name));
  return isOfDelivery && EFFECT_RULES.deliveryWords.words.test(names.at(-1) as string);
}

/** True for a name such as `apiVersion`, of what is known before the delivery. */
export function isKnownBefore(steps: readonly PathStep[]): boolean {
  return EFFECT_RULES.eventWords.words.test(namesOf(steps).at(-1) ?? '');
}

/** True for a name such as `message`, of what tells why something failed. */
export function isOfReason(steps: readonly PathStep[]): boolean {
  return OF_REASONS.test(namesOf(steps).at(-1) ?? '');
}

function namesOf(steps: readonly PathStep[]): string[] {
  return steps.filter((step) => step !== EACH);
}

/** The words of a name in lower case: `lastHTTPStatus` and `last_http_status` are `last http status`. */
export function wordsOfName(name: string): string {
  return name
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .replace(/[^\p{L}\d]+/gu, ' ')
    .toLowerCase();
}
