import { describe, expect, test } from 'vitest';
import type { AboutQuestions, Subject } from '../../src/about/about-questions.ts';
import { readSubject } from '../../src/about/about-subject.ts';
import { adviceText } from '../../src/advice.ts';
import { HooktrailError } from '../../src/errors.ts';
import { EventFilters } from '../../src/filters/event-filters.ts';
import { parseFieldPath } from '../../src/items/field-path.ts';
import type { NamedSubscription, SubscriptionNames } from '../../src/names/subscription-names.ts';
import type { EventSource } from '../../src/sources/event-source.ts';
import { type Instant, parseInstant } from '../../src/time/instant.ts';
import { pageOf } from '../questions/outcome-pages.ts';
import { inShape } from '../support/shape.ts';

const ID = '22284310-c2cd-4a3e-a9e8-1d7b8995da7f';
const OFF = 'bb2b024a-e9b8-4c1b-8dde-172330f6d0da';
const OTHER = '0f8fad5b-d9cb-469f-a165-70867728950e';
const BEFORE = parseInstant('2026-11-20T12:00:00Z') as Instant;
const nameField = parseFieldPath(
  inShape({ flat: 'customer', published: 'eventData.customer' }),
  'name-field',
);

const subscription = (id: string, callbackUrl: string): NamedSubscription => ({
  ...{ id, callbackUrl, state: 'on', marketplaces: [], eventTypes: [] },
});

interface Given {
  /** Undefined for stored events. */
  readonly listed?: readonly NamedSubscription[] | undefined;
  /** Found when they are asked for by their id. */
  readonly unlisted?: readonly NamedSubscription[];
  readonly isListed?: boolean;
  /** The error that keeps the list unknown. */
  readonly fault?: Error;
  /** Events of the last weeks, in pages. */
  readonly pages?: readonly (readonly object[])[];
  /** The number of events found by the name in the window. */
  readonly named?: number;
  readonly hasNameField?: boolean;
  readonly hasWindow?: boolean;
  readonly filters?: EventFilters;
}

async function find(word: string, given: Given = {}) {
  const { listed, unlisted = [], isListed = listed !== undefined, fault, pages = [], named } = given;
  const known = new Map((listed ?? []).map((one) => [one.id, one]));
  const learned: string[][] = [];
  const names = {
    isListed,
    awaitList: async () => {},
    requireList: async () => {
      if (fault) throw fault;
    },
    get all() {
      return [...known.values()];
    },
    of: (id: string) => known.get(id),
    learn: async (ids: Iterable<string>) => {
      learned.push([...ids]);
      for (const id of ids) {
        const found = unlisted.find((one) => one.id === id);
        if (found) known.set(id, found);
      }
    },
  } as unknown as SubscriptionNames;
  const searched: unknown[] = [];
  const filters = given.filters ?? new EventFilters();
  const source = {
    filters,
    service: listed ? {} : undefined,
    window: given.hasWindow === false ? undefined : { after: BEFORE, before: BEFORE },
    async *read(chosen: EventFilters, within: { after: Instant; before: Instant }, direction: string) {
      searched.push([chosen.hasDoubts, within.after.text, within.before.text, direction]);
      for (const page of pages) yield { ...pageOf(page), total: undefined };
    },
  } as unknown as EventSource;
  const asked: [Subject['by'], boolean][] = [];
  const added: string[] = [];
  const read = async ({ by }: Subject, chosen: EventFilters) => {
    asked.push([by, chosen.hasDoubts]);
    return {
      result: () => ({ health: { events: by === 'name' ? (named ?? 0) : 1 } }),
      receivers: { add: (id: string) => void added.push(id) },
    } as unknown as AboutQuestions;
  };
  const hasNameField = given.hasNameField ?? named !== undefined;
  const about = {
    source,
    names: listed ? names : undefined,
    nameField: hasNameField ? nameField : undefined,
  };
  const outcome = readSubject(word, about, read);
  const result = await outcome.then(
    ({ subject }) => subject,
    (error: unknown) => {
      if (!(error instanceof HooktrailError)) throw error;
      const next = error.next && adviceText(error.next, {});
      return { kind: error.kind, message: error.message, details: error.details, next };
    },
  );
  return { result, asked, added, searched, learned };
}

const HOOKS = [
  subscription(ID, 'https://hooks.harbour.example/in'),
  subscription(OTHER.toUpperCase(), 'https://hooks.hill.example/in'),
];

describe('the subject of a word', () => {
  test.each([ID, ID.toUpperCase(), `{${ID}}`, `see ${ID}.`])('is an id in %s', async (word) => {
    const { result, asked } = await find(word, { listed: HOOKS, named: 1 });
    expect([result, asked]).toEqual([{ by: 'id', id: ID }, [['id', true]]]);
  });

  test('is one address that has it, whatever its case', async () => {
    const { result, asked } = await find('HILL', { listed: HOOKS, named: 1 });
    expect([result, asked]).toEqual([{ by: 'address', id: OTHER }, [['address', true]]]);
  });

  test('that several addresses have is refused, with all of them', async () => {
    const { result, asked } = await find('hooks', { listed: HOOKS });
    expect(result).toMatchObject({ kind: 'usage', message: expect.stringContaining('hooks') });
    expect(JSON.stringify(result)).toContain('hooks.harbour.example');
    expect(JSON.stringify(result)).toContain('hooks.hill.example');
    expect(asked).toEqual([]);
  });

  test('is a name that events in the window have', async () => {
    for (const listed of [HOOKS, undefined]) {
      const { result, asked, searched } = await find('Tours', { listed, named: 2 });
      expect([result, asked, searched]).toEqual([{ by: 'name', id: undefined }, [['name', true]], []]);
    }
  });

  test('of two ids is no id', async () => {
    const { result } = await find(`${ID} ${OTHER}`, { listed: HOOKS });
    expect(result).toMatchObject({ kind: 'usage' });
  });
});

