import { describe, expect, test } from 'vitest';
import { InterruptedError, ServiceError, UsageError } from '../../src/errors.ts';
import { KeptList } from '../../src/files/kept-list.ts';
import { EventFilters } from '../../src/filters/event-filters.ts';
import {
  askEventTypes,
  eventTypeNames,
  keepEventTypes,
  keptEventTypes,
  resolveKeptTypes,
  resolveListed,
  resolveTypes,
  unlistedText,
  warnOfTypes,
  warnOfUnlisted,
} from '../../src/filters/event-types.ts';
import { Items } from '../../src/items/items.ts';
import { RunSettings } from '../../src/settings/settings.ts';
import { advising } from '../support/advice.ts';
import { answeringService, jsonAnswer } from '../support/answers.ts';
import { createContext } from '../support/context.ts';
import { forEachTest } from '../support/each-test.ts';
import { createHome } from '../support/home.ts';
import { reporterTo } from '../support/outputs.ts';
import { inShape } from '../support/shape.ts';

const entryOf = (name: unknown) => inShape({ flat: { name }, published: { eventType: name } });
const itemsOf = (...values: unknown[]) => Items.of(values.map((one) => Buffer.from(JSON.stringify(one))));
const listOf = (...names: string[]) => itemsOf(...names.map(entryOf));
const LISTED = ['order.Paid', 'order.sent', 'user.created'];

const filtersOf = (...eventType: string[]) => new EventFilters({ values: { eventType } });
const serviceWith = (names: readonly string[] = LISTED, kept?: unknown) =>
  answeringService(
    { '/event-types': jsonAnswer({ items: names.map(entryOf) }) },
    new Map(kept === undefined ? [] : [['event-types', kept]]),
  );
const failingService = (answer: Parameters<typeof answeringService>[0][string], kept?: unknown) =>
  answeringService({ '/event-types': answer }, new Map([['event-types', kept]]));
function listening() {
  const said: string[] = [];
  return { said, reporter: reporterTo((line) => said.push(line)) };
}
const warningOf = (type: string, next: string) =>
  `usage: '${type}' is not among the event types on offer; ${next}`;
const LISTS = '`hooktrail event-types` lists them';

describe('the list of event types', () => {
  test('is asked for, and its failure is said as such', async () => {
    const service = serviceWith();
    expect(eventTypeNames((await askEventTypes(service)).page.items)).toEqual(LISTED);
    expect(service.asked).toEqual(['/event-types']);
    await expect(askEventTypes(failingService(jsonAnswer({}, 400)))).rejects.toMatchObject({
      message: 'the event types cannot be listed: the service answered 400 Bad Request',
    });
  });

  test('has each name once, whatever else its entries have', () => {
    expect(eventTypeNames(listOf('b', 'a', 'b', ''))).toEqual(['b', 'a']);
    expect(eventTypeNames(itemsOf({ description: 'all', name: 'a' }, { description: 'no name' }))).toEqual([
      'a',
    ]);
    expect(eventTypeNames(itemsOf('a', 'b'))).toEqual(['a', 'b']);
    expect(eventTypeNames(itemsOf())).toEqual([]);
  });

  test('is kept for the next command, and written only if it has changed', async () => {
    const service = serviceWith();
    await keepEventTypes(listOf('a', 'b'), service);
    expect(service.kept.get('event-types')).toEqual({ names: ['a', 'b'] });
    const first = service.kept.get('event-types');
    await keepEventTypes(listOf('a', 'b'), service);
    expect(service.kept.get('event-types')).toBe(first);
    await keepEventTypes(listOf('b', 'a'), service);
    expect(service.kept.get('event-types')).toEqual({ names: ['b', 'a'] });
  });
});

