import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { emptyMemory } from '../../src/context.ts';
import { EventFilters } from '../../src/filters/event-filters.ts';
import {
  addressWithId,
  namedSubscription,
  resolveFilters,
  resolveSubscriptions,
  resolveToSend,
} from '../../src/filters/resolve-filters.ts';
import { advising } from '../support/advice.ts';
import { answeringService, jsonAnswer } from '../support/answers.ts';
import { createContext, fakeOutput } from '../support/context.ts';
import { fakeReporter } from '../support/outputs.ts';

const idOf = (digit: number) => `${digit}f8fad5b-d9cb-469f-a165-70867728950e`;
const SUBSCRIPTIONS = [
  [idOf(1), 'https://hooks.example/Invoices?key=secret'],
  [idOf(2), 'https://hooks.example/shipments'],
  [idOf(3), 'https://other.example/a,b'],
  [idOf(4), undefined],
].map(([subscriptionId, callbackUrl]) => ({ subscriptionId, callbackUrl }));

const createService = (items = SUBSCRIPTIONS) =>
  answeringService({
    '/subscriptions/mine': jsonAnswer({ items }),
    '/event-types': jsonAnswer({ items: [{ name: 'order.Paid' }] }),
  });
const withWords = (...subscriptionWords: string[]) =>
  new EventFilters({ subscriptionWords, values: { subscriptionId: [idOf(9)], eventType: ['order.paid'] } });

describe('parts of callback addresses', () => {
  const resolved = async (...words: string[]) => {
    const reporter = fakeReporter();
    const filters = withWords(...words);
    const { subscriptionIds, subscriptionWords } = await resolveSubscriptions(
      filters,
      createService(),
      reporter,
    );
    expect(subscriptionWords).toEqual([]);
    return { ids: subscriptionIds.slice().sort(), said: reporter.said };
  };

  test('become the ids of subscriptions, beside those that were given, and each is said', async () => {
    expect(await resolved('INVOICES', 'shipments')).toEqual({
      ids: [idOf(1), idOf(2), idOf(9)],
      said: [
        `notice: --subscription INVOICES: hooks.example/Invoices (${idOf(1)})`,
        `notice: --subscription shipments: hooks.example/shipments (${idOf(2)})`,
      ],
    });
  });

  test('may have commas between them, unless an address has the comma', async () => {
    const both = await resolved(' invoices, ,shipments ', 'invoices');
    expect(both.ids).toEqual([idOf(1), idOf(2), idOf(9)]);
    expect(both.said).toEqual([
      `notice: --subscription invoices: hooks.example/Invoices (${idOf(1)})`,
      `notice: --subscription shipments: hooks.example/shipments (${idOf(2)})`,
    ]);
    expect(await resolved('a,b')).toEqual({
      ids: [idOf(3), idOf(9)],
      said: [`notice: --subscription a,b: other.example/a,b (${idOf(3)})`],
    });
  });

  test('are asked for only if there are any', async () => {
    const service = createService();
    const filters = new EventFilters({ values: { subscriptionId: [idOf(1)] } });
    expect(await resolveSubscriptions(filters, service, fakeReporter())).toBe(filters);
    expect(service.asked).toEqual([]);
  });

  const none = (word: string) =>
    `--subscription: '${word}' is neither a GUID nor in the address of a subscription that is switched on`;
  const lists = advising(
    '`hooktrail subscriptions` lists them; `hooktrail events health` shows those that are off, if they have events',
  );
  test.each([
    ['shipmnets', none('shipmnets'), { next: 'did you mean shipments?' }],
    ['billing', none('billing'), { next: lists }],
    [',', none(','), { next: lists }],
    [
      'Hooks.example',
      "--subscription: 'Hooks.example' is in the addresses of 2 subscriptions",
      {
        details: [`hooks.example/Invoices (${idOf(1)})`, `hooks.example/shipments (${idOf(2)})`],
        next: 'give more of the address, or the id of one',
      },
    ],
    // What an address may keep secret is not searched.
    ['secret', none('secret'), { next: lists }],
  ])('such as %s are refused where they are not those of one subscription', async (word, message, parts) => {
    const service = createService(SUBSCRIPTIONS.slice(0, 2));
    await expect(resolveSubscriptions(withWords(word), service, fakeReporter())).rejects.toMatchObject({
      message,
      exitCode: 2,
      ...parts,
    });
  });

  test('are resolved with the types of the filters', async () => {
    const filters = await resolveFilters(withWords('invoices'), createService(), fakeReporter());
    expect(filters.subscriptionIds.slice().sort()).toEqual([idOf(1), idOf(9)]);
    expect(filters.eventTypes).toEqual(['order.Paid']);
  });
});

