import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { forEachTest } from '../support/each-test.ts';
import { startHandler } from '../support/handler.ts';
import { type Sandbox, startSandbox } from '../support/sandbox.ts';
import { accessTokenOf, authorized, rawGet } from '../support/sandbox-client.ts';
import { ask, type PlainAnswer } from '../support/server.ts';

const MEDIA_TYPE = 'application/vnd.sandbox.v1+json';
const NOW = Date.UTC(2026, 10, 20, 12);

let sandbox: Sandbox;
let headers: Record<string, string>;
beforeAll(async () => {
  sandbox = await startSandbox({ shape: 'published', events: 300, autoApprove: true, now: NOW });
  headers = authorized(sandbox, await accessTokenOf(sandbox));
});
afterAll(() => sandbox.close());

const get = (path: string, changes: Record<string, string> = {}) =>
  rawGet(sandbox, path, { ...headers, ...changes });
const parsed = ({ body }: PlainAnswer) => JSON.parse(body.toString());

/** Sends a request with a body of the service's media type to the sandbox of `at`. */
function send(
  method: string,
  path: string,
  value: unknown,
  changes: Record<string, string> = {},
  at = { sandbox, headers },
): Promise<PlainAnswer> {
  const { baseUrl } = at.sandbox.settings;
  const target = new URL(baseUrl).pathname + path;
  const body = typeof value === 'string' ? value : JSON.stringify(value);
  const all = { ...at.headers, 'content-type': MEDIA_TYPE, ...changes };
  return ask(baseUrl, { method, target, headers: all, body });
}

describe('the published shape', () => {
  test('has event types with a description', async () => {
    const { items, count } = parsed(await get('/event-types'));
    expect(count).toBe(20);
    expect(items[2]).toEqual({
      eventType: 'document.signed',
      description: 'A recipient signed a document.',
    });
  });

  test('has links with limits, and items with the event inside', async () => {
    const page = parsed(await get('/integrator-events?limit(6,1)'));
    const link = `${sandbox.settings.baseUrl}/integrator-events`;
    expect(page).toMatchObject({ href: `${link}?limit(6,1)`, next: `${link}?limit(7,1)`, count: 300 });
    const [item] = page.items;
    expect(item.eventData.headers.subscriptionId).toBe(item.subscriptionId);
    const byId = parsed(await get(`/integrator-events?eq(eventId,${item.eventData.eventId})`));
    expect(byId.items).toEqual([item]);
  });

  test('lists errors', async () => {
    const answer = await get('/integrator-events?eq(eventId,nonsense)');
    expect([answer.status, parsed(answer)]).toEqual([
      400,
      {
        errors: [
          {
            code: 'event.invalid_value',
            description: "'nonsense' is not a GUID",
            property: 'eventId',
            properties: {},
          },
        ],
      },
    ]);
    const unauthorized = await rawGet(sandbox, '/event-types', {});
    expect(parsed(unauthorized).errors[0].code).toBe('authorization.missing_token');
  });

  test('has random faults that list errors too', async () => {
    await using other = await startSandbox({ shape: 'published', events: 1, rateLimit: 1 });
    await rawGet(other, '/event-types');
    expect(parsed(await rawGet(other, '/event-types')).errors[0].code).toBe('request.rate_limited');
  });

  test('belongs to services with subscriptions, which a flat one has not', async () => {
    await using flat = await startSandbox({ shape: 'flat', events: 1, autoApprove: true });
    const { status } = await rawGet(flat, '/subscriptions/mine', authorized(flat, await accessTokenOf(flat)));
    expect(status).toBe(404);
  });
});

/** A sandbox of its own for each test: they change subscriptions. */
async function startSubscribing() {
  const sandbox = await startSandbox({
    ...{ shape: 'published' as const, events: 300, autoApprove: true },
    deliveries: { url: 'http://127.0.0.1:1/', apiToken: 'other', spreadMs: 5, retryDelaysMs: [] },
  });
  const headers = authorized(sandbox, await accessTokenOf(sandbox));
  const at = { sandbox, headers };
  return {
    sandbox,
    get: (path: string) => rawGet(sandbox, path, headers),
    send: (method: string, path: string, value: unknown, changes: Record<string, string> = {}) =>
      send(method, path, value, changes, at),
    async mine(): Promise<{ subscriptionId: string; callbackUrl: string }[]> {
      return parsed(await rawGet(sandbox, '/subscriptions/mine', headers)).items;
    },
    [Symbol.asyncDispose]: () => sandbox.close(),
  };
}

