import { describe, expect, test } from 'vitest';
import { EFFECT_RULES } from '../../src/explain/effect-rules.ts';
import { Items } from '../../src/items/items.ts';
import { explainItems } from './explained.ts';

type Members = Readonly<Record<string, unknown>>;
type Rule = keyof typeof EFFECT_RULES;

const FAILED = 100;
const DELIVERED = 300;

/**
 * Events whose members are those of a failed or a delivered one; `region` explains the failures, if wanted.
 */
const explained = (
  membersOf: (hasFailed: boolean, place: number) => Members,
  { isExplained }: { isExplained: boolean },
) => {
  const events = Array.from({ length: FAILED + DELIVERED }, (_, index) => {
    const hasFailed = index % 4 === 0;
    const place = hasFailed ? index / 4 : index - Math.ceil((index + 1) / 4);
    return {
      eventId: `e${index}`,
      publishStatus: hasFailed ? 'FAILED' : 'SUCCESS',
      ...(isExplained ? { region: hasFailed ? 'us' : ['eu', 'ap', 'sa'][place % 3] } : {}),
      ...membersOf(hasFailed, place),
    };
  });
  const items = Items.of(events.map((event) => Buffer.from(JSON.stringify(event))));
  const { causes, onlyInFailures } = explainItems(items);
  return {
    causes: causes.flatMap(({ conditions }) => conditions.map(({ field }) => field)),
    effects: onlyInFailures.map(({ field }) => field),
  };
};

/** The example of a rule, with another name for its first member. */
const named = (members: Members, name: string | undefined): Members =>
  name === undefined ? members : Object.fromEntries(Object.values(members).map((value) => [name, value]));

/** Some of the delivered events, the first ones, have other members than in the example. */
const withSome = (rule: Rule, share: number, other: Members) => (hasFailed: boolean, place: number) => {
  const { failed, delivered } = EFFECT_RULES[rule];
  if (hasFailed) return failed;
  return place < Math.round(share * DELIVERED) ? other : delivered;
};

/** Most failures have what the example has, as some delivered events have, under this name. */
const noisily = (rule: Rule, name?: string) => (hasFailed: boolean, place: number) => {
  const { failed, delivered } = EFFECT_RULES[rule];
  return named((hasFailed ? place % 5 > 0 : place % 20 === 0) ? failed : delivered, name);
};

const exactly = (rule: Rule, name?: string) => (hasFailed: boolean) =>
  named(EFFECT_RULES[rule][hasFailed ? 'failed' : 'delivered'], name);

/** A third of the failures are slow, and the others differ: by words alone it might be the cause. */
const attempted = (name?: string) => (hasFailed: boolean, place: number) => {
  const { failed } = EFFECT_RULES.attemptsPath;
  return named(hasFailed && place % 3 > 0 ? failed : { attempts: [{ ms: place % 40 }] }, name);
};

const another = (name: string) => (share: number) => (hasFailed: boolean, place: number) =>
  withSome(rulesByField(name), share, { [name]: 2 + (place % 3) })(hasFailed, place);

const rulesByField = (name: string): Rule =>
  (Object.keys(EFFECT_RULES) as Rule[]).find((rule) => name in EFFECT_RULES[rule].failed) as Rule;

/** Histories on both sides of what a rule says, and what is said of its field. */
interface Case {
  readonly field: string;
  readonly within: (hasFailed: boolean, place: number) => Members;
  readonly beyond: (hasFailed: boolean, place: number) => Members;
  /** Within the rule the field is listed apart, or no cause where nothing else is one. */
  readonly says: 'an effect' | 'no effect' | 'no cause';
  /** The field of the other history, if it has another name. */
  readonly other?: string;
}

/** A rule without a case is an error of types. */
const CASES: Readonly<Record<Rule, Case>> = {
  nearlyExact: {
    field: 'givenUp',
    says: 'an effect',
    within: withSome('nearlyExact', 2 / DELIVERED, { givenUp: true }),
    beyond: withSome('nearlyExact', 3 / DELIVERED, { givenUp: true }),
  },
  keptByDelivered: {
    field: 'lastError',
    says: 'an effect',
    within: withSome('keptByDelivered', 0.25, { lastError: 'busy' }),
    beyond: withSome('keptByDelivered', 0.26, { lastError: 'busy' }),
  },
  deliveredAlike: {
    field: 'stage',
    says: 'an effect',
    within: another('stage')(0.1),
    beyond: another('stage')(0.11),
  },
  outcomeAlike: {
    field: 'loginAttempts',
    says: 'no cause',
    within: another('loginAttempts')(0.3),
    beyond: another('loginAttempts')(0.31),
  },
  payloadValue: {
    field: 'cancelReason',
    says: 'an effect',
    within: another('cancelReason')(0.3),
    beyond: another('cancelReason')(0.31),
  },
  ofPayload: {
    field: 'delivery.status',
    says: 'no cause',
    within: withSome('ofPayload', 0.3, { delivery: { status: 'packed' } }),
    beyond: withSome('ofPayload', 0.31, { delivery: { status: 'packed' } }),
  },
  outcomeWords: {
    field: 'tryCount',
    says: 'an effect',
    within: withSome('outcomeWords', 0.05, { tryCount: 5 }),
    beyond: (hasFailed, place) =>
      named(withSome('outcomeWords', 0.05, { tryCount: 5 })(hasFailed, place), 'grade'),
    other: 'grade',
  },
  outcomeLikeWords: {
    field: 'outcome',
    says: 'no cause',
    within: exactly('outcomeLikeWords'),
    beyond: exactly('outcomeLikeWords', 'income'),
    other: 'income',
  },
  deliveryWords: {
    field: 'delivery.ms',
    says: 'no cause',
    within: noisily('deliveryWords'),
    beyond: noisily('deliveryWords', 'machine'),
    other: 'machine.ms',
  },
  attemptsPath: {
    field: 'attempts[].ms',
    says: 'no cause',
    within: attempted(),
    beyond: attempted('parts'),
    other: 'parts[].ms',
  },
  eventWords: {
    field: 'apiVersion',
    says: 'no effect',
    within: exactly('eventWords'),
    beyond: exactly('eventWords', 'apiLevel'),
    other: 'apiLevel',
  },
};

describe('a rule for effects', () => {
  test.each(Object.entries(CASES))(
    '%s decides at its threshold or its words, of the event that made it',
    (_, rule) => {
      const { field, other = field, says, within, beyond } = rule;
      const isExplained = says !== 'no cause';
      const isListed = (members: Case['within'], name: string) => {
        const { causes, effects } = explained(members, { isExplained });
        return (isExplained ? effects : causes).includes(name);
      };
      const isWithin = says === 'an effect';
      expect([isListed(within, field), isListed(beyond, other)]).toEqual([isWithin, !isWithin]);
    },
  );
});
