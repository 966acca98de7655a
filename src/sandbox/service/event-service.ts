import type { IncomingMessage, ServerResponse } from 'node:http';
import type { SandboxSettings } from '../sandbox-options.ts';
import type { ServiceShape } from '../shapes/service-shape.ts';
import { eventTypes } from '../store/event-item.ts';
import type { EventStore } from '../store/event-store.ts';
import { parseQuery } from './query-keys.ts';
import { ServiceFailure } from './service-failure.ts';
import type { Operation, OperationAnswer } from './service-operation.ts';

type Verify = (token: string) => Promise<readonly string[] | undefined>;

/**
 * The operations of the event service (service description, part 4), and those of subscriptions if it has
 * any.
 */
export function createEventService(
  settings: Pick<SandboxSettings, 'baseUrl' | 'vendor'>,
  shape: ServiceShape,
  store: EventStore,
  subscriptions: readonly Operation[],
  verify: Verify,
) {
  const { baseUrl, vendor } = settings;
  const mediaType = `application/vnd.${vendor}.v1+json`;
  const basePath = new URL(baseUrl).pathname;
  const operations: readonly Operation[] = [
    { method: 'GET', path: '/event-types', run: ({ query }) => ({ body: listEventTypes(query) }) },
    { method: 'GET', path: '/integrator-events', run: ({ query }) => ({ body: searchEvents(query) }) },
    ...subscriptions,
  ];

  function listEventTypes(query: string): string {
    if (query !== '') {
      const message = 'this operation has no query parameters';
      throw new ServiceFailure(400, { code: 'event_type.unknown_parameter', message, property: query });
    }
    const items = eventTypes.map(shape.eventTypeItem);
    return JSON.stringify({ href: `${baseUrl}/event-types`, count: items.length, items });
  }

  /**
   * Returns a SearchIntegratorEventCollection (service description, part 2). Its links repeat the filters as
   * they were sent.
   */
  function searchEvents(query: string): string {
    const { filter, start, size, filterKeys } = parseQuery(query);
    const { count, events } = store.page(filter, start, size);
    const link = (from: number) =>
      `${baseUrl}/integrator-events?${[...filterKeys, `limit(${from},${size})`].join('&')}`;
    const members = {
      href: link(start),
      previous: start > 1 ? link(Math.max(1, start - size)) : null,
      first: link(1),
      next: start + size <= count ? link(start + size) : null,
      count,
      limit: size,
    };
    return `${JSON.stringify(members).slice(0, -1)},"items":[${events.map(shape.itemText).join(',')}]}`;
  }

  async function authorize(request: IncomingMessage): Promise<void> {
    const refuse = (status: number, code: string, message: string, challenge: string) => {
      const headers = { 'WWW-Authenticate': `Bearer realm="event service"${challenge}` };
      return new ServiceFailure(status, { code: `authorization.${code}`, message }, headers);
    };
    const token = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
    if (token === undefined) throw refuse(401, 'missing_token', 'the request carries no bearer token', '');
    const scopes = await verify(token);
    if (!scopes) {
      const message = 'the access token is invalid, expired or revoked';
      throw refuse(401, 'invalid_token', message, ', error="invalid_token"');
    }
    if (!scopes.includes('event_api')) {
      const message = "the access token lacks the scope 'event_api'";
      throw refuse(403, 'insufficient_scope', message, ', error="insufficient_scope", scope="event_api"');
    }
  }

  async function answer(request: IncomingMessage): Promise<OperationAnswer> {
    const [path = '', ...query] = (request.url ?? '').split('?');
    const here = operations.filter((operation) => idInPath(path, basePath + operation.path) !== undefined);
    if (here.length === 0)
      throw new ServiceFailure(404, { code: 'path.not_found', message: `there is nothing at ${path}` });
    const operation = here.find(({ method }) => method === request.method);
    if (!operation) {
      const message = `${request.method} is not allowed here`;
      const allowed = here.map(({ method }) => method).join(', ');
      throw new ServiceFailure(405, { code: 'method.not_allowed', message }, { Allow: allowed });
    }
    await authorize(request);
    if (!accepts(request.headers.accept ?? '', mediaType)) {
      const message = `the Accept header must name a version of this service: ${mediaType}`;
      throw new ServiceFailure(406, { code: 'version.not_acceptable', message, property: 'Accept' });
    }
    return operation.run({
      headers: request.headers,
      id: idInPath(path, basePath + operation.path) ?? '',
      query: query.join('?'),
      body: () => bodyOf(request),
    });
  }

  return async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { status, headers, body } = await answer(request).catch((error): Required<OperationAnswer> => {
      if (!(error instanceof ServiceFailure)) throw error;
      const { status, headers, issues } = error;
      return { status, headers, body: JSON.stringify(shape.errorBody(issues)) };
    });
    if (status !== undefined) response.statusCode = status;
    for (const [name, value] of Object.entries(headers ?? {})) response.setHeader(name, value);
    if (body === '') return void response.end();
    const bytes = Buffer.from(body);
    response.setHeader('Content-Type', 'application/json; charset=utf-8');
    response.setHeader('Content-Length', bytes.length);
    response.end(bytes);
  };
}

/**
 * Returns the segment for `{id}` in a path, or an empty text without `{id}`; undefined if the paths differ.
 */
function idInPath(path: string, expected: string): string | undefined {
  const [before = '', after] = expected.split('{id}');
  if (after === undefined) return path === expected ? '' : undefined;
  if (!path.startsWith(before) || !path.endsWith(after)) return undefined;
  const id = path.slice(before.length, path.length - after.length);
  return /^[^/]+$/.test(id) ? id : undefined;
}

const MAXIMUM_BODY_BYTES = 1_000_000;

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAXIMUM_BODY_BYTES) {
      const message = `the body has more than ${MAXIMUM_BODY_BYTES} bytes`;
      throw new ServiceFailure(413, { code: 'request.too_large', message });
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/**
 * True if an `Accept` header names the versioned media type of the service (service description, part 9).
 * Wildcards are not enough: the header is required, and selects the version.
 */
function accepts(header: string, mediaType: string): boolean {
  return header.split(',').some((range) => {
    const [type, ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    return type === mediaType.toLowerCase() && !parameters.some((one) => /^q=0(\.0*)?$/.test(one));
  });
}