describe('a type that is not on offer', () => {
  const warned = (filters: EventFilters, time: 'before' | 'after') => {
    const { said, reporter } = listening();
    expect(warnOfUnlisted(filters, listOf(...LISTED), reporter, time)).toBe(said.length > 0);
    return said;
  };

  test('is said before a search where other types could hide it, alone only after one', () => {
    const meant = warningOf('order.snet', 'did you mean order.sent?');
    expect(warned(filtersOf('order.snet'), 'after')).toEqual([meant]);
    expect(warned(filtersOf('order.snet'), 'before')).toEqual([]);
    expect(warned(filtersOf('order.snet', 'order.sent'), 'before')).toEqual([meant]);
    expect(warned(filtersOf('order.snet', 'order.sent'), 'after')).toEqual([]);
    expect(warned(filtersOf('order.sent', 'user.created'), 'before')).toEqual([]);
    expect(warned(filtersOf('order.sent'), 'after')).toEqual([]);
    expect(warned(filtersOf('nothing', 'like', 'order.sent'), 'before')).toEqual([
      warningOf('nothing', LISTS),
      warningOf('like', LISTS),
    ]);
  });

  test('counts as one of several by what was typed', () => {
    const ofPattern = new EventFilters().withTypes(['order.Paid', 'order.gone'], ['order.*']);
    expect(warned(ofPattern, 'before')).toEqual([]);
    expect(warned(ofPattern, 'after')).toHaveLength(1);
  });

  test('is near a pattern of names of several lines too', () => {
    expect(unlistedText('ordr.*', ['order.a\nb'], 'old')).toMatch(/; did you mean order\.\*\?$/);
  });

  test.each([
    ['order.snet', 'old', 'old; did you mean order.sent?'],
    ['orders', 'old', 'old; did you mean order.*?'],
    ['ordr.*', 'old', 'old; did you mean order.*?'],
    // A pattern stands for no single type.
    ['order.sen*', 'old', 'old; `hooktrail events stats --by eventType --from old` lists them'],
    ['none', '-', 'standard input; `… | hooktrail events stats --by eventType --from -` lists them'],
  ])('%s, in stored events of %s too', (type, from, rest) => {
    expect(unlistedText(type, LISTED, from)).toBe(`'${type}' is not among the event types of ${rest}`);
  });
});

describe('after a search without results', () => {
  test('the types are asked for, if the filters have any', async () => {
    const { said, reporter } = listening();
    const service = serviceWith();
    expect(await warnOfTypes(new EventFilters(), service, reporter)).toBe(false);
    expect(service.asked).toEqual([]);
    expect(await warnOfTypes(filtersOf('order.sent'), service, reporter)).toBe(false);
    expect(await warnOfTypes(filtersOf('order.snet'), service, reporter)).toBe(true);
    expect(service.asked).toEqual(['/event-types', '/event-types']);
    expect(said).toEqual([warningOf('order.snet', 'did you mean order.sent?')]);
  });

  test('a list that cannot be read is no fault, and an interrupt ends the run', async () => {
    const { said, reporter } = listening();
    const service = failingService(jsonAnswer({}, 400));
    expect(await warnOfTypes(filtersOf('a'), service, reporter)).toBe(false);
    expect(said).toEqual([]);
    const interrupt = new InterruptedError('SIGINT');
    service.abort(interrupt);
    await expect(warnOfTypes(filtersOf('a'), service, reporter)).rejects.toBe(interrupt);
  });
});

