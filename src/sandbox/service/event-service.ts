import type { IncomingMessage, ServerResponse } from 'node:http';
import type { SandboxSettings } from '../sandbox-options.ts';
import { eventTypes, itemText } from '../store/event-item.ts';
import type { EventStore } from '../store/event-store.ts';
import { parseQuery, ServiceFailure } from './query-keys.ts';

/** Returns the scopes of an access token; undefined if it is unknown, expired or revoked. */
type Verify = (token: string) => Promise<readonly string[] | undefined>;

/** The two operations of the event service (service description, part 4). */
export function createEventService(
  { baseUrl, vendor }: Pick<SandboxSettings, 'baseUrl' | 'vendor'>,
  store: EventStore,
  verify: Verify,
) {
  const mediaType = `application/vnd.${vendor}.v1+json`;
  const basePath = new URL(baseUrl).pathname;
  const operations: Readonly<Record<string, (query: string) => string>> = {
    [`${basePath}/event-types`]: listEventTypes,
    [`${basePath}/integrator-events`]: searchEvents,
  };

  function listEventTypes(query: string): string {
    if (query !== '') {
      const message = 'this operation has no query parameters';
      throw new ServiceFailure(400, { code: 'event_type.unknown_parameter', message, property: query });
    }
    const items = eventTypes.map(({ share: _, ...item }) => item);
    return JSON.stringify({ href: `${baseUrl}/event-types`, count: items.length, items });
  }

  /** Returns a SearchIntegratorEventCollection (service description, part 2), with the filters in its links as they were sent. */
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
    return `${JSON.stringify(members).slice(0, -1)},"items":[${events.map(itemText).join(',')}]}`;
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

  async function answer(request: IncomingMessage): Promise<string> {
    const [path = '', ...query] = (request.url ?? '').split('?');
    const operation = Object.hasOwn(operations, path) ? operations[path] : undefined;
    if (!operation)
      throw new ServiceFailure(404, { code: 'path.not_found', message: `there is nothing at ${path}` });
    if (request.method !== 'GET') {
      const message = `${request.method} is not allowed here`;
      throw new ServiceFailure(405, { code: 'method.not_allowed', message }, { Allow: 'GET' });
    }
    await authorize(request);
    if (!accepts(request.headers.accept ?? '', mediaType)) {
      const message = `the Accept header must name a version of this service: ${mediaType}`;
      throw new ServiceFailure(406, { code: 'version.not_acceptable', message, property: 'Accept' });
    }
    return operation(query.join('?'));
  }

  return async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await answer(request).catch((error) => {
      if (!(error instanceof ServiceFailure)) throw error;
      response.statusCode = error.status;
      for (const [name, value] of Object.entries(error.headers)) response.setHeader(name, value);
      return JSON.stringify(error.body);
    });
    const bytes = Buffer.from(body);
    response.setHeader('Content-Type', 'application/json; charset=utf-8');
    response.setHeader('Content-Length', bytes.length);
    response.end(bytes);
  };
}

/**
 * Returns true if an `Accept` header names the versioned media type of the service (service description, part 9). Wildcards
 * are not enough: the header is required, and it chooses the version.
 */
function accepts(header: string, mediaType: string): boolean {
  return header.split(',').some((range) => {
    const [type, ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    return type === mediaType.toLowerCase() && !parameters.some((one) => /^q=0(\.0*)?$/.test(one));
  });
}
