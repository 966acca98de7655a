import type { IncomingMessage, ServerResponse } from 'node:http';
import { gzip } from 'node:zlib';
import type { AccessToken } from '../identity/identity-memory.ts';
import type { Behaviour } from '../sandbox-options.ts';
import { eventTypes, itemText } from '../store/event-item.ts';
import type { EventPage, EventStore } from '../store/event-store.ts';
import { parseQuery, ServiceFailure } from './query-keys.ts';

export interface EventServiceParts {
  readonly baseUrl: string;
  readonly vendor: string;
  readonly store: EventStore;
  readonly behaviour: Behaviour;
  /**
   * Returns the token's content, or undefined if this sandbox did not issue it, or if it has expired or was revoked.
   */
  readonly verify: (token: string) => AccessToken | undefined | Promise<AccessToken | undefined>;
}

type Operation = (query: string) => string;

/** The two operations of the event service (service description, part 4). */
export function createEventService(parts: EventServiceParts) {
  const { baseUrl, behaviour, store } = parts;
  const basePath = new URL(baseUrl).pathname;
  const mediaType = `application/vnd.${parts.vendor}.v1+json`;
  const operations = new Map<string, Operation>([
    ['/event-types', listEventTypes],
    ['/integrator-events', searchEvents],
  ]);

  function listEventTypes(query: string): string {
    if (query !== '') {
      const message = 'this operation has no query parameters';
      throw new ServiceFailure(400, { code: 'event_type.unknown_parameter', message, property: query });
    }
    const items = eventTypes.map(({ share: _, ...item }) => item);
    return JSON.stringify({ href: `${baseUrl}/event-types`, count: items.length, items });
  }

  function searchEvents(query: string): string {
    const { filter, start, size: asked, filterKeys } = parseQuery(query);
    const size = Math.min(asked, behaviour.maxPageSize);
    const page = store.page(filter, start, size, behaviour.order);
    return searchAnswer({ collection: `${baseUrl}/integrator-events`, filterKeys, start, size }, page);
  }

  async function authorize(request: IncomingMessage): Promise<void> {
    const token = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1];
    if (token === undefined) {
      throw new ServiceFailure(
        401,
        { code: 'authorization.missing_token', message: 'the request carries no bearer token' },
        { 'WWW-Authenticate': 'Bearer realm="event service"' },
      );
    }
    const verified = parts.verify(token);
    // Awaiting a token that is already known would cost a turn of the event loop.
    const content = verified instanceof Promise ? await verified : verified;
    if (!content) {
      const message = 'the access token is invalid, expired or revoked';
      throw new ServiceFailure(
        401,
        { code: 'authorization.invalid_token', message },
        { 'WWW-Authenticate': 'Bearer realm="event service", error="invalid_token"' },
      );
    }
    if (!content.scopes.includes('event_api')) {
      throw new ServiceFailure(
        403,
        { code: 'authorization.insufficient_scope', message: "the access token lacks the scope 'event_api'" },
        { 'WWW-Authenticate': 'Bearer realm="event service", error="insufficient_scope", scope="event_api"' },
      );
    }
  }

  async function answer(request: IncomingMessage): Promise<string> {
    const [path, query] = splitTarget(request.url ?? '');
    const operation = operations.get(path.slice(basePath.length));
    if (!operation) {
      throw new ServiceFailure(404, { code: 'path.not_found', message: `there is nothing at ${path}` });
    }
    if (request.method !== 'GET') {
      const message = `${request.method} is not allowed here`;
      throw new ServiceFailure(405, { code: 'method.not_allowed', message }, { Allow: 'GET' });
    }
    await authorize(request);
    if (!accepts(request.headers.accept, mediaType)) {
      throw new ServiceFailure(406, {
        code: 'version.not_acceptable',
        message: `the Accept header must name a version of this service: ${mediaType}`,
        property: 'Accept',
        properties: { accepted: mediaType },
      });
    }
    return operation(query);
  }

  return async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text: string;
    try {
      text = await answer(request);
    } catch (error) {
      if (!(error instanceof ServiceFailure)) throw error;
      response.statusCode = error.status;
      for (const [name, value] of Object.entries(error.headers)) response.setHeader(name, value);
      text = JSON.stringify(error.body);
    }
    let body: Buffer = Buffer.from(text);
    response.setHeader('Content-Type', 'application/json; charset=utf-8');
    if (behaviour.compress) {
      response.setHeader('Vary', 'Accept-Encoding');
      if (/\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''))) {
        response.setHeader('Content-Encoding', 'gzip');
        body = await new Promise((resolve, reject) => {
          gzip(body, { level: 1 }, (error, compressed) => (error ? reject(error) : resolve(compressed)));
        });
      }
    }
    response.setHeader('Content-Length', body.length);
    response.end(body);
  };
}

/**
 * Returns true if an `Accept` header names the versioned media type of the service (service description, part 9). Wildcards
 * are not enough: the header is required, and it chooses the version.
 */
function accepts(header: string | undefined, mediaType: string): boolean {
  return (header ?? '').split(',').some((range) => {
    const [type, ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const refused = parameters.some((parameter) => /^q\s*=\s*0(\.0*)?$/.test(parameter));
    return type === mediaType.toLowerCase() && !refused;
  });
}

/** Splits a request target into its raw path and its raw query. */
export function splitTarget(target: string): [path: string, query: string] {
  const mark = target.indexOf('?');
  return mark < 0 ? [target, ''] : [target.slice(0, mark), target.slice(mark + 1)];
}

interface PagePosition {
  /** Absolute URL of the collection, without query. */
  readonly collection: string;
  readonly filterKeys: readonly string[];
  readonly start: number;
  readonly size: number;
}

/** A SearchIntegratorEventCollection (service description, part 2). */
function searchAnswer(position: PagePosition, page: EventPage): string {
  const { start, size } = position;
  const link = (from: number) => linkTo(position, from);
  const members = {
    href: link(start),
    previous: start > 1 ? link(Math.max(1, start - size)) : null,
    first: link(1),
    next: start + size <= page.count ? link(start + size) : null,
    count: page.count,
    limit: size,
  };
  const head = JSON.stringify(members).slice(0, -1);
  return `${head},"items":[${page.events.map(itemText).join(',')}]}`;
}

/** A link in the `limit(start,count)` form, which keeps the filters as they were sent (service description, part 4). */
function linkTo({ collection, filterKeys, size }: PagePosition, start: number): string {
  return `${collection}?${[...filterKeys, `limit(${start},${size})`].join('&')}`;
}
