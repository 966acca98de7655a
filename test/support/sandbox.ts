import { randomBytes } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { type Sandbox as ProductSandbox, startSandbox as startProduct } from '../../src/sandbox/sandbox.ts';
import type {
  Behaviour as ProductBehaviour,
  SandboxOptions,
  SandboxSettings,
} from '../../src/sandbox/sandbox-options.ts';
import { shortTime } from '../../src/sandbox/shapes/published-shape.ts';
import type { ServiceShape } from '../../src/sandbox/shapes/service-shape.ts';
import {
  createdOnText,
  type PublishStatus,
  parseGuid,
  type StoredEvent,
  sortableTime,
} from '../../src/sandbox/store/event-item.ts';
import type { EventFilter, EventStore } from '../../src/sandbox/store/event-store.ts';
import { type Answer, applyFault, editAnswer, type Fault } from './faults.ts';
import { shape as shapeOfTests } from './shape.ts';

export type { SandboxOptions, SandboxSettings } from '../../src/sandbox/sandbox-options.ts';
export { editJson, type Fault, times } from './faults.ts';

/** The requests that a fault applies to; `service` means event types and search. */
export type FaultTarget =
  | 'authorize'
  | 'token'
  | 'device'
  | 'revocation'
  | 'pushed-request'
  | 'metadata'
  | 'event-types'
  | 'events'
  | 'subscriptions'
  | 'service';

/** Behaviour that the service description leaves open, made by editing the sandbox's answers. */
interface Oddities {
  /** Members left out of search answers. The service requires none of them (service description, part 2). */
  omit: readonly ('href' | 'previous' | 'first' | 'next' | 'count' | 'limit' | 'items')[];
  /** The form of paging links; `inner`: of the address that the service has behind a TLS proxy. */
  links: 'absolute' | 'relative' | 'inner';
  /** Answers of the event service are indented over several lines. */
  pretty: boolean;
  /** A 429 carries `Retry-After`. */
  retryAfter: boolean;
  /** `iss` on the redirect: left as it is (undefined), left out (null), or replaced. */
  redirectIssuer: string | null | undefined;
  /** The provider's metadata (RFC 8414): changed by a function, or none (404). */
  metadata: 'none' | ((whole: Readonly<Record<string, unknown>>) => unknown);
  /** Token answers include a refresh token. */
  refreshTokens: boolean;
  /** The order of search answers. */
  order: 'newest-first' | 'oldest-first';
  /**
   * The service's clock is ahead by this many milliseconds, which are added to the `Date` header and to the
   * creation time of new events.
   */
  clockOffsetMs: number;
}
export type Behaviour = ProductBehaviour & Oddities;

/** An event to add. Absent members get random values, and `createdOn` the current time. */
export interface NewEvent {
  readonly eventId?: string;
  readonly eventType?: string;
  /** UTC ISO 8601; seven fractional digits are kept. */
  readonly createdOn?: string;
  readonly publishStatus?: PublishStatus;
  readonly subscriptionId?: string;
  readonly marketplaces?: readonly string[];
  /** The item's whole JSON text. Filters still use the other members. */
  readonly json?: string;
}

export type WrittenEvent = Required<NewEvent>;

/** One request that the sandbox received. */
export interface RequestRecord {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly method: string;
  /** Path and raw query. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  /** As much of it as the sandbox has read. */
  body: string;
  /** Undefined until there is an answer, and if the connection broke before one. */
  status: number | undefined;
  /** Time until the answer was sent or the connection broke. */
  ms: number | undefined;
  /** Token requests only: the grant type, and the error that was answered. */
  grantType?: string | undefined;
  error?: string | undefined;
}

