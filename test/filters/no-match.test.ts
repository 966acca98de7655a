import { describe, expect, test } from 'vitest';
import { InterruptedError } from '../../src/errors.ts';
import { EventFilters } from '../../src/filters/event-filters.ts';
import { furtherBack, warnOfNoMatch, warnOfUnsubscribed } from '../../src/filters/no-match.ts';
import { knownInstant } from '../../src/time/instant.ts';
import { DAY_MS } from '../../src/time/lengths.ts';
import { answeringService, jsonAnswer } from '../support/answers.ts';
import { NOON } from '../support/clock.ts';
import { reporterTo } from '../support/outputs.ts';

const idOf = (digit: number) => `${digit}f8fad5b-d9cb-469f-a165-70867728950e`;
const subscription = (id: string, name: string, eventTypes?: readonly string[]) => ({
  subscriptionId: id,
  callbackUrl: `https://hooks.example/${name}`,
  subscriptionRules: { eventTypes },
});
const SUBSCRIPTIONS = [
  subscription(idOf(1), 'orders', ['order.sent', 'order.paid']),
  subscription(idOf(2).toUpperCase(), 'users', ['user.created']),
  subscription(idOf(3), 'all', []),
  subscription(idOf(4), 'unknown'),
];
const types = ['order.sent', 'user.created', 'user.gone'].map((name) => ({ name }));
const createService = () =>
  answeringService({
    '/subscriptions/mine': jsonAnswer({ items: SUBSCRIPTIONS }),
    '/event-types': jsonAnswer({ items: types }),
  });
const filtersOf = (subscriptionId: string[], eventType: string[]) =>
  new EventFilters({ values: { subscriptionId, eventType } });
const unsubscribed = (name: string, id: string, what: string) =>
  `usage: --subscription: hooks.example/${name} (${id}) does not subscribe to ${what}; \`hooktrail subscriptions get ${id}\` shows its types`;

describe('a subscription that does not subscribe to the types', () => {
  const warned = async (filters: EventFilters, service = createService()) => {
    const said: string[] = [];
    const reporter = reporterTo((line) => said.push(line));
    expect(await warnOfUnsubscribed(filters, service, reporter)).toBe(said.length > 0);
    return { said, asked: service.asked };
  };

  test('is named with all of them', async () => {
    const all = [idOf(1).toUpperCase(), ...[2, 3, 4, 5].map(idOf)];
    expect((await warned(filtersOf(all, ['user.gone']))).said).toEqual([
      unsubscribed('orders', idOf(1), 'user.gone'),
      unsubscribed('users', idOf(2).toUpperCase(), 'user.gone'),
    ]);
    expect((await warned(filtersOf(all, ['order.sent', 'user.gone']))).said).toEqual([
      unsubscribed('users', idOf(2).toUpperCase(), 'order.sent or user.gone'),
    ]);
    const ofPattern = filtersOf([idOf(2)], []).withTypes(['order.sent', 'order.paid'], ['order.*']);
    expect((await warned(ofPattern)).said).toEqual([unsubscribed('users', idOf(2).toUpperCase(), 'order.*')]);
  });

  test('is no other that does, or whose types are not known', async () => {
    expect((await warned(filtersOf([1, 3, 4, 5].map(idOf), ['order.paid']))).said).toEqual([]);
  });

  test('is looked for only with subscriptions and types', async () => {
    expect((await warned(filtersOf([], ['a']))).asked).toEqual([]);
    expect((await warned(filtersOf([idOf(1)], []))).asked).toEqual([]);
  });

  test('is not known if the list cannot be read, and an interrupt ends the run', async () => {
    const service = answeringService({});
    const filters = filtersOf([idOf(1)], ['user.gone']);
    expect(await warned(filters, service)).toEqual({ said: [], asked: ['/subscriptions/mine'] });
    const interrupt = new InterruptedError('SIGINT');
    service.abort(interrupt);
    await expect(warned(filters, service)).rejects.toBe(interrupt);
  });
});

test('filters that find nothing are warned of once: by their types, or else by their subscriptions', async () => {
  const warned = async (filters: EventFilters) => {
    const said: string[] = [];
    const isWarned = await warnOfNoMatch(
      filters,
      createService(),
      reporterTo((line) => said.push(line)),
    );
    return [isWarned, ...said];
  };
  expect(await warned(filtersOf([idOf(1)], ['user.creatd']))).toEqual([
    true,
    "usage: 'user.creatd' is not among the event types on offer; did you mean user.created?",
  ]);
  expect(await warned(filtersOf([idOf(1)], ['user.created']))).toEqual([
    true,
    unsubscribed('orders', idOf(1), 'user.created'),
  ]);
  expect(await warned(filtersOf([idOf(1)], ['order.sent']))).toEqual([false]);
});

test.each([
  [0, 1],
  [0.5, 1],
  [0.51, 7],
  [3.5, 7],
  [3.6, 30],
  [15, 30],
  [16, 90],
  [45, 90],
  [46, undefined],
])('after a window of %d days one of %s days looks further back', (days, longer) => {
  const after = knownInstant(NOON - days * DAY_MS);
  expect(furtherBack(after, NOON)).toBe(longer && `\`--since ${longer}d\` looks further back`);
});
