type Members = Readonly<Record<string, unknown>>;

/** When a field counts as an effect of failing, with a pair of events that shows the rule. */
interface EffectRule {
  readonly share?: number;
  readonly values?: number;
  readonly words?: RegExp;
  readonly failed: Members;
  readonly delivered: Members;
}

/** Statistics cannot tell an effect from a cause, so these rules come from experience. */
export const EFFECT_RULES = {
  /**
   * Delivered events with the effect, and failures without it, may each amount to this share of the failures:
   * a failure that was tried only once may not show the effect yet.
   */
  nearlyExact: { share: 0.02, failed: { givenUp: true }, delivered: { givenUp: false } },
  /**
   * A field with a name like `lastError` may occur in this share of the delivered events, which may keep
   * their last error. If the name is less clear, nearly all failures must have it too.
   */
  keptByDelivered: { share: 0.25, failed: { lastError: 'busy' }, delivered: {} },
  /**
   * Without such a name, at least this share of the delivered events must agree on one value. Results of
   * successes agree, while types, customers and currencies do not.
   */
  deliveredAlike: { share: 0.9, failed: { stage: 'parked' }, delivered: { stage: 'done' } },
  /**
   * A field named like an outcome may still be a cause if a smaller share of the delivered events agree on
   * its value.
   */
  outcomeAlike: { share: 0.7, failed: { loginAttempts: 5 }, delivered: { loginAttempts: 1 } },
  /**
   * A value that every event has belongs to the payload, whatever its name, if fewer delivered events than
   * this agree on it: people cancel for various reasons.
   */
  payloadValue: { share: 0.7, failed: { cancelReason: 'fraud' }, delivered: { cancelReason: 'customer' } },
  /**
   * An object called `delivery` belongs to the payload, such as the delivery of an order, if every event has
   * one of a few texts in it and fewer delivered events than this agree on the text.
   */
  ofPayload: {
    share: 0.7,
    values: 20,
    failed: { delivery: { status: 'returned' } },
    delivered: { delivery: { status: 'shipped' } },
  },
  /** Words about how a delivery went, not about the thing delivered. */
  outcomeWords: {
    words:
      /attempt|error|exception|redeliver|dead ?letter|\b(re)?tries\b|\b(re)?try ?count|\b(delivery|receive|fail|failure) ?count|\bhttp ?status|\bstatus ?code|\bdelivered\b|\back(ed|nowledged)?\b|\b(delivered|processed|sent|completed) ?(at|on)\b/,
    failed: { tryCount: 5 },
    delivered: { tryCount: 1 },
  },
  /** Words that also occur in names of policies, formats and contract terms. */
  outcomeLikeWords: {
    words:
      /\bretr(y|ies)\b|\bfail(?!over|safe)|\bfault|\breason(?!abl)|\bresponse|\boutcome|duration|elapsed|latency/,
    failed: { outcome: 'timeout' },
    delivered: { outcome: 'done' },
  },
  /** Words that name outcomes only inside an object about a delivery. */
  deliveryWords: {
    words: /\b(status|state|code|ms|millis|seconds|latency|duration|took|response|result|body)\b/,
    failed: { delivery: { ms: 10_000 } },
    delivered: { delivery: { ms: 80 } },
  },
  /** Everything in a list of attempts is an outcome, except the address. */
  attemptsPath: {
    words: /(attempts|\b(re)?tries)\.\[\](?!.*(url|endpoint|host|target|address))/i,
    failed: { attempts: [{ ms: 10_000 }] },
    delivered: { attempts: [{ ms: 80 }] },
  },
  /** Names of values that an event has before its delivery. */
  eventWords: {
    words: /(version|region|country|currency|environment|plan)$/i,
    failed: { apiVersion: '1' },
    delivered: { apiVersion: '2' },
  },
} satisfies Record<string, EffectRule>;
