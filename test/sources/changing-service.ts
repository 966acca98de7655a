import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { clock } from '../support/clock.ts';
import { onLoopback } from '../support/server.ts';
import { withEventInside } from '../support/shape.ts';

/** The habits of a service that the description leaves open (parts 2, 4 and 7). */
export interface Manner {
  readonly order: 'newest first' | 'oldest first';
  /** Items of a page at most, whatever is asked for: offsets do not line up, and only links lead on. */
  readonly mostItems: number;
  /** `late` is the count at the answer before; `page` is that of the page. */
  readonly counts: 'right' | 'late' | 'absent';
  readonly hasLinks: boolean;
  /** Where items keep ids and types: at the top, in the event, or now here and now there. */
  readonly shape: 'flat' | 'nested' | 'mixed';
  /** Seconds by which its clock is ahead of this machine's. */
  readonly ahead: number;
}

export type Change =
  | { readonly kind: 'add' | 'add late' | 'add future'; readonly failed: boolean }
  /** An event that waited for its delivery fails; a failed one is delivered. */
  | { readonly kind: 'fail' | 'deliver'; readonly which: number }
  | { readonly kind: 'delete' | 'reorder'; readonly which: number }
  | { readonly kind: '503' | 'lost' };

/** A change, and the number of searches to be answered before it. */
export interface Step {
  readonly after: number;
  readonly change: Change;
}

interface Event {
  readonly eventId: string;
  readonly eventType: string;
  readonly createdOn: string;
  /** The order of events of one second. */
  rank: number;
  status: 'SUCCESS' | 'FAILED';
  /** The number of searches that were answered before it was there, and before it had its status. */
  addedAfter: number;
  statusAfter: number;
}

/** The types of events, which take turns. */
export const TYPES = ['a.b', 'c.d'] as const;

