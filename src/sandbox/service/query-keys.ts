import { parseGuid, sortableTime } from '../store/event-item.ts';
import type { EventFilter } from '../store/event-store.ts';
import { ServiceFailure } from './service-failure.ts';

const MAXIMUM_LIMIT = 500;

export interface EventQuery {
  readonly filter: EventFilter;
  /** Counts from 1. */
  readonly start: number;
  readonly size: number;
  readonly filterKeys: readonly string[];
}

/**
 * operator(argument,value). The value may contain the characters that RFC 3986 allows in a query, except
 * those of this grammar.
 */
const KEY = /^([a-z]+)\(([A-Za-z0-9]+),((?:[\w.~!$'*+;:@/?-]|%[0-9A-Fa-f]{2})*)\)$/;

type Reader = (value: string) => string | undefined;

const time = [sortableTime, 'is not a UTC ISO 8601 date or date-time'] as const;
const guid = [parseGuid, 'is not a GUID'] as const;
const status: Reader = (value) => (['SUCCESS', 'FAILED'].includes(value) ? value : undefined);

/** Keyed by operator and property (service description, part 4). */
const filters = new Map<string, readonly [member: keyof EventFilter, read: Reader, problem: string]>([
  ['gt(createdOn', ['after', ...time]],
  ['lt(createdOn', ['before', ...time]],
  ['eq(subscriptionId', ['subscriptionId', ...guid]],
  ['eq(eventId', ['eventId', ...guid]],
  ['eq(publishStatus', ['publishStatus', status, 'is neither SUCCESS nor FAILED']],
  ['eq(eventType', ['eventType', String, 'is not a text']],
]);

/**
 * Parses a raw query, such as `gt(createdOn,2026-11-01)&limit(1,500)`: each key holds an operator and its
 * arguments, and no key has a value. Parentheses and the first comma are grammar when sent literally, and
 * data when percent-encoded.
 *
 * @throws ServiceFailure 400 for anything outside the grammar.
 */
export function parseQuery(query: string): EventQuery {
  const filter: EventFilter = {};
  const filterKeys: string[] = [];
  const seen = new Set<string>();
  let limit = { start: 1, size: MAXIMUM_LIMIT };
  for (const key of query === '' ? [] : query.split('&')) {
    const parts = partsOf(key);
    const { operator, operation } = parts;
    if (seen.has(operation)) throw badParameter('duplicate_parameter', key, `'${key}' repeats a parameter`);
    seen.add(operation);
    if (operator === 'limit') limit = limitIn(parts);
    else {
      Object.assign(filter, filterIn(parts));
      filterKeys.push(key);
    }
  }
  return { filter, ...limit, filterKeys };
}

interface KeyParts {
  readonly key: string;
  readonly operator: string;
  readonly argument: string;
  readonly raw: string;
  /** The operator with its argument, which may occur once in a query: `gt(createdOn`, `limit`. */
  readonly operation: string;
}

function partsOf(key: string): KeyParts {
  const [, operator, argument = '', raw = ''] = KEY.exec(key) ?? [];
  if (!operator) {
    const form = "operator(argument,value) without '=', with other characters percent-encoded";
    throw badParameter('malformed_parameter', key, `'${key}' is not of the form ${form}`);
  }
  const operation = operator === 'limit' ? operator : `${operator}(${argument}`;
  return { key, operator, argument, raw, operation };
}

function limitIn({ key, argument, raw }: KeyParts): { start: number; size: number } {
  const start = positive(argument, key);
  const size = positive(raw, key);
  if (size > MAXIMUM_LIMIT)
    throw badParameter('limit_exceeded', 'limit', `'${key}' asks for more than ${MAXIMUM_LIMIT} results`);
  return { start, size };
}

function filterIn({ key, argument, raw, operation }: KeyParts): EventFilter {
  const [member, read, problem] = filters.get(operation) ?? [];
  if (!member || !read)
    throw badParameter('unknown_parameter', key, `'${key}' is not a parameter of this operation`);
  const text = decode(raw, key);
  const value = read(text);
  if (value === undefined) throw badParameter('invalid_value', argument, `'${text}' ${problem}`);
  return { [member]: value };
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

function badParameter(code: string, property: string, message: string): ServiceFailure {
  return new ServiceFailure(400, { code: `event.${code}`, message, property });
}
