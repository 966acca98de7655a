import { describe, expect, test } from 'vitest';
import { Items } from '../../src/items/items.ts';
import { tableOfItems } from '../sample/made-samples.ts';
import { drawnCases } from '../support/seed.ts';
import { explainItems } from './explained.ts';
import { foreignEvent, type Place } from './foreign-payloads.ts';
import { drawOf, randomOf } from './planted-causes.ts';

type Json = { [name: string]: unknown };

const EVENTS = 900;
/** A run takes some causes of each place, `npm run faults` all: one of a code host takes seconds. */
const CAUSES_OF_RUN: Readonly<Record<Place, number>> = { 'code host': 1, shop: 3, payments: 2 };
/** All are compared. */
const FIELDS: Readonly<Record<Place, number>> = { 'code host': 3850, shop: 20, payments: 15 };
const FAILED_OF_CAUSE = 0.9;
const FAILED_OF_OTHERS = 0.02;

/** Events of which those that are meant fail, with what the service notes of each delivery. */
const historyOf = (place: Place, isMeant: (text: string) => boolean) => {
  const draw = drawOf(randomOf(7));
  return Array.from({ length: EVENTS }, (_, index) => {
    const event = foreignEvent(place, draw, index);
    const hasFailed = draw.random() < (isMeant(JSON.stringify(event)) ? FAILED_OF_CAUSE : FAILED_OF_OTHERS);
    const isSlow = hasFailed && draw.random() < 0.9;
    const item: Json = {
      eventId: `e${index}`,
      createdOn: new Date(Date.parse('2026-11-22T00:00:00Z') + index * 90_000).toISOString(),
      publishStatus: hasFailed ? 'FAILED' : 'SUCCESS',
      subscriptionId: `s${draw.below(9)}`,
      ...event,
      delivery: {
        status: hasFailed ? draw.pick([503, 503, 500, null]) : draw.pick([200, 200, 202, 204]),
        ms: isSlow ? 10_000 + draw.below(40) : 20 + draw.below(900),
      },
    };
    return item;
  });
};

const explained = (events: readonly Json[]) => {
  const items = Items.of(events.map((event) => Buffer.from(JSON.stringify(event))));
  return {
    ...explainItems(items),
    fields: tableOfItems(items).fields.filter(({ derivation }) => !derivation).length,
  };
};

const greaterThan = (name: string, limit: number) => (text: string) =>
  Number(new RegExp(`"${name}":(\\d+)`).exec(text)?.[1]) >= limit;
const has = (member: string) => (text: string) => text.includes(member);

describe.each<[Place, readonly [cause: string, isMeant: (text: string) => boolean][]]>([
  [
    'code host',
    [
      ['data.repository.default_branch = master', has('"default_branch":"master"')],
      ['data.repository.open_issues_count >= 60', greaterThan('open_issues_count', 60)],
      ['data.sender.login = eve', has('"login":"eve"')],
      ['data.commits[].author = fay', has('"author":"fay"')],
    ],
  ],
  [
    'shop',
    [
      ['order.line_items[].sku = SKU-3', has('"sku":"SKU-3"')],
      ['order.line_items[].presentation = tube', has('"presentation":"tube"')],
      ['order.customer.default_address.country_code = CH', has('"country_code":"CH"')],
      ['order.customer.default_currency = CHF', has('"default_currency":"CHF"')],
      ['!order.customer.consent_at', has('"consent_at":null')],
      ['order.tracked = true', has('"tracked":true')],
      ['order.packed = no', has('"packed":"no"')],
    ],
  ],
  [
    'payments',
    [
      ['object.amount >= 220000', greaterThan('amount', 220_000)],
      ['object.outcome.network_result = declined', has('"network_result":"declined"')],
      ['object.failure_code = card_declined', has('"failure_code":"card_declined"')],
      ['object.payment_attempts_allowed = 3', has('"payment_attempts_allowed":3')],
    ],
  ],
])('in events of a %s', (place, causes) => {
  test.each(drawnCases(place, CAUSES_OF_RUN[place], causes))(
    '%s is named first, and only what belongs to the delivery is an effect',
    (text, isMeant) => {
      const { causes: found, onlyInFailures, fields, notLookedAt } = explained(historyOf(place, isMeant));
      expect(fields).toBeGreaterThan(FIELDS[place]);
      expect(notLookedAt).toEqual([]);
      const [first = { conditions: [], same: [] }] = found;
      expect([...first.conditions, ...first.same].map((condition) => condition.text)).toContain(text);
      expect(first.conditions).toHaveLength(1);
      const ofDelivery = /^delivery\b/;
      const namedOfDelivery = found
        .flatMap(({ conditions }) => conditions)
        .filter(({ field }) => ofDelivery.test(field));
      expect(namedOfDelivery).toEqual([]);
      expect(onlyInFailures.filter(({ field }) => !ofDelivery.test(field))).toEqual([]);
    },
  );
});

test('a code that only failures have is no cause beside their type', () => {
  const events = historyOf('payments', has('"eventType":"payout.paid"')).map((event) => ({
    ...event,
    object: {
      ...(event['object'] as Json),
      failure_code:
        event['eventType'] === 'payout.paid' && event['publishStatus'] === 'FAILED' ? 'closed' : null,
    },
  }));
  const { causes } = explained(events);
  expect(causes.map(({ conditions }) => conditions.map(({ text }) => text))).toEqual([
    ['eventType = payout.paid'],
  ]);
});
