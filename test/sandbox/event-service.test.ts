import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Sandbox, startSandbox } from '../support/sandbox.ts';
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

let sandbox: Sandbox;
/** The headers of a request that is signed in. */
let headers: Record<string, string>;
beforeAll(async () => {
  // The published shape has a file of its own. What a query finds is the same in both.
  const now = Date.UTC(2026, 10, 20, 12);
  sandbox = await startSandbox({ shape: 'flat', events: 1200, autoApprove: true, now });
  headers = authorized(sandbox, (await signIn(sandbox)).access_token);
});
afterAll(() => sandbox.close());

const get = (path: string, changes: Record<string, string> = {}, method = 'GET') =>
  rawGet(sandbox, path, { ...headers, ...changes }, method);
const json = async (path: string): Promise<Collection> => JSON.parse((await get(path)).body.toString());
async function errorOf(path: string, changes: Record<string, string> = {}) {
  const { status, body } = await get(path, changes);
  return { status, ...(JSON.parse(body.toString()) as { code: string; message: string }) };
}

describe('what a request must carry', () => {
  test('is a bearer token', async () => {
    const without = await rawGet(sandbox, '/event-types', {
      accept: headers['accept'] as string,
    });
    expect(without.status).toBe(401);
    expect(without.headers['www-authenticate']).toBe('Bearer realm="event service"');
    expect(JSON.parse(without.body.toString())).toMatchObject({ code: 'authorization.missing_token' });
    const wrong = await get('/event-types', { authorization: 'Bearer nonsense' });
    expect(wrong.status).toBe(401);
    expect(wrong.headers['www-authenticate']).toBe('Bearer realm="event service", error="invalid_token"');
  });

  test('is a token whose signature holds', async () => {
    const [head, payload] = (headers['authorization'] as string).split('.') as [string, string];
    const forged = `${head}.${payload}.${'A'.repeat(86)}`;
    expect(await errorOf('/event-types', { authorization: forged })).toMatchObject({
      status: 401,
      code: 'authorization.invalid_token',
    });
  });

  test('is a token with the scope event_api', async () => {
    const { access_token } = await signIn(sandbox, { scope: 'offline_access' });
    const { status, headers: answered } = await get('/event-types', {
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
    const error = await errorOf('/event-types', { accept });
    expect(error).toMatchObject({ status: 406, code: 'version.not_acceptable' });
    expect(error.message).toContain('application/vnd.sandbox.v1+json');
  });

  test.each(['application/vnd.sandbox.v1+json', 'text/html, Application/Vnd.Sandbox.V1+JSON; q=0.5'])(
    'may name the version among others: %s',
    async (accept) => {
      expect((await get('/event-types', { accept })).status).toBe(200);
    },
  );

  test('is the method GET', async () => {
    const { status, headers: answered } = await get('/event-types', {}, 'POST');
    expect([status, answered['allow']]).toEqual([405, 'GET']);
  });

  test('is a path that exists', async () => {
    for (const path of ['/', '/events', '/event-types/', '/EVENT-TYPES']) {
      expect(await errorOf(path)).toMatchObject({ status: 404, code: 'path.not_found' });
    }
    expect((await rawGet(sandbox, '/../../elsewhere', headers)).status).toBe(404);
  });

  test('is only query keys that the operation knows', async () => {
    expect(await errorOf('/event-types?limit(1,5)')).toMatchObject({
      status: 400,
      code: 'event_type.unknown_parameter',
    });
    expect(await errorOf('/integrator-events?publishStatus=FAILED')).toMatchObject({
      status: 400,
      code: 'event.malformed_parameter',
    });
  });
});

test('requests beyond the rate limit get 429', async () => {
  await using limited = await startSandbox({ events: 0, autoApprove: true });
  const given = authorized(limited, (await signIn(limited)).access_token);
  limited.control.behaviour.rateLimit = 3;
  const answers = await Promise.all(Array.from({ length: 8 }, () => rawGet(limited, '/event-types', given)));
  const refused = answers.filter(({ status }) => status === 429);
  expect(refused.length).toBeGreaterThanOrEqual(2);
  expect(refused[0]?.headers['retry-after']).toBe('1');
});

describe('event types', () => {
  test('are a collection with names and descriptions', async () => {
    const { href, count, items } = await json('/event-types');
    expect(href).toBe(`${sandbox.settings.baseUrl}/event-types`);
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
  const collection = () => `${sandbox.settings.baseUrl}/integrator-events`;

  test('answers with the newest 500 without a query', async () => {
    const page = await json('/integrator-events');
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
      const page: Collection = await json(link.slice(sandbox.settings.baseUrl.length));
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
    const butOne = await json('/integrator-events?limit(1100,100)');
    expect(butOne.next).toBe(`${collection()}?limit(1200,100)`);
    const last = await json('/integrator-events?limit(1101,100)');
    expect([last.items.length, last.next]).toEqual([100, null]);
    const beyond = await json('/integrator-events?limit(1201,100)');
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

  test('finds one event by its id, in either case, unless another filter excludes it', async () => {
    const [event] = (await json('/integrator-events?limit(7,1)')).items as [Record<string, string>];
    const key = `eq(eventId,${event['eventId']?.toUpperCase()})`;
    expect((await json(`/integrator-events?${key}`)).items).toEqual([event]);
    const other = event['publishStatus'] === 'FAILED' ? 'SUCCESS' : 'FAILED';
    expect((await json(`/integrator-events?${key}&eq(publishStatus,${other})`)).count).toBe(0);
    expect((await json(`/integrator-events?${key}&lt(createdOn,${event['createdOn']})`)).count).toBe(0);
  });
});
