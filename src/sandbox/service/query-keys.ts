import { parseGuid, sortableTime } from '../store/event-item.ts';
import type { EventFilter } from '../store/event-store.ts';

export const MAXIMUM_LIMIT = 500;

export interface EventQuery {
  readonly filter: EventFilter;
  /** Counts from 1. */
  readonly start: number;
  readonly size: number;
  /** The filter keys as they were sent, without `limit`, for the paging links. */
  readonly filterKeys: readonly string[];
}

/**
 * operator(argument,value). The value may contain the characters that RFC 3986 allows in a query, except those of this
 * grammar.
 */
const KEY = /^([a-z]+)\(([A-Za-z0-9]+),((?:[\w.~!$'*+;:@/?-]|%[0-9A-Fa-f]{2})*)\)$/;

/** Operators and properties of the query keys (service description, part 4). */
const readers: Readonly<Record<string, (filter: EventFilter, value: string) => void>> = {
  'gt(createdOn': (filter, value) => {
    filter.after = createdOn(value);
  },
  'lt(createdOn': (filter, value) => {
    filter.before = createdOn(value);
  },
  'eq(subscriptionId': (filter, value) => {
    filter.subscription = guid('subscriptionId', value);
  },
  'eq(eventId': (filter, value) => {
    filter.id = guid('eventId', value);
  },
  'eq(publishStatus': (filter, value) => {
    if (value !== 'SUCCESS' && value !== 'FAILED')
      throw invalidValue('publishStatus', value, 'is neither SUCCESS nor FAILED');
    filter.status = value;
  },
  'eq(eventType': (filter, value) => {
    filter.type = value;
  },
};

/**
 * Reads a raw query whose keys carry operator and argument and no value: `gt(createdOn,2026-11-01)&limit(1,500)`.
 * Parentheses and the first comma are grammar when sent literally, and data when percent-encoded.
 *
 * @throws ServiceFailure 400 for anything that does not follow the grammar.
 */
export function parseQuery(query: string): EventQuery {
  const filter: EventFilter = {};
  const filterKeys: string[] = [];
  const seen = new Set<string>();
  let start = 1;
  let size = MAXIMUM_LIMIT;
  for (const key of query === '' ? [] : query.split('&')) {
    const parts = KEY.exec(key);
    if (!parts) {
      const problem =
        "is not of the form operator(argument,value) without '=', with other characters percent-encoded";
      throw badParameter('malformed_parameter', key, `'${key}' ${problem}`);
    }
    const [, operator, argument, raw] = parts as unknown as [string, string, string, string];
    const operation = operator === 'limit' ? operator : `${operator}(${argument}`;
    if (seen.has(operation)) throw badParameter('duplicate_parameter', key, `'${key}' repeats a parameter`);
    seen.add(operation);
    if (operator === 'limit') {
      start = positive(argument, key);
      size = positive(raw, key);
      if (size > MAXIMUM_LIMIT)
        throw badParameter('limit_exceeded', 'limit', `'${key}' asks for more than ${MAXIMUM_LIMIT} results`);
      continue;
    }
    const read = Object.hasOwn(readers, operation) ? readers[operation] : undefined;
    if (!read) throw badParameter('unknown_parameter', key, `'${key}' is not a parameter of this operation`);
    read(filter, decode(raw, key));
    filterKeys.push(key);
  }
  return { filter, start, size, filterKeys };
}

function positive(text: string, key: string): number {
  const number = /^\d{1,10}$/.test(text) ? Number(text) : 0;
  if (number < 1 || number > 0x7fffffff)
    throw badParameter('invalid_limit', 'limit', `'${key}' needs two integers of at least 1`);
  return number;
}

function decode(raw: string, key: string): string {
  try {
    return decodeURIComponent(raw);
  } catch {
    throw badParameter('malformed_parameter', key, `'${key}' is not percent-encoded UTF-8`);
  }
}

function createdOn(value: string): string {
  const time = sortableTime(value);
  if (!time) throw invalidValue('createdOn', value, 'is not a UTC ISO 8601 date or date-time');
  return time;
}

function guid(property: string, value: string): string {
  const id = parseGuid(value);
  if (!id) throw invalidValue(property, value, 'is not a GUID');
  return id;
}

function invalidValue(property: string, value: string, problem: string) {
  return badParameter('invalid_value', property, `'${value}' ${problem}`);
}

/** The service's Error object (service description, part 2). `code` has the shape `<resource>.<issue_type>`. */
export interface ErrorObject {
  readonly code: string;
  readonly message: string;
  readonly property?: string;
  readonly properties?: Readonly<Record<string, string>>;
}

/** An answer of the event service other than 200. */
export class ServiceFailure extends Error {
  readonly status: number;
  readonly body: ErrorObject;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, body: ErrorObject, headers: Readonly<Record<string, string>> = {}) {
    super(body.message);
    this.status = status;
    this.body = body;
    this.headers = headers;
  }
}

export function badParameter(code: string, property: string, message: string): ServiceFailure {
  return new ServiceFailure(400, { code: `event.${code}`, message, property });
}
