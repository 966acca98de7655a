import { describe, expect, test } from 'vitest';
import { AboutQuestions, type Subject } from '../../src/about/about-questions.ts';
import { parseFieldPath } from '../../src/items/field-path.ts';
import type { SubscriptionNames } from '../../src/names/subscription-names.ts';
import type { PageOfOutcomes } from '../../src/sources/event-source.ts';
import { UTC } from '../../src/time/time-zone.ts';
import { at, eventsOf, pageOf } from '../questions/outcome-pages.ts';
import { inShape } from '../support/shape.ts';

const OWN = '22284310-c2cd-4a3e-a9e8-1d7b8995da7f';
const OTHER = 'bb2b024a-e9b8-4c1b-8dde-172330f6d0da';
const THIRD = '0f8fad5b-d9cb-469f-a165-70867728950e';

interface Given {
  readonly word?: string;
  readonly subject?: Subject;
  readonly nameField?: string;
  readonly latencyField?: string;
  /** The pages of a second reading. */
  readonly again?: readonly PageOfOutcomes[];
}

async function* pagesOf(pages: readonly PageOfOutcomes[]) {
  yield* pages;
}

/** The path of a field of the event itself. */
const pathOf = (text: string) =>
  parseFieldPath(inShape({ flat: text, published: `eventData.${text}` }), '--field');

async function ask(pages: readonly PageOfOutcomes[], given: Given = {}) {
  const { word = OWN, nameField, latencyField, again } = given;
  const questions = new AboutQuestions(word, given.subject ?? { by: 'id', id: OWN }, {
    nameField: nameField === undefined ? undefined : pathOf(nameField),
    latencyField: latencyField === undefined ? undefined : pathOf(latencyField),
    second: { again: again && (() => pagesOf(again)), showKept: (kept) => kept },
  });
  await questions.askOf(pagesOf(pages));
  return questions;
}

const own = (outcomes: string, more: object = {}) => eventsOf(outcomes, { subscriptionId: OWN, ...more });
const ofOther = (outcomes: string, more: object = {}) =>
  eventsOf(outcomes, { subscriptionId: OTHER, ...more });

describe('a subject by its id', () => {
  test('has the health of its own events, whatever happens to others', async () => {
    const questions = await ask([pageOf([...ofOther('FFF'), ...own('SFF')]), pageOf(ofOther('F'))]);
    const { health, ofSubscriptions, ofNames, largestOutage, latency } = questions.result();
    expect(health).toMatchObject({ state: 'failing', failed: 2, events: 3, recent: 'FFS' });
    expect([health.failingSince?.text, health.edge]).toEqual([at(1), false]);
    expect(ofSubscriptions).toMatchObject([{ id: OWN, failed: 2, events: 3 }]);
    expect([ofNames, latency]).toEqual([[], undefined]);
    expect([largestOutage?.since.text, largestOutage?.failed]).toEqual([at(1), 2]);
    expect([...questions.receivers.result()]).toEqual([OWN]);
    expect(questions.result()).toBe(questions.result());
  });

  test('without events is well, and is still a receiver', async () => {
    const questions = await ask([pageOf(ofOther('F'))]);
    expect(questions.result().health).toMatchObject({ state: 'ok', failed: 0, events: 0, edge: false });
    expect(questions.result()).toMatchObject({ ofSubscriptions: [], largestOutage: undefined });
    expect([...questions.receivers.result()]).toEqual([OWN]);
  });

  test('has no names, also if its word is one', async () => {
    const given: Given = { word: 'harbour', subject: { by: 'address', id: OWN }, nameField: 'customer' };
    const questions = await ask([pageOf(own('F', { customer: 'Harbour' }))], given);
    expect(questions.result()).toMatchObject({ ofNames: [], health: { who: 'Harbour' } });
  });

  test('has the causes of its own failures, in events that are read again', async () => {
    const failing = Array.from({ length: 40 }, (_, index) => ({
      eventId: `e${index}`,
      subscriptionId: OWN,
      createdOn: at(index),
      publishStatus: index % 4 === 1 ? 'FAILED' : 'SUCCESS',
      region: index % 4 === 1 ? 'north' : 'south',
    }));
    const others = failing.map((event) => ({
      ...event,
      subscriptionId: OTHER,
      region: 'west',
      publishStatus: 'FAILED',
    }));
    const pages = [pageOf([...failing, ...others])];
    for (const again of [undefined, pages]) {
      const questions = await ask(pages, again ? { again } : {});
      const [cause] = await questions.causes(UTC);
      expect([cause?.conditions.map(({ text }) => text), cause?.failed, cause?.events]).toEqual([
        [`${pathOf('region').text} = north`],
        10,
        10,
      ]);
      await questions.close();
    }
  });
});

