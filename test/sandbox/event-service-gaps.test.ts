import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { useEventService } from '../support/event-service.ts';

const service = useEventService();

describe('what the service description leaves open', () => {
  it('compresses only if configured to, and only for clients that accept it', async () => {
    const plain = await service.get('/event-types', { 'accept-encoding': 'gzip' });
    expect(plain.headers['content-encoding']).toBeUndefined();
    service.sandbox.control.behaviour.compress = true;
    const compressed = await service.get('/event-types', { 'accept-encoding': 'br, gzip' });
    expect(compressed.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(compressed.body)).toEqual(plain.body);
    expect((await service.get('/event-types')).body).toEqual(plain.body);
  });

  it('leaves out members and caps pages', async () => {
    Object.assign(service.sandbox.control.behaviour, { omit: ['count', 'previous'], maxPageSize: 100 });
    const page = await service.json('/integrator-events?limit(1,500)');
    expect(Object.keys(page)).toEqual(['href', 'first', 'next', 'limit', 'items']);
    expect([page.limit, page.items.length]).toEqual([100, 100]);
    expect(page.next).toBe(`${service.sandbox.settings.baseUrl}/integrator-events?limit(101,100)`);
    service.sandbox.control.behaviour.omit = ['href', 'previous', 'first', 'next', 'count', 'limit'];
    expect(Object.keys(await service.json('/integrator-events'))).toEqual(['items']);
    service.sandbox.control.behaviour.omit = ['items'];
    expect(Object.keys(await service.json('/integrator-events'))).not.toContain('items');
  });

  it.each([
    ['relative', '/events/v1/integrator-events?limit(501,500)'],
    ['query-only', '?limit(501,500)'],
    ['other-origin', 'http://other.invalid/events/v1/integrator-events?limit(501,500)'],
    ['loop', /\?limit\(1,500\)$/],
    [
      'user-info',
      /^http:\/\/user:password@127\.0\.0\.1:\d+\/events\/v1\/integrator-events\?limit\(501,500\)$/,
    ],
    ['none', null],
  ] as const)('writes links as %s', async (links, expected) => {
    service.sandbox.control.behaviour.links = links;
    const { next } = await service.json('/integrator-events');
    if (expected instanceof RegExp) expect(next).toMatch(expected);
    else expect(next).toBe(expected);
  });

  it('indents without touching the values', async () => {
    const compact = (await service.get('/integrator-events?limit(1,20)')).body.toString();
    service.sandbox.control.behaviour.pretty = true;
    const pretty = (await service.get('/integrator-events?limit(1,20)')).body.toString();
    expect(pretty.split('\n').length).toBeGreaterThan(100);
    expect(pretty).toContain('"version": 1.10');
    expect(JSON.stringify(JSON.parse(pretty))).toBe(JSON.stringify(JSON.parse(compact)));
    const bare = (text: string) => text.replace(/("(?:[^"\\]|\\.)*")|\s+/g, '$1');
    expect(bare(pretty)).toBe(compact);
  });

  it('limits the rate: requests beyond the limit get 429', async () => {
    service.sandbox.control.behaviour.rateLimit = 3;
    const answers = await Promise.all(Array.from({ length: 8 }, () => service.get('/event-types')));
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThanOrEqual(2);
    expect(refused[0]?.headers['retry-after']).toBe('1');
    service.sandbox.control.behaviour.retryAfter = false;
    const more = await Promise.all(Array.from({ length: 8 }, () => service.get('/event-types')));
    expect(more.find(({ status }) => status === 429)?.headers['retry-after']).toBeUndefined();
  });
});
