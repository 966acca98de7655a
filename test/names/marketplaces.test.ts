import { expect, test } from 'vitest';
import { Items } from '../../src/items/items.ts';
import { MarketplaceMix } from '../../src/names/marketplaces.ts';

type EventWith = (headers: unknown) => unknown;

const flat: EventWith = (headers) => ({ eventId: 'e', headers });
const published: EventWith = (headers) => ({ subscriptionId: 's', eventData: { eventId: 'e', headers } });
const pageOf = (events: readonly unknown[]) =>
  Items.of(events.map((event) => Buffer.from(JSON.stringify(event))));

for (const [shape, eventWith] of [
  ['flat', flat],
  ['published', published],
] as const) {
  const mixOf = (...pages: readonly (readonly unknown[])[]) => {
    const mix = new MarketplaceMix();
    for (const page of pages) mix.see(pageOf(page.map(eventWith)));
    return mix.ids;
  };
  const live = { marketplaceIds: ['1'] };
  const both = { marketplaceIds: ['1', '2'] };
  const trial = { marketplaceIds: ['2'] };

  test(`events of several marketplaces are found on whatever page they are, ${shape}`, () => {
    expect(mixOf([live, live], [live], [live, trial])).toEqual(['1', '2']);
    expect(mixOf([live], [trial])).toEqual(['1', '2']);
    expect(mixOf([trial], [live])).toEqual(['1', '2']);
    expect(mixOf([])).toBeUndefined();
    expect(mixOf([both], [both, live], [live])).toBeUndefined();
    expect(mixOf([both, live], [both], [trial])).toEqual(['1', '2']);
    expect(mixOf([{}], [live], [{ marketplaceIds: [] }], [{ marketplaceIds: '["2"]' }])).toEqual(['1', '2']);
    expect(mixOf([{}], [live], [JSON.stringify(trial)])).toEqual(['1', '2']);
  });

  test(`a list of marketplaces in another place than the event's headers does not count, ${shape}`, () => {
    expect(mixOf([live], [{ ...live, note: 'marketplaceIds' }, { note: trial }])).toBeUndefined();
  });
}
