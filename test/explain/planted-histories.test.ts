import { describe, expect, test } from 'vitest';
import { parseCondition } from '../../src/items/item-conditions.ts';
import { itemFilter } from '../../src/items/item-filter.ts';
import { drawnCases, sampleSize } from '../support/seed.ts';
import { explainItems } from './explained.ts';
import { historyOf, KINDS, type Scenario } from './planted-causes.ts';

/** A run takes one history of some kinds, `npm run faults` all histories of all kinds. */
const SEEDS = [1, 2, 3, 4, 5];
/** The same of histories without a cause. */
const SEEDS_OF_CHANCE = Array.from({ length: 40 }, (_, seed) => seed);

describe('a planted cause', () => {
  const scenario = (kind: Scenario['kind'], seed: number): Scenario => ({
    kind,
    seed,
    events: [1200, 1500, 900][seed % 3] as number,
    rate: [0.5, 0.7, 0.9][seed % 3] as number,
    background: [0.01, 0.02, 0.04][seed % 3] as number,
    decoys: seed % 2 === 0,
    effects: seed % 4 < 2,
  });
  const kinds = drawnCases('kinds', sampleSize(4, 10), KINDS);
  const cases = kinds.flatMap((kind) => drawnCases(kind, 1, SEEDS).map((seed) => ({ kind, seed })));

  test.each(cases)(
    '$kind (seed $seed) is named, nothing but what was planted, with the counts of its conditions as --where',
    ({ kind, seed }) => {
      const history = historyOf(scenario(kind, seed));
      const { causes } = explainItems(history.items);
      const planted = history.causes.map(({ fields }) => [...fields].sort());
      const found = causes.map(({ conditions, same }) => ({
        fields: [...new Set(conditions.map(({ field }) => field))].sort(),
        same: same.map(({ field }) => field),
      }));
      expect(found.length).toBe(planted.length);
      for (const { fields, same } of found) {
        // Of several fields that say the same, any may be the name.
        const isMeant = (names: readonly string[]) =>
          names.length === fields.length && names.every((name) => [...fields, ...same].includes(name));
        expect(planted.some(isMeant), fields.join(' and ')).toBe(true);
      }
      const [cause] = causes;
      const keep = itemFilter(
        (cause?.conditions ?? []).map(({ text }) => parseCondition(text, '--where', 0)),
        [],
      );
      const failed = itemFilter([parseCondition('publishStatus = FAILED', '--where', 0)], []);
      const kept = keep(history.items);
      expect([kept.count, failed(kept).count]).toEqual([cause?.events, cause?.failed]);
    },
  );
});

test.each(drawnCases('chance', sampleSize(2, 4), SEEDS_OF_CHANCE))('chance (seed %i) is no cause', (seed) => {
  const { items } = historyOf({
    kind: 'chance',
    seed,
    events: 600,
    rate: 0,
    background: [0.01, 0.05, 0.2, 0.5][seed % 4] as number,
    decoys: false,
    effects: seed % 2 === 0,
  });
  expect(explainItems(items).causes).toEqual([]);
});
