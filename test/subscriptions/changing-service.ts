import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { createHome } from '../support/home.ts';
import { type CommandOptions, hooktrail, startHooktrail } from '../support/program.ts';
import { onLoopback } from '../support/server.ts';

export const ID = '11111111-1111-4111-8111-111111111111';
export const SECRET = 'aBcDeFgHiJkLmNoP';
export const TYPES = ['order.created', 'order.paid', 'order.shipped', 'invoice.sent'];

/** With white space, unknown members, and numbers that no double holds. */
export const WRITTEN = `{ "href" : "https://events.example.com/s/1", "subscriptionId":"${ID}",
  "callbackUrl":"https:\\/\\/hooks.example.com/in/${SECRET}", "isEnabled":true,"n":9007199254740993, "price" : 1.10,
  "subscriptionRules":{"marketplaces":["2001"],"eventTypes":["order.created", "order.paid"],"later":{"a":[1.0,{}]}}
}`;

type Reply = (response: ServerResponse, request: IncomingMessage) => void | Promise<void>;

/** A service with one subscription, which it keeps in exactly the bytes that are written to it. */
export async function startChanging() {
  const requests: { method: string; url: string; headers: IncomingMessage['headers']; body: string }[] = [];
  const kept = { text: WRITTEN, version: 1, token: 'token-1', created: 0, renewHeader: 'Api-Key' };
  const types = [...TYPES];
  /**
   * Replies to the next requests of a method, in place of the service's own; `after` it did its work, if
   * asked.
   */
  const replies = new Map<string, Reply[]>();
  const etag = () => `"v${kept.version}"`;
  const send = (response: ServerResponse, status: number, body: string, headers: object = {}) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body);
  };
  const service = {
    requests,
    kept,
    types,
    etag,
    send,
    /** Writes as the service does on PUT. */
    write(body: string) {
      kept.text = body;
      kept.version++;
    },
    next(method: string, reply: Reply) {
      replies.set(method, [...(replies.get(method) ?? []), reply]);
    },
    sent: (method: string) => requests.filter((request) => request.method === method),
  };
  const server = createServer(async (request, response) => {
    const { method = '', url = '', headers } = request;
    const body = await text(request);
    requests.push({ method, url, headers, body });
    const reply = replies.get(`${method} ${url}`)?.shift() ?? replies.get(method)?.shift();
    if (reply) return await reply(response, request);
    if (url === '/event-types') {
      const items = types.map((eventType) => ({ eventType, description: 'd' }));
      return send(response, 200, JSON.stringify({ href: 'x', count: items.length, items }));
    }
    if (url === '/subscriptions/mine') return send(response, 200, `{"count":1,"items":[${kept.text}]}`);
    if (url === '/subscriptions' && method === 'POST') {
      kept.created++;
      const given = JSON.parse(body);
      const made = JSON.stringify({ subscriptionId: ID, isEnabled: true, ...given });
      service.write(made);
      return send(response, 201, made, { 'Api-Token': kept.token, Location: `/subscriptions/id/${ID}` });
    }
    if (!url.startsWith(`/subscriptions/id/${ID}`)) return send(response, 404, '{}');
    if (method === 'GET') return send(response, 200, kept.text, { ETag: etag() });
    if (headers['if-match'] !== etag())
      return send(response, 412, '{"errors":[{"code":"precondition_failed"}]}');
    if (headers['content-type'] !== 'application/vnd.example.v1+json') return send(response, 415, '');
    if (method === 'PUT') service.write(body);
    if (!url.endsWith('/renew')) return void response.writeHead(204).end();
    kept.version++;
    kept.token = `token-${kept.version}`;
    response.writeHead(204, { [kept.renewHeader]: kept.token }).end();
  });
  const loopback = await onLoopback(server);
  const home = await createHome();
  const env: Readonly<Record<string, string>> = {
    ...home.env,
    HOOKTRAIL_BASE_URL: loopback.origin,
    HOOKTRAIL_VENDOR: 'example',
    HOOKTRAIL_ACCESS_TOKEN: 'a-token',
  };
  return {
    ...service,
    home,
    env,
    run: (args: readonly string[], options: Partial<CommandOptions> = {}) =>
      hooktrail(['subscriptions', ...args], { env, ...options }),
    start: (args: readonly string[], options: Partial<CommandOptions> = {}) =>
      startHooktrail(['subscriptions', ...args], { env, ...options }),
    async [Symbol.asyncDispose]() {
      await loopback[Symbol.asyncDispose]();
      await home[Symbol.asyncDispose]();
    },
  };
}
