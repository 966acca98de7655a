import { FILTER_FIELDS, type FilterField } from '../items/known-fields.ts';

/** The service filters by one value of a key (service description, part 4). */
interface KeyFacts {
  readonly flag: string;
  readonly value: string;
  readonly description: string;
  /** `guid`: in any case, extracted from pasted text. `text`: as the service spells it. */
  readonly kind: 'guid' | 'text';
  readonly noun: string;
  readonly words?: readonly string[];
  readonly synonyms?: Readonly<Record<string, string>>;
  readonly completion?: 'event-types' | 'subscriptions';
  /** The parameter in tools for agents: a list, or one of `words`. */
  readonly parameter?: string;
  readonly parameterDescription?: string;
}

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
    parameterDescription: 'the publish status',
  },
  eventType: {
    flag: 'type',
    value: 'name',
    description: 'of this event type, ignoring case; order.* for all on offer that match',
    kind: 'text',
    noun: 'an event type',
    completion: 'event-types',
    parameter: 'types',
    parameterDescription: 'only these event types',
  },
} as const satisfies Readonly<Record<FilterField, KeyFacts>>;

export type FilterFlagName = (typeof FILTER_KEYS)[keyof typeof FILTER_KEYS]['flag'];

export interface FilterKey extends KeyFacts {
  readonly field: FilterField;
  readonly flag: FilterFlagName;
}

export const filterKeys: readonly FilterKey[] = FILTER_FIELDS.map((field) => ({
  field,
  ...FILTER_KEYS[field],
}));

/** Without `--failed`, which is short for a status. */
export const FILTER_FLAGS: readonly string[] = [
  'after',
  'since',
  'before',
  'until',
  'day',
  'month',
  ...filterKeys.map(({ flag }) => flag),
  'where',
  'grep',
  'marketplace',
];

export function fieldFlag(field: FilterField): string {
  return `--${field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

export function escapeCommas(value: string): string {
  return value.replaceAll(',', '\\,');
}