/** An event service whose events change at chosen requests, and that remembers which matched all the time. */
export async function startChangingService() {
  let manner: Manner;
  let events: Event[] = [];
  let steps: Step[] = [];
  let answered = 0;
  let made = 0;
  let lastPage = 0;
  /** By search. */
  let lateCounts = new Map<string, number>();
  const watchers = new Set<() => void>();
  const left = { all: new Set<string>(), failed: new Set<string>() };
  let marked: Event[] = [];
  let markedFailed = new Set<string>();
  const isNested = (index: number) =>
    manner.shape === 'nested' || (manner.shape === 'mixed' && index % 2 === 0);
  const now = () => clock.now() + manner.ahead * 1000;

  const add = (createdAt: number, failed: boolean) => {
    const id = (++made).toString(16).padStart(12, '0');
    events.push({
      eventId: `00000000-0000-4000-8000-${id}`,
      eventType: TYPES[made % TYPES.length] as string,
      createdOn: new Date(createdAt).toISOString(),
      rank: made,
      status: failed ? 'FAILED' : 'SUCCESS',
      addedAfter: answered,
      statusAfter: answered,
    });
  };
  const apply = (change: Change): '503' | 'lost' | undefined => {
    switch (change.kind) {
      case '503':
      case 'lost':
        return change.kind;
      case 'add':
        add(now(), change.failed);
        return undefined;
      case 'add late':
        add(now() - 60_000 - ((made * 7919) % 600_000), change.failed);
        return undefined;
      case 'add future':
        add(now() + 86_400_000, change.failed);
        return undefined;
      default: {
        const from = { fail: 'SUCCESS', deliver: 'FAILED', delete: undefined, reorder: undefined }[
          change.kind
        ];
        const some = events.filter(({ status }) => from === undefined || status === from);
        const event = some[change.which % Math.max(1, some.length)];
        if (!event) return undefined;
        if (change.kind === 'reorder') event.rank = -event.rank;
        else if (change.kind === 'fail') {
          event.status = 'FAILED';
          event.statusAfter = answered;
        } else {
          left.failed.add(event.eventId);
          event.status = 'SUCCESS';
          event.statusAfter = answered;
        }
        if (change.kind === 'delete') {
          left.all.add(event.eventId);
          events = events.filter((one) => one !== event);
        }
        return undefined;
      }
    }
  };

  const answer = (request: IncomingMessage, response: ServerResponse) => {
    const query = decodeURIComponent((request.url ?? '').split('?')[1] ?? '');
    const headers = { 'content-type': 'application/json', date: new Date(now()).toUTCString() };
    if (!request.url?.includes('/integrator-events')) {
      response.writeHead(200, headers).end('{"href":"x","count":0,"items":[]}');
      return;
    }
    let fault: '503' | 'lost' | undefined;
    while (steps[0] && steps[0].after <= answered) fault = apply((steps.shift() as Step).change) ?? fault;
    answered++;
    for (const look of watchers) look();
    if (fault === 'lost') return void request.socket.destroy();
    if (fault === '503') {
      response.writeHead(503, headers).end();
      return;
    }
    const bound = (operator: string) => new RegExp(`${operator}\\(createdOn,([^)]+)\\)`).exec(query)?.[1];
    const [after, before] = [bound('gt'), bound('lt')].map((text) => (text ? Date.parse(text) : undefined));
    const [, id] = /eq\(eventId,([^)]+)\)/.exec(query) ?? [];
    const [, status] = /eq\(publishStatus,([^)]+)\)/.exec(query) ?? [];
    const [, type] = /eq\(eventType,([^)]+)\)/.exec(query) ?? [];
    const all = events
      .filter(({ createdOn }) => after === undefined || Date.parse(createdOn) > after)
      .filter(({ createdOn }) => before === undefined || Date.parse(createdOn) < before)
      .filter((event) => (status === undefined || event.status === status) && (!id || event.eventId === id))
      .filter(({ eventType }) => type === undefined || eventType === type)
      .sort((a, b) => Date.parse(a.createdOn) - Date.parse(b.createdOn) || a.rank - b.rank);
    if (manner.order === 'newest first') all.reverse();
    const [whole = '', start = '1', asked = '500'] = /limit\((\d+),(\d+)\)/.exec(query) ?? [];
    // A page of the first item alone may be a question for the count.
    if (start !== '1' || asked !== '1') lastPage = answered;
    const from = Number(start) - 1;
    const items = all
      .slice(from, from + Math.min(Number(asked), manner.mostItems))
      .map(({ eventId, eventType, createdOn, status }) => ({
        eventId,
        createdOn,
        publishStatus: status,
        eventType,
      }))
      .map((item, index) => (isNested(index) ? withEventInside(item) : item));
    const next = from + items.length;
    const link = (request.url ?? '').replace(encodeURI(whole), `limit(${next + 1},${asked})`);
    const search = query.replace(whole, '');
    const count = manner.counts === 'late' ? (lateCounts.get(search) ?? all.length) : all.length;
    // One page of one item is a question for the count, of which a late one would be another's.
    if (asked !== '1') lateCounts.set(search, all.length);
    const body = {
      ...(manner.counts === 'absent' ? {} : { count }),
      ...(manner.hasLinks ? { next: next < all.length ? link : null } : {}),
      items,
    };
    response.writeHead(200, headers).end(JSON.stringify(body));
  };

  const server = await onLoopback(createServer(answer));
  return {
    ...server,
    baseUrl: `${server.origin}/events/v1`,
    /** Begins a history: so many events, changed by the steps as requests arrive. */
    begin: (given: Manner, count: number, planned: readonly Step[]) => {
      manner = given;
      events = [];
      answered = 0;
      lastPage = 0;
      lateCounts = new Map();
      watchers.clear();
      steps = planned.toSorted((a, b) => a.after - b.after);
      // Two events share a second. Those that come late are among them.
      for (let index = 0; index < count; index++)
        add(now() - 5000 - Math.floor((count - index) / 2) * 30_000, index % 3 === 0);
    },
    mark: () => {
      marked = [...events];
      markedFailed = new Set(
        events.filter(({ status }) => status === 'FAILED').map(({ eventId }) => eventId),
      );
      left.all.clear();
      left.failed.clear();
    },
    /** Ids that have matched since the last call of `mark`. */
    matchedThroughout: (failedOnly: boolean) =>
      marked
        .map(({ eventId }) => eventId)
        .filter((id) => !left.all.has(id) && (!failedOnly || (markedFailed.has(id) && !left.failed.has(id)))),
    /** Ids that match now, created at that time or later, and before the other. */
    matching: (failedOnly: boolean, from = 0, to = now() + 1) =>
      events
        .filter(({ status, createdOn }) => {
          const created = Date.parse(createdOn);
          return (!failedOnly || status === 'FAILED') && created >= from && created < to;
        })
        .map(({ eventId }) => eventId),
    /** Ids that match now, and did before the last page of events was asked for, created before that time. */
    joined: (failedOnly: boolean, to: number) =>
      events
        .filter(({ status }) => !failedOnly || status === 'FAILED')
        .filter(({ addedAfter, statusAfter }) => {
          const since = failedOnly ? Math.max(addedAfter, statusAfter) : addedAfter;
          return since < lastPage;
        })
        .filter(({ createdOn }) => Date.parse(createdOn) < to)
        .map(({ eventId }) => eventId),
    /** Calls it when a search arrives. */
    onSearch: (look: () => void) => void watchers.add(look),
    /** All remaining steps happen. */
    settle: () => {
      for (const { change } of steps.splice(0)) apply(change);
    },
  };
}

export type ChangingService = Awaited<ReturnType<typeof startChangingService>>;
