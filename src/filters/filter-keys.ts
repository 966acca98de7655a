import { FILTER_FIELDS, type FilterField } from '../items/known-fields.ts';

/** A key by which the service filters: a search takes one value of it (service description, part 4). */
interface KeyFacts {
  /** The flag's name, without dashes. */
  readonly flag: string;
  /** The placeholder of its value. */
  readonly value: string;
  readonly description: string;
  /**
   * `guid`: ids, whose case does not matter, found in whatever text was pasted. `text`: as the service spells
   * it, with `\,` for a comma inside.
   */
  readonly kind: 'guid' | 'text';
  /** For errors: a value of the key, or, of a `guid`, what has it. */
  readonly noun: string;
  /** The only values there are. */
  readonly words?: readonly string[];
  /** Other words that people use for these values. */
  readonly synonyms?: Readonly<Record<string, string>>;
  /** Names that the service or this machine knows, which completion offers. */
  readonly completion?: 'event-types' | 'subscriptions';
  /** The parameter of the tools for agents, which take a list of values, or one of `words`. */
  readonly parameter?: string;
  readonly parameterDescription?: string;
}

/** All that flags, queries, stored events, agents and completion have to know of a key. */
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

/** A key as code takes it that treats all alike. */
export interface FilterKey extends KeyFacts {
  readonly field: FilterField;
  readonly flag: FilterFlagName;
}

/** The keys, in the order of a query. */
export const filterKeys: readonly FilterKey[] = FILTER_FIELDS.map((field) => ({
  field,
  ...FILTER_KEYS[field],
}));

/** The flags that give a filter, `--failed` excepted, which is short for a status. */
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

/** A field's name as a flag: `--event-type`. */
export function fieldFlag(field: FilterField): string {
  return `--${field.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** A value for a flag that takes several, with commas between them. */
export function escapeCommas(value: string): string {
  return value.replaceAll(',', '\\,');
}
