import { readFile } from 'node:fs/promises';
import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { addFilterFlags, eventFilters, FILTER_FLAGS } from '../../src/filters/filter-flags.ts';
import { filterKeys } from '../../src/items/filter-keys.ts';
import { Items } from '../../src/items/items.ts';
import { queryString } from '../../src/paging/event-query.ts';
import { parseQuery } from '../../src/sandbox/service/query-keys.ts';
import { createMatcher } from '../../src/sources/stored-matches.ts';

const GUID = '0f8fad5b-d9cb-469f-a165-70867728950e';
const NOW = Date.parse('2026-11-20T12:00:00Z');

describe.each(filterKeys)('the key $field', ({ field, flag, kind, words }) => {
  const value = words?.[0] ?? (kind === 'guid' ? GUID : 'a.b');
  const filters = eventFilters({ [flag]: [value] }, NOW);

  test('is asked for by its flag', () => {
    expect(filters.queries(NOW).map((query) => queryString(query))).toEqual([`eq(${field},${value})`]);
  });

  test('is known to the sandbox', () => {
    expect(parseQuery(`eq(${field},${value})`).filter).toEqual({ [field]: value });
  });

  test('is described by hooktrail help filters', async () => {
    expect(await readFile('docs/help/filters.txt', 'utf8')).toMatch(new RegExp(`^  --${flag} `, 'm'));
  });

  test('is given on to other commands, exports and watches', () => {
    expect(filters.words()).toEqual([`--${flag}`, value]);
    expect(filters.typed()).toEqual({ [flag]: [value] });
    expect(filters.constantFields).toEqual(new Set([field]));
  });

  test('is matched with stored events in both places that its field may have', () => {
    const flat = [
      { eventId: GUID, [field]: value },
      { eventId: 'b', ...(field === 'eventId' ? {} : { [field]: 'c' }) },
    ];
    const nested = flat.map((event) => ({ event }));
    const match = createMatcher(filters.queries(NOW), filters.eventTypes);
    for (const items of [flat, nested]) {
      const { kept } = match(Items.of(items.map((item) => Buffer.from(JSON.stringify(item)))));
      expect(kept.texts().map(String)).toEqual([JSON.stringify(items[0])]);
    }
  });
});

test('each flag that gives a filter is among those that a command passes on, but --failed', () => {
  const flags = addFilterFlags(new Command()).options.map((option) => option.attributeName());
  expect(new Set(flags)).toEqual(new Set([...FILTER_FLAGS, 'failed', 'timezone']));
});
