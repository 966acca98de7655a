import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type Behaviour, type Sandbox, startSandbox } from '../support/sandbox.ts';
import { authorized, rawGet, signIn } from '../support/sandbox-client.ts';

/** A page of a search, with the members in the service description (part 2). */
interface Collection {
  href: string;
  previous: string | null;
  first: string | null;
  next: string | null;
  count: number;
  limit: number;
  items: Record<string, string>[];
}

/** One event service for all tests of a file, with 1,200 events. Its behaviour is reset after each test. */
function useEventService() {
  let sandbox: Sandbox;
  let headers: Record<string, string>;
  let initial: Behaviour;
  beforeAll(async () => {
    sandbox = await startSandbox({ events: 1200, autoApprove: true, now: Date.UTC(2026, 10, 20, 12) });
    headers = authorized(sandbox, (await signIn(sandbox)).access_token);
    initial = { ...sandbox.control.behaviour };
  });
  afterEach(() => void Object.assign(sandbox.control.behaviour, initial));
  afterAll(() => sandbox.close());

  const get = (path: string, changes: Record<string, string> = {}, method = 'GET') =>
    rawGet(sandbox, path, { ...headers, ...changes }, method);
  return {
    get sandbox() {
      return sandbox;
    },
    /** The headers of a request that is signed in. */
    get headers() {
      return headers;
    },
    get,
    async json<T = Collection>(path: string): Promise<T> {
      return JSON.parse((await get(path)).body.toString()) as T;
    },
    async errorOf(path: string, changes: Record<string, string> = {}, method = 'GET') {
      const { status, body } = await get(path, changes, method);
      return { status, ...(JSON.parse(body.toString()) as { code: string; message: string }) };
    },
  };
}

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

describe('events at run time', () => {
  test('are found at once, each in its place', async () => {
    // Later than those of the other tests, which share the sandbox.
    const createdOn = '2026-11-20T12:30:00.0000001Z';
    const added = service.sandbox.control.addEvent({
      publishStatus: 'FAILED',
      eventType: 'document.signed',
      createdOn,
    });
    const page = await service.json('/integrator-events?limit(1,1)');
    expect(page.items[0]).toEqual(JSON.parse(added.json));
    const late = service.sandbox.control.addEvent({ createdOn: '2026-11-10T10:00:00.0000001Z' });
    const found = await service.json('/integrator-events?gt(createdOn,2026-11-10T10:00:00Z)&limit(1,500)');
    expect(found.items.at(-1)).toMatchObject({
      eventId: late.eventId,
      createdOn: '2026-11-10T10:00:00.0000001Z',
    });
  });

  test('change their publish status', async () => {
    const { eventId } = service.sandbox.control.addEvent({ publishStatus: 'FAILED' });
    const key = `eq(eventId,${eventId})`;
    expect(service.sandbox.control.setStatus(eventId, 'SUCCESS')).toBe(true);
    expect((await service.json(`/integrator-events?${key}&eq(publishStatus,FAILED)`)).count).toBe(0);
    const page = await service.json<{ items: unknown[] }>(
      `/integrator-events?${key}&eq(publishStatus,SUCCESS)`,
    );
    expect(page.items[0]).toMatchObject({ publishStatus: 'SUCCESS', delivery: { lastError: null } });
    expect(service.sandbox.control.setStatus('00000000-0000-4000-8000-000000000000', 'SUCCESS')).toBe(false);
  });

  test('keep coming while the sandbox runs', async () => {
    await using sandbox = await startSandbox({ events: 0, rate: 200 });
    await expect.poll(() => sandbox.control.store.size).toBeGreaterThan(3);
  });
});
