import { EACH, type PathStep } from '../items/field-path.ts';

/** Words in names of fields that tell how a delivery went, rather than what was delivered. */
const OF_OUTCOMES =
  /attempt|error|exception|redeliver|dead ?letter|\b(re)?tries\b|\b(re)?try ?count|\b(delivery|receive|fail|failure) ?count|\bhttp ?status|\bstatus ?code|\bdelivered\b|\back(ed|nowledged)?\b|\b(delivered|processed|sent|completed) ?(at|on)\b/;
/** Words that can also be of a policy, a format or a contract's terms. */
const LIKE_OUTCOMES =
  /\bretr(y|ies)\b|\bfail(?!over|safe)|\bfault|\breason(?!abl)|\bresponse|\boutcome|duration|elapsed|latency/;
/** Words that are of outcomes inside an object that tells of a delivery, as in `delivery.ms`. */
const OF_DELIVERIES = /\b(status|state|code|ms|millis|seconds|latency|duration|took|response|result|body)\b/;
/** Names of what an event has before it is delivered. */
const OF_EVENTS = /(version|region|country|currency|environment|plan)$/i;
/** Paths in a list of attempts: all of them are outcomes, whatever their names, but for where it was sent. */
const OF_ATTEMPTS = /(attempts|\b(re)?tries)\.\[\](?!.*(url|endpoint|host|target|address))/i;
/** Names of fields, such as those of an attempt in a list, that tell why it failed. */
const OF_REASONS = /error|exception|reason|message|response|status|code/i;

/** How surely the names of a field say that it is an outcome; undefined if they do not. */
export type Certainty = 'sure' | 'likely' | undefined;

/** How surely the names of a field say that it tells how a delivery went. */
export function outcomeOf(steps: readonly PathStep[]): Certainty {
  const names = namesOf(steps).map(wordsOfName);
  if (isOutcomeByPlace(steps) || names.some((name) => OF_OUTCOMES.test(name))) return 'sure';
  return names.some((name) => LIKE_OUTCOMES.test(name)) ? 'likely' : undefined;
}

/**
 * True for `delivery.ms`, what a list of attempts holds, and the like: it came of the delivery in any case.
 */
export function isOutcomeByPlace(steps: readonly PathStep[]): boolean {
  if (OF_ATTEMPTS.test(steps.map((step) => (step === EACH ? '[]' : step)).join('.'))) return true;
  const names = namesOf(steps).map(wordsOfName);
  const isOfDelivery = names.slice(0, -1).some((name) => /\bdeliver(y|ies)\b/.test(name));
  return isOfDelivery && OF_DELIVERIES.test(names.at(-1) as string);
}

/** True for a name such as `apiVersion`, of what is known before the delivery. */
export function isKnownBefore(steps: readonly PathStep[]): boolean {
  return OF_EVENTS.test(namesOf(steps).at(-1) ?? '');
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