describe('a word that nothing in the window has', () => {
  const event = (subscriptionId: string, more: object = {}) => ({ subscriptionId, ...more });

  test('is looked for in the addresses of subscriptions that are off, newest events first', async () => {
    const off = subscription(OFF, 'https://hooks.tours.example/in');
    const given: Given = { listed: HOOKS, unlisted: [off], pages: [[event(ID)], [event(OFF), event(ID)]] };
    const { result, asked, searched, learned } = await find('tours', given);
    expect([result, asked]).toEqual([{ by: 'address', id: OFF }, [['address', true]]]);
    expect(searched).toEqual([[false, '2026-10-21T12:00:00Z', '2026-11-20T12:00:00Z', 'newest first']]);
    expect(learned).toEqual([[ID], [ID, OFF]]);
    // What the reading by name has doubted is not doubted again.
    expect((await find('tours', { ...given, named: 0 })).asked).toEqual([
      ['name', true],
      ['address', false],
    ]);
  });

  test('may be a name of earlier events, whose subscription is then a receiver', async () => {
    const pages = [
      [event(ID, { customer: 'Hill' })],
      [event(OFF, { customer: 'Harbour Tours' })],
      [event(OTHER)],
    ];
    const { result, asked, added, learned } = await find('tours', { listed: HOOKS, named: 0, pages });
    expect([result, asked, added]).toEqual([{ by: 'name', id: undefined }, [['name', true]], [OFF]]);
    expect(learned.length).toBe(2);
  });

  test('is a name without events, if it has a name field', async () => {
    const { result, added } = await find('tours', { listed: HOOKS, named: 0, pages: [[event(ID)]] });
    expect([result, added]).toEqual([{ by: 'name', id: undefined }, []]);
    const stored = await find('tours', { named: 0 });
    expect([stored.result, stored.searched]).toEqual([{ by: 'name', id: undefined }, []]);
  });

  test('is looked for in no more than 20,000 events', async () => {
    const page = Array.from({ length: 10_000 }, () => event(ID));
    const pages = [page, page, [event(OFF, { customer: 'Harbour Tours' })]];
    expect((await find('tours', { listed: HOOKS, named: 0, pages })).added).toEqual([]);
    const fewer = [page, page.slice(1), [event(OFF, { customer: 'Harbour Tours' })]];
    expect((await find('tours', { listed: HOOKS, named: 0, pages: fewer })).added).toEqual([OFF]);
  });

  test('may be in an address that could not be read, which is said', async () => {
    const pages = [[event(OFF), event(OTHER)]];
    const one = await find('tours', {
      listed: [HOOKS[0] as NamedSubscription, subscription(OTHER, 'https://hill.example')],
      pages,
    });
    expect(one.result).toEqual({
      kind: 'incomplete',
      message:
        "'tours' is not in an address that is known, and 1 subscription with events could not be looked up",
      details: [OFF],
      next: 'give the id of the subscription',
    });
    const many = await find('tours', {
      listed: [],
      pages: [Array.from({ length: 12 }, (_, at) => event(`s${at}`))],
    });
    expect(many.result).toMatchObject({
      message:
        "'tours' is not in an address that is known, and 12 subscriptions with events could not be looked up",
      details: Array.from({ length: 10 }, (_, at) => `s${at}`),
    });
  });

  test('is refused with the nearest word of an address', async () => {
    const { result } = await find('harbor', { listed: HOOKS, pages: [[event(ID)]] });
    expect(result).toEqual({
      kind: 'usage',
      message:
        "'harbor' is neither an id nor in the address of a subscription that is switched on or had events in the last 30 days",
      details: [],
      next: 'did you mean harbour?',
    });
    expect((await find('zzzzzzzz', { listed: HOOKS })).result).toMatchObject({
      next: '`hooktrail subscriptions` lists those that are switched on',
    });
  });

  test('is refused without a window to look in', async () => {
    const { result, searched } = await find('tours', { listed: HOOKS, hasWindow: false });
    expect([(result as { kind: string }).kind, searched]).toEqual(['usage', []]);
  });

  test('is refused where no addresses are listed', async () => {
    const next =
      'give the id of a subscription, or name the field that says who an event is for: `hooktrail config set name-field PATH`';
    expect((await find('tours')).result).toMatchObject({
      kind: 'usage',
      message: "'tours' is not an id, and stored events name no addresses",
      next,
    });
    const service = { listed: [], isListed: false };
    expect((await find('tours', service)).result).toMatchObject({
      message: "'tours' is not an id, and this service lists no addresses",
      next,
    });
  });

  test('could be in any address, so an unknown list is the error', async () => {
    const fault = new Error('no answer');
    const given = { listed: [], isListed: false, fault };
    await expect(find('tours', given)).rejects.toBe(fault);
    await expect(find('tours', { ...given, named: 0 })).rejects.toBe(fault);
    expect((await find('tours', { ...given, named: 1 })).result).toEqual({ by: 'name', id: undefined });
    expect((await find(ID, given)).result).toEqual({ by: 'id', id: ID });
  });
});