const rules = { marketplaces: ['2001'], eventTypes: ['document.signed'] };

describe('subscriptions', () => {
  const at = forEachTest(startSubscribing);
  const handler = forEachTest(startHandler);

  const pathOf = ({ subscriptionId }: { subscriptionId: string }) => `/subscriptions/id/${subscriptionId}`;
  async function create(more: object = {}) {
    const answer = await at.send('POST', '/subscriptions', {
      callbackUrl: handler.url,
      subscriptionRules: rules,
      ...more,
    });
    expect(answer.status).toBe(201);
    const token = answer.headers['api-token'] as string;
    return {
      path: pathOf(parsed(answer)),
      value: parsed(answer),
      etag: answer.headers['etag'] ?? '',
      token,
    };
  }
  async function settled(): Promise<void> {
    await expect.poll(() => at.sandbox.control.deliveries.pending()).toBe(0);
  }

  test('that are on are those of the customer, with an ETag each', async () => {
    const collection = parsed(await at.get('/subscriptions/mine'));
    expect(collection.href).toBe(`${at.sandbox.settings.baseUrl}/subscriptions/mine`);
    expect(collection.count).toBe(7);
    const [first] = collection.items;
    expect(Object.keys(first)).toEqual([
      'href',
      'subscriptionId',
      'callbackUrl',
      'isEnabled',
      'subscriptionRules',
    ]);
    expect(first.callbackUrl).toMatch(/^https:\/\/hooks\.harbour\.example\/in\/[A-Za-z0-9]{22}$/);
    const { body, headers } = await at.get(pathOf(first));
    expect(JSON.parse(body.toString())).toEqual(first);
    expect(headers['etag']).toMatch(/^[1-9]\d{6}$/);
    expect(headers['api-token']).toBeUndefined();
  });

  test('with events that are not in the list are switched off or gone', async () => {
    const listed = (await at.mine()).map(({ subscriptionId }) => subscriptionId);
    const items: { subscriptionId: string }[] = parsed(await at.get('/integrator-events')).items;
    const missing = new Set(
      items.map(({ subscriptionId }) => subscriptionId).filter((id) => !listed.includes(id)),
    );
    const answers = await Promise.all(
      [...missing].map((subscriptionId) => at.get(pathOf({ subscriptionId }))),
    );
    const seen = answers.map((answer) => (answer.status === 200 ? parsed(answer).isEnabled : answer.status));
    expect(new Set(seen)).toEqual(new Set([false, 404]));
    expect(seen).toHaveLength(2);
    // One that is on has no events: nothing is of its marketplace.
    const withEvents = items.map(({ subscriptionId }) => subscriptionId);
    expect(listed.filter((id) => !withEvents.includes(id))).toHaveLength(1);
  });

  test('are created, switched on, with the Api-Token in a header alone', async () => {
    const { path, value, etag, token } = await create();
    expect(value).toMatchObject({ callbackUrl: handler.url, isEnabled: true, subscriptionRules: rules });
    expect(token).toMatch(/^[\w-]{32}$/);
    const read = await at.get(path);
    expect(read.headers['etag']).toBe(etag);
    expect(JSON.stringify([read.headers, read.body.toString(), await at.mine()])).not.toContain(token);
    expect((await at.mine()).map(({ callbackUrl }) => callbackUrl)).toContain(handler.url);
  });

  test('are replaced whole: isEnabled is false where it is left out, and rules are the new ones', async () => {
    const { path, value, etag } = await create();
    const { isEnabled: _, ...without } = value;
    const newRules = { marketplaces: ['2900'], eventTypes: ['invoice.paid'] };
    const changed = { ...without, subscriptionRules: newRules, note: 'kept' };
    const answer = await at.send('PUT', path, changed, { 'if-match': etag });
    expect([answer.status, answer.body.toString()]).toEqual([204, '']);
    const read = await at.get(path);
    expect(read.headers['etag']).not.toBe(etag);
    expect(parsed(read)).toEqual({ ...value, isEnabled: false, subscriptionRules: newRules, note: 'kept' });
    expect((await at.mine()).map(({ callbackUrl }) => callbackUrl)).not.toContain(handler.url);
  });

  test('are changed by those alone who have seen the newest state', async () => {
    const { path, value, etag } = await create();
    const codeOf = async (method: string, to: string, changes: Record<string, string>) => {
      const answer = await at.send(method, to, method === 'PUT' ? value : '', changes);
      return `${answer.status} ${answer.status === 204 ? '' : parsed(answer).errors[0].code}`;
    };
    for (const [method, to] of [
      ['PUT', path],
      ['POST', `${path}/renew`],
    ] as const) {
      expect(await codeOf(method, to, {})).toBe('428 subscription.precondition_required');
      expect(await codeOf(method, to, { 'if-match': '"0"' })).toBe('412 subscription.precondition_failed');
      expect(await codeOf(method, to, { 'if-match': `W/${etag}` })).toMatch(/^412/);
    }
    expect((await at.get(path)).headers['etag']).toBe(etag);
    expect(await codeOf('PUT', path, { 'if-match': etag })).toBe('204 ');
    expect(await codeOf('PUT', path, { 'if-match': etag })).toMatch(/^412/);
  });

  test.each([
    ['no JSON', 'nonsense', ['subscription.malformed_body']],
    ['a list', [], ['subscription.malformed_body']],
    ['nothing', {}, ['callbackUrl', 'subscriptionRules']],
    ['no address', { callbackUrl: 'x', subscriptionRules: rules }, ['callbackUrl']],
    [
      'no types',
      { callbackUrl: 'https://a.example/', subscriptionRules: { marketplaces: ['2001'] } },
      ['subscriptionRules.eventTypes'],
    ],
    [
      'no marketplaces',
      { callbackUrl: 'https://a.example/', subscriptionRules: { eventTypes: ['invoice.paid'] } },
      ['subscriptionRules.marketplaces'],
    ],
    [
      'an empty list of marketplaces',
      { callbackUrl: 'https://a.example/', subscriptionRules: { ...rules, marketplaces: [] } },
      ['subscriptionRules.marketplaces'],
    ],
    [
      'a type that is not on offer',
      {
        callbackUrl: 'https://a.example/',
        subscriptionRules: { ...rules, eventTypes: ['invoice.paid', 'no.such'] },
      },
      ['subscriptionRules.eventTypes'],
    ],
    [
      'isEnabled as a text',
      { callbackUrl: 'https://a.example/', subscriptionRules: rules, isEnabled: 'true' },
      ['isEnabled'],
    ],
  ])('with %s are refused, and all that is wrong is named', async (_, value, expected) => {
    const answer = await at.send('POST', '/subscriptions', value);
    expect(answer.status).toBe(400);
    const issues: { code: string; property: string | null }[] = parsed(answer).errors;
    expect(issues.map(({ code, property }) => property ?? code)).toEqual(expected);
  });

  test('need the media type of the service, and methods and paths that there are', async () => {
    const { path, etag } = await create();
    const plain = await at.send('POST', '/subscriptions', {}, { 'content-type': 'application/json' });
    expect([plain.status, parsed(plain).errors[0].property]).toEqual([415, 'Content-Type']);
    const changes = { 'if-match': etag, 'content-type': 'application/json' };
    expect((await at.send('POST', `${path}/renew`, '', changes)).status).toBe(415);
    const allowed = async (method: string, to: string) => {
      const { status, headers } = await at.send(method, to, '', { 'if-match': etag });
      return `${status} ${headers['allow']}`;
    };
    expect(await allowed('DELETE', path)).toBe('405 GET, PUT');
    expect(await allowed('GET', '/subscriptions')).toBe('405 POST');
    expect(await allowed('POST', `${path}/other`)).toBe('404 undefined');
    expect(await allowed('GET', '/subscriptions/id/0f8fad5b-d9cb-469f-a165-70867728950e')).toMatch(/^404/);
  });

  test('get the new events of their types, each with the bytes of its event in the record', async () => {
    const { token, value } = await create();
    at.sandbox.control.addEvent({ eventType: 'invoice.paid', marketplaces: ['2001'] });
    at.sandbox.control.addEvent({ eventType: 'document.signed', marketplaces: ['2900'] });
    const { eventId } = at.sandbox.control.addEvent({ eventType: 'document.signed', marketplaces: ['2001'] });
    await settled();
    expect(handler.received).toHaveLength(1);
    const [{ headers, body }] = handler.received as [(typeof handler.received)[number]];
    expect(headers['api-token']).toBe(token);
    const text = (await at.get(`/integrator-events?eq(eventId,${eventId})`)).body.toString();
    expect(text).toContain(`"eventData":${body}}`);
    const records: { subscriptionId: string; publishStatus: string }[] = JSON.parse(text).items;
    // The other record is of a subscription of the history, whose deliveries fail here.
    expect(records).toHaveLength(2);
    const own = records.find(({ subscriptionId }) => subscriptionId === value.subscriptionId);
    expect(own?.publishStatus).toBe('SUCCESS');
    const ofOwn = await at.get(`/integrator-events?eq(subscriptionId,${value.subscriptionId})`);
    expect(parsed(ofOwn).items).toEqual([own]);
  });

  test('get nothing while they are off, and FAILED events while their endpoint is dead', async () => {
    const { path, value, etag } = await create();
    await at.send('PUT', path, { ...value, isEnabled: false }, { 'if-match': etag });
    at.sandbox.control.addEvent({ eventType: 'document.signed', marketplaces: ['2001'] });
    await settled();
    expect(handler.received).toHaveLength(0);
    const { headers } = await at.get(path);
    await at.send('PUT', path, { ...value, isEnabled: true }, { 'if-match': headers['etag'] ?? '' });
    handler.answer = () => 503;
    at.sandbox.control.addEvent({ eventType: 'document.signed', marketplaces: ['2001'] });
    await settled();
    expect(handler.received).toHaveLength(1);
    const found = await at.get(
      `/integrator-events?eq(subscriptionId,${value.subscriptionId})&eq(publishStatus,FAILED)`,
    );
    expect(parsed(found).count).toBe(1);
  });

  test('have a new Api-Token after a renewal, and the old one is sent no more', async () => {
    const { path, etag, token } = await create();
    const answer = await at.send('POST', `${path}/renew`, '', { 'if-match': etag });
    const renewed = answer.headers['api-key'];
    expect([answer.status, answer.body.toString()]).toEqual([204, '']);
    expect(answer.headers['api-token']).toBeUndefined();
    expect(renewed).toMatch(/^[\w-]{32}$/);
    expect(renewed).not.toBe(token);
    expect((await at.get(path)).headers['etag']).not.toBe(etag);
    at.sandbox.control.addEvent({ eventType: 'document.signed', marketplaces: ['2001'] });
    await settled();
    expect(handler.received.map(({ headers }) => headers['api-token'])).toEqual([renewed]);
  });

  test('can be asked for after a fault broke an answer without a body', async () => {
    const { path, etag } = await create();
    const { behaviour } = at.sandbox.control;
    behaviour.faultRate = 1;
    for (let round = 0; round < 30; round++)
      await at.send('POST', `${path}/renew`, '', { 'if-match': etag }).catch(() => undefined);
    behaviour.faultRate = 0;
    const { status, headers } = await at.get(path);
    expect(status).toBe(200);
    // One of the faults came after the service had done its work.
    expect(headers['etag']).not.toBe(etag);
  });

  test('have events of a test marketplace beside live ones', async () => {
    const items: { eventData: { headers: { marketplaceIds: string[] } } }[] = parsed(
      await at.get('/integrator-events'),
    ).items;
    const tests = items.filter(({ eventData }) => eventData.headers.marketplaceIds.includes('2900'));
    expect(tests.every(({ eventData }) => eventData.headers.marketplaceIds.length === 1)).toBe(true);
    expect(tests.length).toBeGreaterThan(0);
    expect(tests.length).toBeLessThan(items.length / 10);
  });

  test('on another machine are sent nothing', async () => {
    const { value } = await create({ callbackUrl: 'https://elsewhere.example/hooks' });
    at.sandbox.control.addEvent({ eventType: 'document.signed', subscriptionId: value.subscriptionId });
    expect(at.sandbox.control.deliveries.pending()).toBe(0);
  });
});
