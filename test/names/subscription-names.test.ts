import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import type { Service } from '../../src/http/service.ts';
import {
  listSubscriptions,
  SubscriptionNames,
  subscriptionOf,
  withWord,
  wordsOfAddresses,
} from '../../src/names/subscription-names.ts';
import { clock } from '../support/clock.ts';

const ID = '22284310-c2cd-4a3e-a9e8-1d7b8995da7f';
const OTHER = 'bb2b024a-e9b8-4c1b-8dde-172330f6d0da';

interface Answer {
  readonly status: number;
  readonly headers: object;
  readonly body: Buffer;
}

const textAnswer = (body: string, status = 200): Answer => ({ status, headers: {}, body: Buffer.from(body) });
const json = (body: unknown, status = 200) => textAnswer(JSON.stringify(body), status);

/** What the service answers by the end of the path: the list at `mine`. Nothing: the request hangs. */
function namesOf(answers: Readonly<Record<string, Answer | Error>>) {
  const asked: string[] = [];
  const send = async ({ url, signal }: { url: URL; signal: AbortSignal }) => {
    signal.throwIfAborted();
    const end = url.pathname.slice(url.pathname.lastIndexOf('/') + 1);
    asked.push(end);
    const answer = answers[end];
    if (answer instanceof Error) throw answer;
    if (answer) return answer;
    return await new Promise<never>((_, reject) =>
      signal.addEventListener('abort', () => reject(signal.reason)),
    );
  };
  const { signal } = new AbortController();
  const baseUrl = new URL('https://events.example.com/v1');
  const names = new SubscriptionNames({ baseUrl, clock, signal, send } as unknown as Service);
  return { names, asked };
}

const nothingListed = { mine: json({ items: [] }) };
const subscription = { subscriptionId: ID, callbackUrl: 'https://a.example/in' };

describe('one subscription', () => {
  test('is still asked for after a read that takes minutes', async () => {
    const { names } = namesOf({ ...nothingListed, [ID]: json(subscription) });
    clock.advance(60_000);
    await names.learn([ID]);
    expect(names.nameOf(ID)).toBe('a.example/in');
    names.close();
  });

  test('that does not come is waited for no longer than 1.5 s', async () => {
    const { names } = namesOf(nothingListed);
    const learning = names.learn([ID]);
    clock.advance(1_500);
    await learning;
    expect(names.labelOf(ID)).toBeUndefined();
  });

  test('is asked for once, by its id in lower case, and only where it is not listed', async () => {
    const { names, asked } = namesOf({ mine: json({ items: [subscription] }), [OTHER]: json({}) });
    await names.learn([ID.toUpperCase(), OTHER, OTHER.toUpperCase()]);
    await names.learn([OTHER]);
    expect(asked).toEqual(['mine', OTHER]);
    expect(names.of(ID.toUpperCase())?.id).toBe(ID);
  });

  test('is one of 20 at most that are asked for', async () => {
    const ids = Array.from({ length: 30 }, (_, index) => `id-${index}`);
    const { names, asked } = namesOf({
      ...nothingListed,
      ...Object.fromEntries(ids.map((id) => [id, json({}, 404)])),
    });
    await names.learn(ids.slice(0, 15));
    await names.learn(ids);
    expect(asked).toEqual(['mine', ...ids.slice(0, 20)]);
    expect(names.labelOf('id-19')).toBe('id-19, gone');
    expect(names.labelOf('id-20')).toBeUndefined();
  });

  test.each<[string, Answer | Error, string | undefined]>([
    ['the service does not know', json({}, 404), `${ID.slice(0, 8)}, gone`],
    ['the service fails to send', json(subscription, 500), undefined],
    ['is answered with another', json({ ...subscription, subscriptionId: OTHER }), undefined],
    [
      'is answered with its id in capitals',
      json({ ...subscription, subscriptionId: ID.toUpperCase() }),
      'a.example/in',
    ],
    ['is answered with no JSON', textAnswer('<'), undefined],
    ['cannot be asked for', new Error('reset'), undefined],
  ])('that %s', async (_, answer, label) => {
    const { names } = namesOf({ ...nothingListed, [ID]: answer });
    await names.learn([ID]);
    expect(names.labelOf(ID)).toBe(label);
    expect(names.all).toHaveLength(label === undefined ? 0 : 1);
  });
});

