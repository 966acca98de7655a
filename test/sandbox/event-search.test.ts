import { describe, expect, test } from 'vitest';
import { type Collection, useEventService } from '../support/event-service.ts';

const service = useEventService();

describe('search', () => {
  const collection = () => `${service.sandbox.settings.baseUrl}/integrator-events`;

  test('answers with the newest 500 without a query', async () => {
    const page = await service.json('/integrator-events');
    expect({ ...page, items: page.items.length }).toEqual({
      href: `${collection()}?limit(1,500)`,
      previous: null,
      first: `${collection()}?limit(1,500)`,
      next: `${collection()}?limit(501,500)`,
      count: 1200,
      limit: 500,
      items: 500,
    });
  });

  test('leads through all pages by links that keep the filters as they were sent', async () => {
    const keys = 'gt(createdOn,2026-10-01)&eq(eventType,document%2Esigned)';
    const seen: string[] = [];
    const hrefs: string[] = [];
    let link: string | null = `${collection()}?${keys}&limit(1,30)`;
    while (link) {
      const page: Collection = await service.json(link.slice(service.sandbox.settings.baseUrl.length));
      hrefs.push(page.href.slice(collection().length));
      seen.push(...page.items.map(({ eventId }) => eventId as string));
      expect(page.items.every(({ eventType }) => eventType === 'document.signed')).toBe(true);
      link = page.next;
      if (!link) {
        expect(page.previous).toBe(
          `${collection()}?${keys}&limit(${seen.length - page.items.length - 29},30)`,
        );
        expect(seen).toHaveLength(page.count);
      }
    }
    expect(hrefs.slice(0, 2)).toEqual([`?${keys}&limit(1,30)`, `?${keys}&limit(31,30)`]);
    expect(new Set(seen).size).toBe(seen.length);
  });

  test('has no next page after the last item, and no items beyond it', async () => {
    const butOne = await service.json('/integrator-events?limit(1100,100)');
    expect(butOne.next).toBe(`${collection()}?limit(1200,100)`);
    const last = await service.json('/integrator-events?limit(1101,100)');
    expect([last.items.length, last.next]).toEqual([100, null]);
    const beyond = await service.json('/integrator-events?limit(1201,100)');
    expect({ ...beyond, href: '', first: '' }).toEqual({
      href: '',
      first: '',
      previous: `${collection()}?limit(1101,100)`,
      next: null,
      count: 1200,
      limit: 100,
      items: [],
    });
  });

  test('compares creation times strictly', async () => {
    const [event] = (await service.json('/integrator-events?limit(600,1)')).items as [Record<string, string>];
    const { createdOn } = event;
    const count = async (query: string) =>
      (await service.json(`/integrator-events?${query}&limit(1,1)`)).count;
    const after = await count(`gt(createdOn,${createdOn})`);
    const before = await count(`lt(createdOn,${createdOn})`);
    expect(await count(`gt(createdOn,${createdOn})&lt(createdOn,${createdOn})`)).toBe(0);
    expect(1200 - after - before).toBeGreaterThanOrEqual(1);
    expect(await count(`gt(createdOn,${createdOn?.replace('Z', '1Z')})`)).toBe(after);
    expect(await count(`lt(createdOn,${createdOn?.replace('Z', '1Z')})`)).toBe(1200 - after);
  });

  test('finds one event by its id, in either case, unless another filter excludes it', async () => {
    const [event] = (await service.json('/integrator-events?limit(7,1)')).items as [Record<string, string>];
    const key = `eq(eventId,${event['eventId']?.toUpperCase()})`;
    expect((await service.json(`/integrator-events?${key}`)).items).toEqual([event]);
    const other = event['publishStatus'] === 'FAILED' ? 'SUCCESS' : 'FAILED';
    expect((await service.json(`/integrator-events?${key}&eq(publishStatus,${other})`)).count).toBe(0);
    expect((await service.json(`/integrator-events?${key}&lt(createdOn,${event['createdOn']})`)).count).toBe(
      0,
    );
  });

  test('counts by status, subscription and type add up to the total', async () => {
    const count = async (key: string) => (await service.json(`/integrator-events?${key}&limit(1,1)`)).count;
    expect((await count('eq(publishStatus,SUCCESS)')) + (await count('eq(publishStatus,FAILED)'))).toBe(1200);
    const ids = (
      await Promise.all([1, 501, 1001].map((start) => service.json(`/integrator-events?limit(${start},500)`)))
    ).flatMap(({ items }) => items.map((item) => String(item['subscriptionId'])));
    const counts = [...new Set(ids)].map((id) => count(`eq(subscriptionId,${id})`));
    expect((await Promise.all(counts)).reduce((sum, one) => sum + one, 0)).toBe(1200);
    expect(await count('eq(eventType,no.such.type)')).toBe(0);
  });

  test('gives the time of the service', async () => {
    const date = async () => (await service.get('/event-types')).headers['date'];
    expect(await date()).toBe('Fri, 20 Nov 2026 12:00:00 GMT');
    service.sandbox.control.behaviour.clockOffsetMs = 3_600_000;
    expect(await date()).toBe('Fri, 20 Nov 2026 13:00:00 GMT');
  });
});
