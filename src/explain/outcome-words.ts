import { EACH, type PathStep } from '../items/field-path.ts';
import { EFFECT_RULES } from './effect-rules.ts';

const OF_REASONS = /error|exception|reason|message|response|status|code/i;

export type Certainty = 'sure' | 'likely' | undefined;

export function outcomeOf(steps: readonly PathStep[], isByPlace: boolean): Certainty {
  const names = namesOf(steps).map(wordsOfName);
  if (isByPlace || names.some((name) => EFFECT_RULES.outcomeWords.words.test(name))) return 'sure';
  return names.some((name) => EFFECT_RULES.outcomeLikeWords.words.test(name)) ? 'likely' : undefined;
}

/** True for `delivery.ms`, members of attempts and the like, which only a delivery can produce. */
export function isOutcomeByPlace(steps: readonly PathStep[]): boolean {
  if (EFFECT_RULES.attemptsPath.words.test(steps.map((step) => (step === EACH ? '[]' : step)).join('.')))
    return true;
  const names = namesOf(steps).map(wordsOfName);
  const isOfDelivery = names.slice(0, -1).some((name) => /\bdeliver(y|ies)\b/.test(name));
  return isOfDelivery && EFFECT_RULES.deliveryWords.words.test(names.at(-1) as string);
}

/** True for names such as `apiVersion`, which are known before the delivery. */
export function isKnownBefore(steps: readonly PathStep[]): boolean {
  return EFFECT_RULES.eventWords.words.test(namesOf(steps).at(-1) ?? '');
}

export function isOfReason(steps: readonly PathStep[]): boolean {
  return OF_REASONS.test(namesOf(steps).at(-1) ?? '');
}

function namesOf(steps: readonly PathStep[]): string[] {
  return steps.filter((step) => step !== EACH);
}

/** In lower case: `lastHTTPStatus` and `last_http_status` are `last http status`. */
export function wordsOfName(name: string): string {
  return name
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .replace(/[^\p{L}\d]+/gu, ' ')
    .toLowerCase();
}
