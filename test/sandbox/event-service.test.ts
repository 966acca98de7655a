import { describe, expect, test } from 'vitest';
import { useEventService } from '../support/event-service.ts';
import { rawGet, signIn } from '../support/sandbox-client.ts';

const service = useEventService();

describe('what a request must carry', () => {
  test('is a bearer token', async () => {
    const without = await rawGet(service.sandbox, '/event-types', {
      accept: service.headers['accept'] as string,
    });
    expect(without.status).toBe(401);
    expect(without.headers['www-authenticate']).toBe('Bearer realm="event service"');
    expect(JSON.parse(without.body.toString())).toMatchObject({ code: 'authorization.missing_token' });
    const wrong = await service.get('/event-types', { authorization: 'Bearer nonsense' });
    expect(wrong.status).toBe(401);
    expect(wrong.headers['www-authenticate']).toBe('Bearer realm="event service", error="invalid_token"');
  });

  test('is a token whose signature holds', async () => {
    const [head, payload] = (service.headers['authorization'] as string).split('.') as [string, string];
    const forged = `${head}.${payload}.${'A'.repeat(86)}`;
    expect(await service.errorOf('/event-types', { authorization: forged })).toMatchObject({
      status: 401,
      code: 'authorization.invalid_token',
    });
  });

  test('is a token with the scope event_api', async () => {
    const { access_token } = await signIn(service.sandbox, { scope: 'offline_access' });
    const { status, headers: answered } = await service.get('/event-types', {
      authorization: `Bearer ${access_token}`,
    });
    expect(status).toBe(403);
    expect(answered['www-authenticate']).toContain('error="insufficient_scope", scope="event_api"');
  });

  test.each([
    '*/*',
    'application/json',
    'application/vnd.sandbox.v2+json',
    'application/vnd.other.v1+json',
    'application/vnd.sandbox.v1+json;q=0',
    '',
  ])('is an Accept header with the version: 406 for "%s"', async (accept) => {
    const error = await service.errorOf('/event-types', { accept });
    expect(error).toMatchObject({ status: 406, code: 'version.not_acceptable' });
    expect(error.message).toContain('application/vnd.sandbox.v1+json');
  });

  test.each(['application/vnd.sandbox.v1+json', 'text/html, Application/Vnd.Sandbox.V1+JSON; q=0.5'])(
    'may name the version among others: %s',
    async (accept) => {
      expect((await service.get('/event-types', { accept })).status).toBe(200);
    },
  );

  test('is the method GET', async () => {
    const { status, headers: answered } = await service.get('/event-types', {}, 'POST');
    expect([status, answered['allow']]).toEqual([405, 'GET']);
  });

  test('is a path that exists', async () => {
    for (const path of ['/', '/events', '/event-types/', '/EVENT-TYPES']) {
      expect(await service.errorOf(path)).toMatchObject({ status: 404, code: 'path.not_found' });
    }
    expect((await rawGet(service.sandbox, '/../../elsewhere', service.headers)).status).toBe(404);
  });

  test('is only query keys that the operation knows', async () => {
    expect(await service.errorOf('/event-types?limit(1,5)')).toMatchObject({
      status: 400,
      code: 'event_type.unknown_parameter',
    });
    expect(await service.errorOf('/integrator-events?publishStatus=FAILED')).toMatchObject({
      status: 400,
      code: 'event.malformed_parameter',
    });
  });
});

test('requests beyond the rate limit get 429', async () => {
  service.sandbox.control.behaviour.rateLimit = 3;
  const answers = await Promise.all(Array.from({ length: 8 }, () => service.get('/event-types')));
  const refused = answers.filter(({ status }) => status === 429);
  expect(refused.length).toBeGreaterThanOrEqual(2);
  expect(refused[0]?.headers['retry-after']).toBe('1');
});

describe('event types', () => {
  test('are a collection with names and descriptions', async () => {
    const { href, count, items } = await service.json('/event-types');
    expect(href).toBe(`${service.sandbox.settings.baseUrl}/event-types`);
    expect([count, items.length]).toEqual([20, 20]);
    expect(items[2]).toEqual({
      name: 'document.signed',
      description: 'A recipient signed a document.',
      category: 'document',
      version: '1.0',
    });
  });
});