test('two subscriptions never have the same label, whatever is known of them', async () => {
  const twin = { ...subscription, subscriptionId: `${ID.slice(0, -1)}0` };
  const [third, fourth] = [OTHER, `${OTHER.slice(0, -1)}0`];
  const nameless = 'aa66d24e-de9e-47e1-8d86-3ab59e571dd5';
  const { names } = namesOf({
    mine: json({ items: [subscription, twin] }),
    [third]: json({}, 404),
    [fourth]: json({}, 404),
    [nameless]: json({ subscriptionId: nameless, isEnabled: false }),
  });
  await names.learn([third, fourth, nameless]);
  expect([ID, twin.subscriptionId, third, fourth, nameless].map((id) => names.labelOf(id))).toEqual([
    `a.example/in ${ID}`,
    `a.example/in ${twin.subscriptionId}`,
    `${third}, gone`,
    `${fourth}, gone`,
    'aa66d24e, off',
  ]);
});

describe('the list', () => {
  test.each<[string, Answer | Error, string | undefined]>([
    ['known', json({ items: [] }), undefined],
    ['that the service does not offer', json({}, 404), undefined],
    ['without items', json({ rows: [] }), undefined],
    ['that is no object', json(null), undefined],
    ['that fails', new Error('reset'), 'reset'],
    ['that is no JSON', textAnswer('<'), expect.stringContaining('JSON')],
    ['that is refused', json({}, 400), expect.stringContaining('the subscriptions cannot be listed')],
  ])('%s', async (title, answer, why) => {
    const { names, asked } = namesOf({ mine: answer, [ID]: json(subscription) });
    await names.awaitList();
    expect(names.whyUnknown).toEqual(why);
    expect(names.isListed).toBe(title === 'known');
    if (why === undefined) await names.requireList();
    else await expect(names.requireList()).rejects.toMatchObject({ message: why });
    await names.learn([ID]);
    expect(asked).toEqual(title === 'known' ? ['mine', ID] : ['mine']);
  });

  test('is waited for 1.5 s, and the request goes on', async () => {
    const { names } = namesOf({});
    expect(names.whyUnknown).toBe('the service did not list them within 1.5 s');
    let isOver = false;
    const waiting = names.awaitList().then(() => {
      isOver = true;
    });
    clock.advance(1_499);
    await setImmediate();
    expect(isOver).toBe(false);
    clock.advance(1);
    await waiting;
    expect(names.whyUnknown).toBe('the service did not list them within 1.5 s');
    expect(names.isListed).toBe(false);
    names.close();
  });
});

test('names are addresses, with the beginning of the id where two look the same', async () => {
  const at = (id: string, callbackUrl: unknown, isEnabled?: boolean) => ({
    subscriptionId: id,
    callbackUrl,
    isEnabled,
  });
  const { names } = namesOf({
    mine: json({
      items: [
        at('aaaaaaaa-1', 'https://a.example/in?key=1'),
        at('bbbbbbbb-2', 'https://a.example/in?key=2', false),
        at('cccccccc-3', 'https://c.example/in', false),
        at('dddddddd-4', 'mailto:a@example.com'),
        at('eeeeeeee-5', undefined, false),
        at('', 'https://f.example/in'),
        null,
      ],
    }),
  });
  await names.awaitList();
  const ids = names.all.map(({ id }) => id);
  expect(ids.map((id) => [names.nameOf(id), names.labelOf(id)])).toEqual([
    ['a.example/in aaaaaaaa', 'a.example/in aaaaaaaa'],
    ['a.example/in bbbbbbbb', 'a.example/in bbbbbbbb, off'],
    ['c.example/in', 'c.example/in, off'],
    [undefined, undefined],
    [undefined, 'eeeeeeee, off'],
  ]);
  expect(names.nameOf('unknown')).toBeUndefined();
});

