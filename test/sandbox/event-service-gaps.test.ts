import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { useEventService } from '../support/event-service.ts';

const service = useEventService();

describe('what the service description leaves open', () => {
  test('compresses only if configured to, and only for clients that accept it', async () => {
    const plain = await service.get('/event-types', { 'accept-encoding': 'gzip' });
    expect(plain.headers['content-encoding']).toBeUndefined();
    service.sandbox.control.behaviour.compress = true;
    const compressed = await service.get('/event-types', { 'accept-encoding': 'br, gzip' });
    expect(compressed.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(compressed.body)).toEqual(plain.body);
    expect((await service.get('/event-types')).body).toEqual(plain.body);
  });

  test('limits the rate: requests beyond the limit get 429', async () => {
    service.sandbox.control.behaviour.rateLimit = 3;
    const answers = await Promise.all(Array.from({ length: 8 }, () => service.get('/event-types')));
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThanOrEqual(2);
    expect(refused[0]?.headers['retry-after']).toBe('1');
  });
});
