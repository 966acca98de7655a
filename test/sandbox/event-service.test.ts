import { gunzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Behaviour } from '../../src/sandbox/behaviour.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import { authorized, rawGet, signIn } from '../support/sandbox-client.ts';

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

async function json<T = Collection>(path: string): Promise<T> {
  return JSON.parse((await get(path)).body.toString()) as T;
}

async function errorOf(path: string, changes: Record<string, string> = {}, method = 'GET') {
  const { status, body } = await get(path, changes, method);
  return { status, ...(JSON.parse(body.toString()) as { code: string; message: string }) };
}

describe('what a request must carry', () => {
  it('is a bearer token', async () => {
    const without = await rawGet(sandbox, '/event-types', { accept: headers['accept'] as string });
    expect(without.status).toBe(401);
    expect(without.headers['www-authenticate']).toBe('Bearer realm="event service"');
    expect(JSON.parse(without.body.toString())).toMatchObject({ code: 'authorization.missing_token' });
    const wrong = await get('/event-types', { authorization: 'Bearer nonsense' });
    expect(wrong.status).toBe(401);
    expect(wrong.headers['www-authenticate']).toBe('Bearer realm="event service", error="invalid_token"');
  });

  it('is a token whose signature holds', async () => {
    const [head, payload] = (headers['authorization'] as string).split('.') as [string, string];
    const forged = `${head}.${payload}.${'A'.repeat(86)}`;
    expect(await errorOf('/event-types', { authorization: forged })).toMatchObject({
      status: 401,
      code: 'authorization.invalid_token',
    });
  });

  it('is a token with the scope event_api', async () => {
    const { access_token } = await signIn(sandbox, { scope: 'offline_access' });
    const { status, headers: answered } = await get('/event-types', {
      authorization: `Bearer ${access_token}`,
    });
    expect(status).toBe(403);
    expect(answered['www-authenticate']).toContain('error="insufficient_scope", scope="event_api"');
  });

  it.each([
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

  it.each(['application/vnd.sandbox.v1+json', 'text/html, Application/Vnd.Sandbox.V1+JSON; q=0.5'])(
    'may name the version among others: %s',
    async (accept) => {
      expect((await get('/event-types', { accept })).status).toBe(200);
    },
  );

  it('is the method GET', async () => {
    const { status, headers: answered } = await get('/event-types', {}, 'POST');
    expect([status, answered['allow']]).toEqual([405, 'GET']);
  });

  it('is a path that exists', async () => {
    for (const path of ['/', '/events', '/event-types/', '/EVENT-TYPES']) {
      expect(await errorOf(path)).toMatchObject({ status: 404, code: 'path.not_found' });
    }
    expect((await rawGet(sandbox, '/../../elsewhere', headers)).status).toBe(404);
  });

  it('is no query that the operation does not know', async () => {
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

describe('event types', () => {
  it('are a collection with names and descriptions', async () => {
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

  it('answers the newest 500 when nothing is asked for', async () => {
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

  it('leads through all pages by links that keep the filters as they were sent', async () => {
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

  it('has no next page after the last item, nor items beyond it', async () => {
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

  it('compares creation times strictly', async () => {
    const [event] = (await json('/integrator-events?limit(600,1)')).items as [Record<string, string>];
    const { createdOn } = event;
    const count = async (query: string) => (await json(`/integrator-events?${query}&limit(1,1)`)).count;
    const after = await count(`gt(createdOn,${createdOn})`);
    const before = await count(`lt(createdOn,${createdOn})`);
    expect(await count(`gt(createdOn,${createdOn})&lt(createdOn,${createdOn})`)).toBe(0);
    expect(1200 - after - before).toBeGreaterThanOrEqual(1);
    expect(await count(`gt(createdOn,${createdOn?.replace('Z', '1Z')})`)).toBe(after);
    expect(await count(`lt(createdOn,${createdOn?.replace('Z', '1Z')})`)).toBe(1200 - after);
  });

  it('finds one event by its id, in either case, unless another filter excludes it', async () => {
    const [event] = (await json('/integrator-events?limit(7,1)')).items as [Record<string, string>];
    const key = `eq(eventId,${event['eventId']?.toUpperCase()})`;
    expect((await json(`/integrator-events?${key}`)).items).toEqual([event]);
    const other = event['publishStatus'] === 'FAILED' ? 'SUCCESS' : 'FAILED';
    expect((await json(`/integrator-events?${key}&eq(publishStatus,${other})`)).count).toBe(0);
    expect((await json(`/integrator-events?${key}&lt(createdOn,${event['createdOn']})`)).count).toBe(0);
  });

  it('counts statuses, subscriptions and types so that the parts make the whole', async () => {
    const count = async (key: string) => (await json(`/integrator-events?${key}&limit(1,1)`)).count;
    expect((await count('eq(publishStatus,SUCCESS)')) + (await count('eq(publishStatus,FAILED)'))).toBe(1200);
    const subscriptions = sandbox.control.subscriptions.map(({ id }) => count(`eq(subscriptionId,${id})`));
    expect((await Promise.all(subscriptions)).reduce((sum, one) => sum + one, 0)).toBe(1200);
    expect(await count('eq(eventType,no.such.type)')).toBe(0);
  });

  it('tells the time of the service', async () => {
    const { date } = (await get('/event-types')).headers;
    expect(Math.abs(Date.parse(String(date)) - Date.now())).toBeLessThan(10_000);
    sandbox.control.behaviour.clockOffsetMs = 3_600_000;
    const ahead = (await get('/event-types')).headers['date'];
    expect(Date.parse(String(ahead)) - Date.now()).toBeGreaterThan(3_500_000);
  });
});

describe('what the service description leaves open', () => {
  it('compresses only where it is told to, and for who accepts it', async () => {
    const plain = await get('/event-types', { 'accept-encoding': 'gzip' });
    expect(plain.headers['content-encoding']).toBeUndefined();
    sandbox.control.behaviour.compress = true;
    const compressed = await get('/event-types', { 'accept-encoding': 'br, gzip' });
    expect(compressed.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(compressed.body)).toEqual(plain.body);
    expect((await get('/event-types')).body).toEqual(plain.body);
  });

  it('leaves out members and caps pages', async () => {
    Object.assign(sandbox.control.behaviour, { omit: ['count', 'previous'], maxPageSize: 100 });
    const page = await json('/integrator-events?limit(1,500)');
    expect(Object.keys(page)).toEqual(['href', 'first', 'next', 'limit', 'items']);
    expect([page.limit, page.items.length]).toEqual([100, 100]);
    expect(page.next).toBe(`${sandbox.settings.baseUrl}/integrator-events?limit(101,100)`);
    sandbox.control.behaviour.omit = ['href', 'previous', 'first', 'next', 'count', 'limit'];
    expect(Object.keys(await json('/integrator-events'))).toEqual(['items']);
    sandbox.control.behaviour.omit = ['items'];
    expect(Object.keys(await json('/integrator-events'))).not.toContain('items');
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
    sandbox.control.behaviour.links = links;
    const { next } = await json('/integrator-events');
    if (expected instanceof RegExp) expect(next).toMatch(expected);
    else expect(next).toBe(expected);
  });

  it('indents without touching the values', async () => {
    const compact = (await get('/integrator-events?limit(1,20)')).body.toString();
    sandbox.control.behaviour.pretty = true;
    const pretty = (await get('/integrator-events?limit(1,20)')).body.toString();
    expect(pretty.split('\n').length).toBeGreaterThan(100);
    expect(pretty).toContain('"version": 1.10');
    expect(JSON.stringify(JSON.parse(pretty))).toBe(JSON.stringify(JSON.parse(compact)));
    const bare = (text: string) => text.replace(/("(?:[^"\\]|\\.)*")|\s+/g, '$1');
    expect(bare(pretty)).toBe(compact);
  });

  it('takes turns with its clients: requests beyond the limit get 429', async () => {
    sandbox.control.behaviour.rateLimit = 3;
    const answers = await Promise.all(Array.from({ length: 8 }, () => get('/event-types')));
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused.length).toBeGreaterThanOrEqual(2);
    expect(refused[0]?.headers['retry-after']).toBe('1');
    sandbox.control.behaviour.retryAfter = false;
    const more = await Promise.all(Array.from({ length: 8 }, () => get('/event-types')));
    expect(more.find(({ status }) => status === 429)?.headers['retry-after']).toBeUndefined();
  });
});

describe('events at run time', () => {
  it('are found at once, each at its place', async () => {
    const added = sandbox.control.addEvent({ publishStatus: 'FAILED', eventType: 'document.signed' });
    const page = await json('/integrator-events?limit(1,1)');
    expect(page.items[0]).toEqual(JSON.parse(added.json));
    const late = sandbox.control.addEvent({ createdOn: '2026-11-10T10:00:00.0000001Z' });
    const found = await json('/integrator-events?gt(createdOn,2026-11-10T10:00:00Z)&limit(1,500)');
    expect(found.items.at(-1)).toMatchObject({
      eventId: late.eventId,
      createdOn: '2026-11-10T10:00:00.0000001Z',
    });
  });

  it('may show any text', async () => {
    const text = '{"eventId":1e400,"a":1,"a":2,"s":"\\u001b[31m <script>"}';
    const { eventId } = sandbox.control.addEvent({ json: text });
    expect((await get(`/integrator-events?eq(eventId,${eventId})`)).body.toString()).toContain(
      `"items":[${text}]`,
    );
  });

  it('change their publish status', async () => {
    const { eventId } = sandbox.control.addEvent({ publishStatus: 'FAILED' });
    const key = `eq(eventId,${eventId})`;
    expect(sandbox.control.setStatus(eventId, 'SUCCESS')).toBe(true);
    expect((await json(`/integrator-events?${key}&eq(publishStatus,FAILED)`)).count).toBe(0);
    const page = await json<{ items: unknown[] }>(`/integrator-events?${key}&eq(publishStatus,SUCCESS)`);
    expect(page.items[0]).toMatchObject({ publishStatus: 'SUCCESS', delivery: { lastError: null } });
    expect(sandbox.control.setStatus('00000000-0000-4000-8000-000000000000', 'SUCCESS')).toBe(false);
  });

  it('keep coming while the sandbox lives', async () => {
    const before = sandbox.control.store.size;
    const stop = sandbox.control.startLive(200, () => ({ publishStatus: 'FAILED' }));
    await expect.poll(() => sandbox.control.store.size).toBeGreaterThan(before + 3);
    stop();
  });
});