test('a subscription that a command names is found by a part of its address, which is said', async () => {
  const reporter = fakeReporter();
  const found = await namedSubscription('invoices', createService(), reporter);
  expect(found.id).toBe(idOf(1));
  expect(reporter.said).toEqual([`notice: invoices: hooks.example/Invoices (${idOf(1)})`]);
  const refusal = (word: string) => expect(namedSubscription(word, createService(), reporter)).rejects;
  await refusal('hooks').toThrow(/^'hooks' is in the addresses of 2 subscriptions$/);
  await refusal('billing').toThrow(/^'billing' is neither a GUID nor/);
});

test('a subscription without an address is shown by its id', () => {
  const subscription = { id: idOf(1), state: 'on', marketplaces: [], eventTypes: [] } as const;
  expect(addressWithId({ ...subscription, callbackUrl: undefined })).toBe(`no address (${idOf(1)})`);
});

describe('what is sent to the subscriptions of a part of an address', () => {
  /** The answer that a person types on a terminal; undefined without one. */
  const asked = async (filters: EventFilters, answer?: string, service = createService()) => {
    const input = new PassThrough();
    if (answer !== undefined) input.end(`${answer}\n`);
    const isTerminal = answer !== undefined;
    const stderr = fakeOutput(isTerminal ? 500 : undefined);
    const stdin = { ...createContext().stdin, isTerminal, stream: () => input };
    const context = createContext({
      stdin,
      stderr,
      environment: { TERM: 'dumb' },
      memory: emptyMemory(),
    });
    const reporter = fakeReporter();
    const outcome = await resolveToSend(filters, service, { context, reporter }).catch((error) => error);
    return { outcome, question: stderr.text, asked: service.asked, said: reporter.said };
  };

  test('is confirmed by a person, who sees all of them', async () => {
    const { outcome, question, said } = await asked(withWords('invoices,shipments'), 'yes');
    expect(question.trim()).toBe(
      `Use hooks.example/Invoices (${idOf(1)}), hooks.example/shipments (${idOf(2)})? (yes or no):`,
    );
    expect(outcome.subscriptionIds.slice().sort()).toEqual([idOf(1), idOf(2), idOf(9)]);
    expect(outcome).toMatchObject({ subscriptionWords: [], eventTypes: ['order.Paid'] });
    expect(said).toEqual([]);
  });

  test('is not sent if the person declines', async () => {
    const { outcome } = await asked(withWords('invoices'), 'no');
    expect(outcome).toMatchObject({
      message: 'nothing was sent',
      next: 'give the id: --subscription GUID',
      exitCode: 2,
    });
  });

  test('is refused without a terminal, before anything is asked of the service', async () => {
    const { outcome, question, asked: requests } = await asked(withWords('invoices'));
    expect(outcome).toMatchObject({
      message:
        "--subscription: 'invoices' is not a GUID, and without a terminal nobody can confirm its match",
      next: advising('`hooktrail subscriptions` lists the subscriptions with their ids'),
      exitCode: 2,
    });
    expect([question, requests]).toEqual(['', []]);
  });

  test('needs no confirmation if it was given by ids', async () => {
    const { outcome, question, asked: requests } = await asked(withWords());
    expect(outcome).toMatchObject({ subscriptionIds: [idOf(9)], eventTypes: ['order.Paid'] });
    expect([question, requests]).toEqual(['', ['/event-types']]);
  });
});