describe('the types of filters', () => {
  const resolve = async (filters: EventFilters, service = serviceWith()) => {
    const { said, reporter } = listening();
    const { eventTypes, typePatterns } = await resolveTypes(filters, service, reporter);
    return { eventTypes, typePatterns, asked: service.asked.length, said, kept: [...service.kept.values()] };
  };
  const keptList = [{ names: LISTED }];

  test.each([
    [['ORDER.paid'], ['order.Paid'], ['order.Paid']],
    [
      ['order.*', 'ORDER.SENT'],
      ['order.Paid', 'order.sent'],
      ['order.*', 'order.sent'],
    ],
    [['order.*', '*.created', 'user.*'], LISTED, ['order.*', '*.created', 'user.*']],
    [['order.sent', 'order.sent'], ['order.sent'], ['order.sent']],
    [['gone'], ['gone'], ['gone']],
  ])('%j are spelled as the service does: %j', async (typed, eventTypes, typePatterns) => {
    expect(await resolve(filtersOf(...typed))).toEqual({
      eventTypes,
      typePatterns,
      asked: 1,
      said: [],
      kept: keptList,
    });
  });

  test('are all types that differ only in case', async () => {
    const { eventTypes, typePatterns } = await resolve(filtersOf('A'), serviceWith(['a', 'b', 'á']));
    expect([eventTypes, typePatterns]).toEqual([['a'], ['a']]);
    const both = await resolve(filtersOf('aa'), serviceWith(['Aa', 'aA']));
    expect([both.eventTypes, both.typePatterns]).toEqual([
      ['Aa', 'aA'],
      ['Aa', 'aA'],
    ]);
    // A name that is listed as typed means itself.
    expect((await resolve(filtersOf('aa'), serviceWith(['Aa', 'aa']))).eventTypes).toEqual(['aa']);
    expect((await resolve(filtersOf('a*'), serviceWith(['a*', 'ab']))).eventTypes).toEqual(['a*']);
  });

  test('are not asked for if there are none, or if all are among those that were kept', async () => {
    const filters = new EventFilters();
    const { reporter } = listening();
    const service = serviceWith();
    expect(await resolveTypes(filters, service, reporter)).toBe(filters);
    expect(service.asked).toEqual([]);
    const kept = { names: ['order.Paid', 'order.sent'] };
    const known = await resolve(filtersOf('ORDER.PAID', 'order.sent'), serviceWith(LISTED, kept));
    expect(known).toMatchObject({ eventTypes: ['order.Paid', 'order.sent'], asked: 0 });
    const added = await resolve(filtersOf('order.sent', 'user.created'), serviceWith(LISTED, kept));
    expect(added).toMatchObject({ eventTypes: ['order.sent', 'user.created'], asked: 1, kept: keptList });
    const pattern = await resolve(filtersOf('order.*'), serviceWith(LISTED, kept));
    expect(pattern.asked).toBe(1);
  });

  test.each([null, [], 'text', { names: 'order.sent' }, {}])(
    'are asked for if what was kept is damaged: %j',
    async (kept) => {
      expect(await resolve(filtersOf('order.sent'), serviceWith(LISTED, kept))).toMatchObject({
        eventTypes: ['order.sent'],
        asked: 1,
      });
    },
  );

  test('are warned of if others could hide that they find nothing', async () => {
    const { said } = await resolve(filtersOf('order.snet', 'order.sent'));
    expect(said).toEqual([warningOf('order.snet', 'did you mean order.sent?')]);
    const { said: again, reporter } = listening();
    const resolved = resolveListed(filtersOf('order.snet', 'ORDER.SENT'), listOf(...LISTED), reporter);
    expect(resolved.eventTypes).toEqual(['order.snet', 'order.sent']);
    expect(again).toEqual(said);
  });

  test('that a pattern stands for have to exist', async () => {
    const refusal = (type: string) => expect(resolve(filtersOf(type))).rejects;
    await refusal('ordr.*').toMatchObject({
      message: "--type: no event type on offer matches 'ordr.*'",
      exitCode: 2,
      next: 'did you mean order.*?',
    });
    await refusal('x*y').toMatchObject({ next: advising(LISTS) });
  });

  test('stay as typed if the list fails, but for patterns', async () => {
    const refused = jsonAnswer({}, 400);
    const filters = filtersOf('order.sent');
    const { reporter } = listening();
    expect(await resolveTypes(filters, failingService(refused), reporter)).toBe(filters);
    await expect(resolve(filtersOf('a', 'order.*'), failingService(refused))).rejects.toThrow(
      'the event types cannot be listed',
    );
  });

  test("are not searched for after an interrupt, nor after a fault that is not the service's", async () => {
    const { reporter } = listening();
    const service = failingService(new ServiceError('reset'));
    expect((await resolveTypes(filtersOf('a'), service, reporter)).eventTypes).toEqual(['a']);
    service.abort(new InterruptedError('SIGINT'));
    await expect(resolveTypes(filtersOf('a'), service, reporter)).rejects.toThrow('reset');
    const fault = new TypeError('a defect');
    await expect(resolveTypes(filtersOf('a'), failingService(fault), reporter)).rejects.toBe(fault);
  });
});

describe('the types that were kept of a service', () => {
  const at = forEachTest(createHome);
  const BASE = 'https://events.example.com/v1';
  const context = () => createContext({ environment: at.env });
  const settings = (flags: object = { baseUrl: BASE }) =>
    new RunSettings(flags, context(), { version: 1, profiles: {} });
  const keep = async (...names: string[]) => {
    const list = new KeptList('event-types', { profile: 'default', baseUrl: new URL(BASE) }, context());
    await list.replace({ names });
  };

  test('are those of its address and profile', async () => {
    expect(keptEventTypes(settings(), context())).toEqual([]);
    await keep('order.Paid', 'order.sent');
    expect(keptEventTypes(settings(), context())).toEqual(['order.Paid', 'order.sent']);
    expect(keptEventTypes(settings({ baseUrl: BASE, profile: 'other' }), context())).toEqual([]);
    expect(keptEventTypes(settings({ baseUrl: 'https://other.example/v1' }), context())).toEqual([]);
    expect(keptEventTypes(settings({}), context())).toEqual([]);
  });

  test('spell the types of filters where no request may be sent', async () => {
    const resolved = (...types: string[]) => resolveKeptTypes(filtersOf(...types), settings(), context());
    const none = new EventFilters();
    expect(resolveKeptTypes(none, settings(), context())).toBe(none);
    expect(resolved('ORDER.PAID').eventTypes).toEqual(['ORDER.PAID']);
    expect(() => resolved('a', 'order.*', 'user.*')).toThrow(
      expect.objectContaining({
        message: "--type: the types that 'order.*' stands for are unknown here",
        next: advising('run `hooktrail event-types` once: it remembers them'),
        exitCode: 2,
      }),
    );
    expect(() => resolved('order.*')).toThrow(UsageError);
    await keep('order.Paid', 'order.sent');
    expect(resolveKeptTypes(none, settings(), context())).toBe(none);
    expect(resolved('ORDER.PAID').eventTypes).toEqual(['order.Paid']);
    expect(resolved('order.*').eventTypes).toEqual(['order.Paid', 'order.sent']);
  });
});
