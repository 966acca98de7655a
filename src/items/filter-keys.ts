interface KeyFacts {
  readonly flag: string;
  readonly value: string;
  readonly description: string;
  /** `guid`: in any case, extracted from pasted text. `text`: as the service spells it. */
  readonly kind: 'guid' | 'text';
  /** Set if the service ignores the case of a text. That of a GUID never counts. */
  readonly ignoresCase?: true;
  readonly noun: string;
  readonly words?: readonly string[];
  readonly synonyms?: Readonly<Record<string, string>>;
  readonly completion?: 'event-types' | 'subscriptions';
  /** The parameter in tools for agents: a list, or a text where the key has `words`. */
  readonly parameter?: string;
  readonly parameterDescription?: string;
}

/**
 * The service filters by one value of each of these fields (service description, part 4), in the order of a
 * query.
 */
export const FILTER_KEYS = {
  subscriptionId: {
    flag: 'subscription',
    value: 'guid',
    description: 'of this subscription, or with this in its callback address',
    kind: 'guid',
    noun: 'the events of a subscription',
    completion: 'subscriptions',
    parameter: 'subscriptions',
    parameterDescription: 'only these subscription ids (GUIDs)',
  },
  eventId: {
    flag: 'id',
    value: 'guid',
    description: 'with this event id',
    kind: 'guid',
    noun: 'an event',
  },
  publishStatus: {
    flag: 'status',
    value: 'status',
    description: 'with this publish status: SUCCESS or FAILED',
    kind: 'text',
    noun: 'a status',
    words: ['SUCCESS', 'FAILED'],
    synonyms: {
      ok: 'SUCCESS',
      delivered: 'SUCCESS',
      error: 'FAILED',
      failure: 'FAILED',
      undelivered: 'FAILED',
    },
    parameter: 'status',
    parameterDescription: 'the publish status: SUCCESS or FAILED',
  },
  eventType: {
    flag: 'type',
    value: 'name',
    description: 'of this event type, ignoring case; order.* for all on offer that match',
    kind: 'text',
    ignoresCase: true,
    noun: 'an event type',
    completion: 'event-types',
    parameter: 'types',
    parameterDescription: 'only these event types',
  },
} as const satisfies Readonly<Record<string, KeyFacts>>;

export type FilterField = keyof typeof FILTER_KEYS;
export const FILTER_FIELDS = Object.keys(FILTER_KEYS) as readonly FilterField[];

export type FilterFlagName = (typeof FILTER_KEYS)[FilterField]['flag'];

export interface FilterKey extends KeyFacts {
  readonly field: FilterField;
  readonly flag: FilterFlagName;
}

export const filterKeys: readonly FilterKey[] = FILTER_FIELDS.map((field) => ({
  field,
  ...FILTER_KEYS[field],
}));

/** True if a filter by this field ignores case. */
export function ignoresCase(name: unknown): boolean {
  return filterKeys.some(
    ({ field, kind, ignoresCase }) => field === name && (kind === 'guid' || ignoresCase),
  );
}