test.each<[unknown, object | undefined]>([
  [
    subscription,
    { id: ID, callbackUrl: 'https://a.example/in', state: 'on', marketplaces: [], eventTypes: [] },
  ],
  [
    { subscriptionId: ID, isEnabled: false, callbackUrl: 1 },
    { id: ID, callbackUrl: undefined, state: 'off', marketplaces: [], eventTypes: [] },
  ],
  [
    {
      subscriptionId: ID,
      isEnabled: null,
      subscriptionRules: { marketplaces: ['a', 2001], eventTypes: ['b', null] },
    },
    { id: ID, callbackUrl: undefined, state: 'on', marketplaces: ['a', '2001'], eventTypes: [] },
  ],
  [
    { subscriptionId: ID, subscriptionRules: { marketplaces: 'a' } },
    expect.objectContaining({ marketplaces: [], eventTypes: [] }),
  ],
  [{ subscriptionId: 1 }, undefined],
  [{}, undefined],
  ['text', undefined],
])('of the item %j', (item, parsed) => expect(subscriptionOf(item)).toEqual(parsed));

describe('the list of subscriptions', () => {
  const baseUrl = new URL('https://events.example.com/v1');
  const { signal } = new AbortController();
  const listIn = (answer: Answer) =>
    listSubscriptions({ baseUrl, clock, signal, send: async () => answer } as unknown as Service);
  const next =
    'this service may not have the requests of subscriptions: events are found by the id of theirs, --subscription GUID';

  test('has each subscription once, and leaves out what has no id', async () => {
    const items = [subscription, {}, { ...subscription, isEnabled: false }, { subscriptionId: OTHER }];
    const listed = await listIn(json({ items }));
    expect(listed.map(({ id, state }) => [id, state])).toEqual([
      [ID, 'off'],
      [OTHER, 'on'],
    ]);
  });

  test.each([
    ['that is no list', json({ items: {} }), 200, next],
    ['that is not there', json({ items: [] }, 404), 404, next],
    ['that comes with an error', json({ items: [] }, 500), 500, 'try again later'],
  ])('%s is an error of the service', async (_, answer, status, step) => {
    await expect(listIn(answer)).rejects.toMatchObject({ status, next: step });
  });

  test('that is not JSON is an error of the service, with its text', async () => {
    await expect(listIn(textAnswer('down'))).rejects.toMatchObject({
      message: expect.stringMatching(/: the service answered with something that is not JSON$/),
      details: ['down'],
      next,
    });
  });
});

const listed = ['https://Hooks.example.com/Orders?q=z', 'https://other.example.org/in', undefined].map(
  (callbackUrl, index) => ({
    id: `${index}`,
    callbackUrl,
    state: 'on' as const,
    marketplaces: [],
    eventTypes: [],
  }),
);

test('the words of an address are it, its host, and the names in it of three characters or more', () => {
  expect(wordsOfAddresses(listed)).toEqual([
    'hooks.example.com/Orders',
    'hooks.example.com',
    'hooks',
    'example',
    'com',
    'Orders',
    'other.example.org/in',
    'other.example.org',
    'other',
    'org',
  ]);
});

test('a word is looked for in host and path, in any case', () => {
  const idsWith = (word: string) => withWord(listed, word).map(({ id }) => id);
  expect(idsWith(' HOOKS.example ')).toEqual(['0']);
  expect(idsWith('orders')).toEqual(['0']);
  expect(idsWith('example')).toEqual(['0', '1']);
  expect(idsWith('z')).toEqual([]);
  expect(idsWith(' ')).toEqual([]);
});