/** A sandbox whose answers a test can make odd or faulty. Changes apply from the next request. */
export interface Sandbox extends Pick<ProductSandbox, 'settings' | 'close' | typeof Symbol.asyncDispose> {
  /** The requests, oldest first. */
  readonly log: readonly RequestRecord[];
  readonly control: Pick<ProductSandbox, 'deliveries' | 'subscriptions'> & {
    /** Assign to its members to change them. */
    readonly behaviour: Behaviour;
    readonly store: EventStore & {
      /** Ids of the newest events, the newest first. */
      newestIds(limit: number): string[];
    };
    /** The JSON text of an item, as searches answer it. */
    itemText(event: StoredEvent): string;
    /** Adds an event. Returns its first record if several subscriptions get it. */
    addEvent(event?: NewEvent): WrittenEvent;
    /** Changes an event's publish status; false when there is no such event. */
    setStatus(eventId: string, status: PublishStatus): boolean;
    /** Issues an access token without a sign-in. */
    grantAccessToken(): Promise<string>;
    /** Refuses all access tokens issued so far; refresh tokens stay valid. */
    revokeAccessTokens(): void;
    /** Refuses everything issued so far, refresh tokens too. */
    revokeGrants(): void;
    /** Makes the next requests to a target fail, one fault each, in this order. */
    fault(target: FaultTarget, ...faults: Fault[]): void;
    /** Faults that no request has met yet. */
    readonly pendingFaults: number;
    clearFaults(): void;
  };
}

/** Starts a sandbox in this process. */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const { now = Date.now } = options;
  const clock = typeof now === 'number' ? () => now : now;
  // An event at exactly the start of a watch is not after it.
  let ticks = 1;
  const waiting = new Map<FaultTarget, Fault[]>();
  const log: RequestRecord[] = [];
  const {
    settings,
    events: store,
    identity,
    deliveries,
    subscriptions,
    shape: serviceShape,
    ...sandbox
  } = await startProduct({
    shape: shapeOfTests,
    ...options,
    intercept: async (request, response) => {
      const noteGrant = record(request, response, clock(), log);
      const route = (request.url ?? '').replace(/\?.*/s, '');
      const target = targetsOf(route).find((name) => waiting.get(name)?.length);
      const fault = target && waiting.get(target)?.shift();
      response.setHeader('Date', new Date(clock() + behaviour.clockOffsetMs).toUTCString());
      if (fault && !(await applyFault(fault, request, response))) return false;
      // The last wrapper acts first, so that the fault happens to the odd answer.
      oddAnswers(response, route, behaviour, options.redirectUri);
      if (response.writableEnded) return false;
      noteGrant();
      return true;
    },
  });
  const oddities: Oddities = {
    omit: [],
    links: 'absolute',
    pretty: false,
    retryAfter: true,
    redirectIssuer: undefined,
    metadata: (whole) => whole,
    refreshTokens: true,
    order: 'newest-first',
    clockOffsetMs: 0,
  };
  const behaviour: Behaviour = Object.assign(sandbox.behaviour, oddities);
  const newestFirst = store.page.bind(store);
  store.page = (filter: EventFilter, start: number, size: number) => {
    if (behaviour.order === 'newest-first') return newestFirst(filter, start, size);
    const { count, events } = newestFirst(filter, 1, Number.POSITIVE_INFINITY);
    return { count, events: events.toReversed().slice(start - 1, start - 1 + size) };
  };
  /** No subscription has asked for the types that tests make up: each goes to the first one. */
  function subscriptionOf({ eventType }: NewEvent): Pick<NewEvent, 'subscriptionId'> {
    const [first] = subscriptions?.active() ?? [];
    const isOnOffer = first?.content.subscriptionRules.eventTypes.some((name) => name === eventType);
    return first && eventType !== undefined && !isOnOffer ? { subscriptionId: first.id } : {};
  }

  const control: Sandbox['control'] = {
    behaviour,
    store: Object.assign(store, {
      newestIds: (limit: number) => newestFirst({}, 1, limit).events.map(({ eventId }) => eventId),
    }),
    deliveries,
    subscriptions,
    itemText: serviceShape.itemText,
    addEvent: (given = {}) => {
      const { clockOffsetMs } = behaviour;
      const event = { ...subscriptionOf(given), ...given };
      const createdOn = createdOnText(clock() + clockOffsetMs, ticks++);
      return addTo(store, serviceShape, clockOffsetMs === 0 ? event : { createdOn, ...event });
    },
    setStatus: (eventId, status) => store.setStatus(eventId, status),
    grantAccessToken: async () => {
      const token = `e30.e30.${randomBytes(64).toString('base64url')}`;
      const issued = { scope: 'event_api' };
      await identity.memory.adapter('AccessToken').upsert(token, issued, behaviour.tokenLifetimeSeconds);
      return token;
    },
    revokeAccessTokens: () => {
      const { entries } = identity.memory;
      for (const key of entries.keys()) if (key.startsWith('AccessToken:')) entries.delete(key);
    },
    revokeGrants: () => identity.memory.entries.clear(),
    get pendingFaults() {
      return [...waiting.values()].reduce((sum, faults) => sum + faults.length, 0);
    },
    fault: (target, ...faults) => void waiting.set(target, [...(waiting.get(target) ?? []), ...faults]),
    clearFaults: () => waiting.clear(),
  };
  return { ...sandbox, settings, log, control };
}

