import { mkdtemp, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { readManifest, writeManifest } from '../../src/export/export-manifest.ts';
import type { Part } from '../../src/export/export-part.ts';
import { beginExport } from '../../src/export/export-plan.ts';
import { EventFilters } from '../../src/filters/event-filters.ts';
import type { FetchPage, PageAnswer } from '../../src/paging/page.ts';
import { readPage } from '../../src/paging/page.ts';
import { clock } from '../support/clock.ts';
import { sampleSize } from '../support/seed.ts';

const PAGE_SIZE = 500;
const baseUrl = new URL('https://events.example.com');
const YEAR_SECONDS = 365 * 86_400;
const MAX_EVENTS = sampleSize(100_000_000, 1_000_000_000);

/** A service that counts events which lie evenly over the last year. */
function startCounting(events: number) {
  const end = Math.floor(clock.now() / 1000);
  let asked = 0;
  const fetchPage: FetchPage = async (url): Promise<PageAnswer> => {
    asked++;
    const bound = /lt\(createdOn,([^)]+)\)/.exec(decodeURIComponent(url.search))?.[1];
    const before = bound === undefined ? end : Date.parse(bound) / 1000;
    const share = Math.min(1, Math.max(0, 1 - (end - before) / YEAR_SECONDS));
    const page = readPage(Buffer.from(`{"count":${Math.round(events * share)},"items":[]}`));
    return { page, serviceTime: clock.now() };
  };
  const signal = new AbortController().signal;
  const now = { now: () => clock.now(), sleep: async () => {} };
  const client = { baseUrl, fetchPage, pageSize: PAGE_SIZE, concurrency: () => 4, clock: now, signal };
  return { client, requests: () => asked };
}

const planOf = (events: number, partition?: 'day') => {
  const { client, requests } = startCounting(events);
  const identity = { service: baseUrl.href, filters: {}, gzip: false, partition, fileFormat: undefined };
  return beginExport(new EventFilters({}), identity, client as never).then((plan) => ({ plan, requests }));
};

const expectedOf = ({ read, expected }: Part) => (read ? Number.NaN : (expected ?? 0));

/** The sum of the offsets at which pages of that many events begin. */
const offsetsOf = (events: number) => {
  const pages = Math.ceil(events / PAGE_SIZE);
  return (PAGE_SIZE * pages * (pages - 1)) / 2;
};

test.each([
  [3_000, 1, 1],
  [100_000, 14, 28],
  [5_000_000, 140, 400],
  [MAX_EVENTS, (14 * MAX_EVENTS) / 1e6, (40 * MAX_EVENTS) / 1e6],
])('an export of %i events is planned in %i to %i parts of 75,000 at most', async (events, least, most) => {
  const { plan, requests } = await planOf(events);
  const { parts } = plan;
  expect(parts.length).toBeGreaterThanOrEqual(least);
  expect(parts.length).toBeLessThanOrEqual(most);
  const sizes = parts.map(expectedOf);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(events);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(75_000);
  expect(new Set(parts.map(({ file }) => file)).size).toBe(parts.length);
  // Each part reaches a second into the next older one.
  for (const [at, { after }] of parts.slice(0, -1).entries())
    expect((after?.seconds ?? 0) + 1).toBe(parts[at + 1]?.before.seconds);
  // A page is asked for each 500 events.
  expect(requests()).toBeLessThan(100 + events / PAGE_SIZE / 20);
});

test.each([5_000_000, 50_000_000])(
  '%i events ask for a hundredth of the offsets of plain paging',
  async (events) => {
    const { plan } = await planOf(events);
    const offsets = plan.parts.reduce((sum, part) => sum + offsetsOf(expectedOf(part)), 0);
    expect(offsets).toBeLessThan(offsetsOf(events) / 100);
  },
);

test('the manifest of very many events has a byte for a hundred of them at most, and is read as it was written', async () => {
  const { plan } = await planOf(MAX_EVENTS, 'day');
  const directory = await mkdtemp(path.join(tmpdir(), 'plan-'));
  await writeManifest(directory, plan);
  expect((await stat(path.join(directory, 'manifest.json'))).size).toBeLessThan(MAX_EVENTS / 100);
  const read = await readManifest(directory);
  expect(read?.parts).toHaveLength(plan.parts.length);
  expect(read?.parts.at(-1)).toEqual(plan.parts.at(-1));
  const days = plan.parts.filter((part) => expectedOf(part) > 0).map(({ file }) => path.dirname(file));
  expect(new Set(days).size).toBe(366);
});
