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
const OF_ATTEMPTS = /(attempts|\b(re)?tries)\.\d+(?!.*(url|endpoint|host|target|address))/i;
/** Names of fields, such as those of an attempt in a list, that tell why it failed. */
const OF_REASONS = /error|exception|reason|message|response|status|code/i;

/** How surely the names of a field say that it is an outcome; undefined if they do not. */
export type Certainty = 'sure' | 'likely' | undefined;

/** How surely the names of a field say that it tells how a delivery went. */
export function outcomeOf(steps: readonly string[]): Certainty {
  const names = steps.map(wordsOf);
  if (isOutcomeByPlace(steps) || names.some((name) => OF_OUTCOMES.test(name))) return 'sure';
  return names.some((name) => LIKE_OUTCOMES.test(name)) ? 'likely' : undefined;
}

/**
 * True for `delivery.ms`, what a list of attempts holds, and the like: it came of the delivery in any case.
 */
export function isOutcomeByPlace(steps: readonly string[]): boolean {
  if (OF_ATTEMPTS.test(steps.join('.'))) return true;
  const isOfDelivery = steps.slice(0, -1).some((step) => /\bdeliver(y|ies)\b/.test(wordsOf(step)));
  return isOfDelivery && OF_DELIVERIES.test(wordsOf(steps.at(-1) as string));
}

/** True for a name such as `apiVersion`, of what is known before the delivery. */
export function isKnownBefore(steps: readonly string[]): boolean {
  return OF_EVENTS.test(steps.at(-1) as string);
}

/** True for a name such as `message`, of what tells why something failed. */
export function isOfReason(steps: readonly string[]): boolean {
  return OF_REASONS.test(steps.at(-1) as string);
}

/** The words of a name in lower case: `lastHTTPStatus` and `last_http_status` are `last http status`. */
function wordsOf(name: string): string {
  return name
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
    .replace(/[^\p{L}\d]+/gu, ' ')
    .toLowerCase();
}