/** Adds an event in the form in which the service would store it. */
function addTo(store: EventStore, shape: ServiceShape, { createdOn, ...event }: NewEvent): WrittenEvent {
  const eventId = event.eventId === undefined ? undefined : parseGuid(event.eventId);
  const time = createdOn === undefined ? undefined : sortableTime(createdOn);
  if ((event.eventId && !eventId) || (createdOn && !time))
    throw new TypeError('eventId must be a GUID and createdOn a UTC ISO 8601 date-time');
  if (eventId && !event.subscriptionId && store.find(eventId))
    throw new TypeError(`there is an event ${eventId} already`);
  const [added] = store.add({
    ...event,
    ...(eventId === undefined ? {} : { eventId }),
    // The service keeps 100 ns.
    ...(time === undefined ? {} : { createdOn: `${time.slice(0, 27)}Z` }),
    ...(event.subscriptionId === undefined ? {} : { subscriptionId: event.subscriptionId.toLowerCase() }),
  });
  if (!added) throw new TypeError('no subscription gets this event');
  const served = shape.hasSubscriptions ? shortTime(added.createdOn) : added.createdOn;
  return { ...added, createdOn: served, json: shape.itemText(added) };
}

/** Notes a request. Call the returned function before the sandbox carries it out. */
function record(request: IncomingMessage, response: ServerResponse, at: number, log: RequestRecord[]) {
  const started = performance.now();
  const { method = '', url = '', headers } = request;
  const noted: RequestRecord = { at, method, url, headers, body: '', status: undefined, ms: undefined };
  response.once('close', () => {
    if (response.headersSent) noted.status = response.statusCode;
    noted.ms = performance.now() - started;
  });
  log.push(noted);
  const push = request.push.bind(request);
  request.push = (chunk: unknown) => {
    noted.body += chunk ?? '';
    return push(chunk);
  };
  return () => {
    if (!url.endsWith('/connect/token')) return;
    editAnswer(response, (answer) => {
      noted.grantType = new URLSearchParams(noted.body).get('grant_type') ?? undefined;
      if (answer.status !== 200) noted.error = JSON.parse(answer.body.toString()).error;
      return answer;
    });
  };
}