describe('a subject by its name', () => {
  const byName: Given = { word: 'harbour', subject: { by: 'name', id: undefined }, nameField: 'customer' };

  test('has the events whose name has the word, of any subscription', async () => {
    const pages = [
      pageOf([
        ...own('SS', { customer: 'Harbour Freight' }),
        ...ofOther('SF', { customer: 'Harbour Tours' }),
        ...eventsOf('F', { subscriptionId: THIRD, customer: 'Hill' }),
      ]),
    ];
    const questions = await ask(pages, byName);
    const { health, ofSubscriptions, ofNames, largestOutage } = questions.result();
    expect(health).toMatchObject({ state: 'failing', failed: 1, events: 4, edge: false });
    expect(health.failingSince?.text).toBe(at(1));
    expect(ofSubscriptions).toMatchObject([
      { id: OTHER, state: 'failing' },
      { id: OWN, state: 'ok' },
    ]);
    expect(ofNames).toMatchObject([
      { name: 'Harbour Tours', failed: 1, events: 2 },
      { name: 'Harbour Freight', failed: 0, events: 2 },
    ]);
    expect(largestOutage).toBeUndefined();
    expect([...questions.receivers.result()]).toEqual([OWN, OTHER]);
  });

  test('is in the state of its worst subscription: deliveries to another end no outage', async () => {
    const later = ofOther('PPPSS', { customer: 'Harbour Tours' });
    const questions = await ask([pageOf([...own('SFF', { customer: 'Harbour Tours' }), ...later])], byName);
    const { health, largestOutage } = questions.result();
    expect(health).toMatchObject({ state: 'failing', failed: 2, events: 5, recent: 'SSFFS' });
    expect([health.failingSince?.text, largestOutage]).toEqual([at(1), undefined]);
    const alone = (await ask([pageOf(own('SFFSS', { customer: 'Harbour' }))], byName)).result();
    expect(alone.health).toMatchObject({ state: 'recovered', failingSince: undefined });
  });

  test('that is one of several names of an event is the only one named', async () => {
    const listed = await ask([pageOf(own('F', { customer: ['Hill', 'Harbour Tours'] }))], {
      ...byName,
      nameField: 'customer[]',
    });
    expect(listed.result().ofNames.map(({ name }) => name)).toEqual(['Harbour Tours']);
  });

  test('of events without a subscription has them all the same', async () => {
    const { health, ofSubscriptions } = (
      await ask([pageOf(eventsOf('F', { customer: 'Harbour' }))], byName)
    ).result();
    expect([health.events, ofSubscriptions]).toEqual([1, []]);
  });

  test('of one subscription has its largest outage', async () => {
    const { largestOutage } = (await ask([pageOf(own('SFFFSS', { customer: 'Harbour' }))], byName)).result();
    expect([largestOutage?.failed, largestOutage?.until?.text]).toEqual([3, at(4)]);
  });

  test('that no event has is doubted, if it was not found elsewhere', async () => {
    const questions = await ask([pageOf(own('F', { customer: 'Harbor Tours' }))], byName);
    expect(questions.doubts(false)).toEqual([]);
    expect(questions.doubts(true)).toEqual([
      `--subscription: no event is for 'harbour', by its ${pathOf('customer').text}; did you mean Harbor Tours? (1 event looked at)`,
    ]);
  });
});

describe('the latency of a subject', () => {
  test('is that of its own events', async () => {
    const events = [...own('SSS', { ms: 10 }), ...ofOther('SSSS', { ms: 1000 })];
    const { latency } = (await ask([pageOf(events)], { latencyField: 'ms' })).result();
    expect([latency?.field, latency?.percentiles.p50]).toEqual([pathOf('ms').text, '10']);
  });

  test('is doubted where none of its events has the field', async () => {
    const doubtsOf = async (events: object[]) =>
      (await ask([pageOf(events)], { latencyField: 'mss' })).doubts(false);
    expect(await doubtsOf([...own('S', { ms: 10 }), ...ofOther('S', { mss: 1 })])).toEqual([
      `--latency-field: no event has the field '${pathOf('mss').text}'; did you mean ${pathOf('ms').text}?`,
    ]);
    expect(await doubtsOf(own('S', { mss: 10 }))).toEqual([]);
    expect(await doubtsOf(ofOther('S', { ms: 10 }))).toEqual([]);
    expect((await ask([pageOf(own('S'))])).doubts(true)).toEqual([]);
  });
});

describe('all others', () => {
  const pages = [
    pageOf([
      ...own('SF'),
      ...ofOther('FF'),
      ...eventsOf('FSS', { subscriptionId: THIRD }),
      ...eventsOf('SS', { subscriptionId: 'fourth' }),
    ]),
  ];

  test('are counted by their subscriptions, those that failed and those that fail', async () => {
    const questions = await ask(pages);
    expect(questions.shared(undefined)).toEqual({ subscriptions: 4, withFailures: 3, failing: 2 });
    expect(questions.shared(undefined, new Set([OWN]))).toEqual({
      subscriptions: 3,
      withFailures: 2,
      failing: 1,
    });
  });

  test('are not failing if they are off, gone or not listed, where there is a list', async () => {
    const namesOf = (isListed: boolean, state?: string) =>
      ({
        isListed,
        of: (id: string) => (id === OTHER ? state && { state } : { state: 'on' }),
      }) as unknown as SubscriptionNames;
    const questions = await ask(pages);
    const failing = (isListed: boolean, state?: string) => questions.shared(namesOf(isListed, state)).failing;
    expect([failing(true, 'on'), failing(true, 'off'), failing(true), failing(false, 'off')]).toEqual([
      2, 1, 1, 2,
    ]);
  });

  test('have events, counted for some subscriptions', async () => {
    const questions = await ask(pages);
    expect(questions.countOf(new Set([OWN]))).toBe(2);
    expect(questions.countOf(new Set([OWN, THIRD, 'unknown']))).toBe(5);
    expect(questions.countOf(new Set())).toBe(0);
  });
});
