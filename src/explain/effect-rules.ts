/** The members of an event that a rule looks at. */
type Members = Readonly<Record<string, unknown>>;

/** A rule by which a field is taken for an effect of failing, or for none, with the events that made it. */
interface EffectRule {
  /** A part of events, from 0 to 1, at which the rule changes its mind. */
  readonly share?: number;
  /** Values up to which a field has few. */
  readonly values?: number;
  /** Names of fields for which it holds: of their words in lower case, or of the whole path. */
  readonly words?: RegExp;
  readonly failed: Members;
  readonly delivered: Members;
}

/**
 * The rules for effects. No statistics tell an effect from a cause, so that each of them is of experience.
 */
export const EFFECT_RULES = {
  /**
   * Delivered events that have an effect are at most this part of as many as failed, and so are failures that
   * lack it: a new failure has been tried once.
   */
  nearlyExact: { share: 0.02, failed: { givenUp: true }, delivered: { givenUp: false } },
  /**
   * More of the delivered events may have it, up to this part, if its name is one of outcomes, or like one
   * and nearly all failures have it: a delivered event may keep its last error.
   */
  keptByDelivered: { share: 0.25, failed: { lastError: 'busy' }, delivered: {} },
  /**
   * Without a name of outcomes at least this part of the delivered events have one value in common: outcomes
   * of successes are alike, while types, customers and currencies are not.
   */
  deliveredAlike: { share: 0.9, failed: { stage: 'parked' }, delivered: { stage: 'done' } },
  /** A field with a name of outcomes may be the cause after all if fewer delivered events are alike in it. */
  outcomeAlike: { share: 0.7, failed: { loginAttempts: 5 }, delivered: { loginAttempts: 1 } },
  /**
   * A value that every event has is one of orders, whatever its name, if fewer delivered events are alike in
   * it: there are reasons for which somebody cancels.
   */
  ofOrders: { share: 0.7, failed: { cancelReason: 'fraud' }, delivered: { cancelReason: 'customer' } },
  /**
   * An object called `delivery` is one of the payload, such as the delivery of an order, if each event has
   * one of a few texts there in which fewer of the delivered events are alike.
   */
  ofPayload: {
    share: 0.7,
    values: 20,
    failed: { delivery: { status: 'returned' } },
    delivered: { delivery: { status: 'shipped' } },
  },
  /** Words of names that tell how a delivery went, rather than what was delivered. */
  outcomeWords: {
    words:
      /attempt|error|exception|redeliver|dead ?letter|\b(re)?tries\b|\b(re)?try ?count|\b(delivery|receive|fail|failure) ?count|\bhttp ?status|\bstatus ?code|\bdelivered\b|\back(ed|nowledged)?\b|\b(delivered|processed|sent|completed) ?(at|on)\b/,
    failed: { tryCount: 5 },
    delivered: { tryCount: 1 },
  },
  /** Words that can also be of a policy, a format or a contract's terms. */
  outcomeLikeWords: {
    words:
      /\bretr(y|ies)\b|\bfail(?!over|safe)|\bfault|\breason(?!abl)|\bresponse|\boutcome|duration|elapsed|latency/,
    failed: { outcome: 'timeout' },
    delivered: { outcome: 'done' },
  },
  /** Words that are of outcomes inside an object that tells of a delivery. */
  deliveryWords: {
    words: /\b(status|state|code|ms|millis|seconds|latency|duration|took|response|result|body)\b/,
    failed: { delivery: { ms: 10_000 } },
    delivered: { delivery: { ms: 80 } },
  },
  /**
   * Paths in a list of attempts: all of them are outcomes, whatever their names, but for where it was sent.
   */
  attemptsPath: {
    words: /(attempts|\b(re)?tries)\.\[\](?!.*(url|endpoint|host|target|address))/i,
    failed: { attempts: [{ ms: 10_000 }] },
    delivered: { attempts: [{ ms: 80 }] },
  },
  /** Ends of names of what an event has before it is delivered. */
  eventWords: {
    words: /(version|region|country|currency|environment|plan)$/i,
    failed: { apiVersion: '1' },
    delivered: { apiVersion: '2' },
  },
} satisfies Record<string, EffectRule>;