const targets: readonly (readonly [RegExp, readonly FaultTarget[]])[] = [
  [/\/connect\/authorize$/, ['authorize']],
  [/\/connect\/token$/, ['token']],
  [/\/connect\/deviceauthorization$/, ['device']],
  [/\/connect\/revocation$/, ['revocation']],
  [/\/connect\/par$/, ['pushed-request']],
  [/\/\.well-known\//, ['metadata']],
  [/\/event-types$/, ['event-types', 'service']],
  [/\/integrator-events$/, ['events', 'service']],
  [/\/subscriptions(\/|$)/, ['subscriptions']],
];

function targetsOf(route: string): readonly FaultTarget[] {
  return targets.find(([pattern]) => pattern.test(route))?.[1] ?? [];
}

function oddAnswers(
  response: ServerResponse,
  route: string,
  behaviour: Behaviour,
  redirectUri: string | undefined,
): void {
  const edit = (change: (answer: Answer) => Answer) => editAnswer(response, change);
  const editJson = (change: (body: Record<string, unknown>) => unknown) =>
    edit((answer) =>
      answer.status === 200
        ? { ...answer, body: Buffer.from(JSON.stringify(change(JSON.parse(answer.body.toString())))) }
        : answer,
    );
  const [target] = targetsOf(route);
  if (!behaviour.retryAfter)
    edit(({ headers: { 'retry-after': _, ...headers }, ...rest }) => ({ ...rest, headers }));
  if (target === 'metadata') {
    if (behaviour.metadata === 'none') response.writeHead(404).end('not offered\n');
    else if (route.endsWith('/openid-configuration')) editJson(behaviour.metadata);
  } else if (target === 'token' && !behaviour.refreshTokens)
    editJson(({ refresh_token: _, ...body }) => body);
  else if (behaviour.redirectIssuer !== undefined && /\/(connect\/authorize|sign-in)\b/.test(route))
    edit((answer) => ({
      ...answer,
      headers: withIssuer(answer.headers, behaviour.redirectIssuer ?? null, redirectUri),
    }));
  else if (target === 'events' || target === 'event-types') {
    const { omit, links, pretty } = behaviour;
    if (omit.length === 0 && links === 'absolute' && !pretty) return;
    edit((answer) => {
      if (answer.status !== 200) return answer;
      const whole = answer.body.toString();
      const changed = target === 'events' ? oddCollection(whole, behaviour) : whole;
      return { ...answer, body: Buffer.from(pretty ? indentJson(changed) : changed) };
    });
  }
}

function withIssuer(
  headers: Readonly<Record<string, string>>,
  issuer: string | null,
  redirectUri: string | undefined,
): Record<string, string> {
  const { location } = headers;
  if (location === undefined) return headers;
  const url = new URL(location, 'http://relative.invalid');
  if (redirectUri !== undefined && url.pathname !== new URL(redirectUri).pathname) return headers;
  if (!url.searchParams.has('iss')) return headers;
  if (issuer === null) url.searchParams.delete('iss');
  else url.searchParams.set('iss', issuer);
  return { ...headers, location: url.href };
}

/** Changes the members of a search answer around its items, whose text stays as it is. */
function oddCollection(text: string, { omit, links }: Behaviour): string {
  const mark = text.indexOf('"items":[');
  const items = text.slice(mark, -1);
  const members = JSON.parse(`${text.slice(0, mark).replace(/,$/, '')}}`) as Record<string, unknown>;
  for (const member of ['previous', 'first', 'next']) {
    const link = members[member];
    if (typeof link !== 'string' || links === 'absolute') continue;
    const { pathname, search } = new URL(link);
    members[member] = `${links === 'inner' ? 'http://inner.example:8080' : ''}${pathname}${search}`;
  }
  for (const member of omit) delete members[member];
  const head = JSON.stringify(members).slice(0, -1);
  if (omit.includes('items')) return `${head}}`;
  return `${head}${head.length > 1 ? ',' : ''}${items}}`;
}

/** Returns the environment for using a sandbox. The defaults of scopes and issuer fit. */
export function sandboxEnv(settings: SandboxSettings) {
  return {
    HOOKTRAIL_AUTH_URL: settings.authUrl,
    HOOKTRAIL_BASE_URL: settings.baseUrl,
    HOOKTRAIL_CLIENT_ID: settings.clientId,
    HOOKTRAIL_CLIENT_SECRET: settings.clientSecret,
    HOOKTRAIL_VENDOR: settings.vendor,
    HOOKTRAIL_REDIRECT_URI: settings.redirectUri,
  };
}

/**
 * Puts JSON text on several lines. Its values are not parsed, so numbers, duplicate members and escapes stay
 * as they are.
 */
function indentJson(json: string): string {
  return json.replace(/("(?:[^"\\]|\\.)*")|([{[,])|([}\]])|(:)/gs, (token, text, opens, closes) => {
    if (text) return token;
    if (opens) return `${token}\n  `;
    return closes ? `\n${token}` : ': ';
  });
}
