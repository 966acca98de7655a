import { isUtf8 } from 'node:buffer';
import { advise, hooktrail } from '../advice.ts';
import { ServiceError } from '../errors.ts';
import { Items } from '../items/items.ts';
import { ARRAY, JsonScanner, OBJECT, stringText } from '../items/json-scanner.ts';

interface Span {
  readonly start: number;
  readonly end: number;
}

export type MemberPath = readonly [string, ...string[]];

export const CALLBACK_URL: MemberPath = ['callbackUrl'];
export const IS_ENABLED: MemberPath = ['isEnabled'];
/** Added by `subscriptions list --all`; not a member of the service. */
export const STATE: MemberPath = ['state'];
export const EVENT_TYPES: MemberPath = ['subscriptionRules', 'eventTypes'];
export const MARKETPLACES: MemberPath = ['subscriptionRules', 'marketplaces'];

/**
 * A subscription in the service's own bytes. Changes edit this text: it is written back whole, and unknown
 * members, or numbers with more digits than a double holds, have to be preserved.
 */
export class SubscriptionText {
  readonly bytes: Buffer;

  private constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  /** Throws `ServiceError` unless the body is one JSON object without repeated names. */
  static of(body: Buffer): SubscriptionText {
    try {
      const scanner = new JsonScanner(body);
      const start = scanner.space(0);
      const end = scanner.value(start);
      const isWhole = body[start] === OBJECT && scanner.space(end) === body.length && isUtf8(body);
      if (isWhole) return new SubscriptionText(body.subarray(start, end));
    } catch {
      // Malformed JSON gets the same error.
    }
    throw new ServiceError('the service answered with something that is not a subscription');
  }

  /** Returns a parsed value; undefined if missing. */
  value(path: MemberPath): unknown {
    const span = this.#find(path);
    return span && JSON.parse(this.bytes.toString('utf8', span.start, span.end));
  }

  /** Returns the elements of a list of texts or numbers, each as JSON; undefined if there is no such list. */
  list(path: MemberPath): string[] | undefined {
    const span = this.#find(path);
    const values: unknown = span && JSON.parse(this.bytes.toString('utf8', span.start, span.end));
    const isPlain = (one: unknown) => typeof one === 'string' || typeof one === 'number';
    return span && Array.isArray(values) && values.every(isPlain)
      ? elementsIn(this.bytes, span.start)
      : undefined;
  }

  /**
   * Returns a copy with another value of a member, given as JSON. A missing member is added at the end of its
   * object.
   */
  with(path: MemberPath, json: string): SubscriptionText {
    const span = this.#find(path);
    if (span) return this.#spliced(span, json);
    const outer = path.slice(0, -1);
    const object = outer.length === 0 ? this.#whole() : this.#find(outer as unknown as MemberPath);
    if (object === undefined || this.bytes[object.start] !== OBJECT) throw noMember(outer);
    const isEmpty = membersIn(this.bytes, object.start).size === 0;
    const member = `${isEmpty ? '' : ','}${JSON.stringify(path.at(-1))}:${json}`;
    return this.#spliced({ start: object.end - 1, end: object.end - 1 }, member);
  }

  compact(): Items {
    return new Items(this.bytes, [0, this.bytes.length]).compacted();
  }

  #whole(): Span {
    return { start: 0, end: this.bytes.length };
  }

  #find(path: MemberPath): Span | undefined {
    let span: Span | undefined = this.#whole();
    for (const name of path) {
      if (span === undefined || this.bytes[span.start] !== OBJECT) return undefined;
      span = membersIn(this.bytes, span.start).get(name);
    }
    return span;
  }

  #spliced({ start, end }: Span, json: string): SubscriptionText {
    const parts = [this.bytes.subarray(0, start), Buffer.from(json), this.bytes.subarray(end)];
    return new SubscriptionText(Buffer.concat(parts));
  }
}

function membersIn(bytes: Buffer, start: number): Map<string, Span> {
  const scanner = new JsonScanner(bytes);
  const members = new Map<string, Span>();
  scanner.each(start, (at) => {
    const name = stringText(bytes, at, scanner.string(at));
    const value = scanner.key(at);
    const end = scanner.value(value);
    // Parsers differ in which of two equal names they read.
    if (members.has(name))
      throw new ServiceError(`the service wrote the subscription with two members '${name}'`, {
        next: 'it cannot be changed safely: tell the owner of the service',
      });
    members.set(name, { start: value, end });
    return end;
  });
  return members;
}

function elementsIn(bytes: Buffer, start: number): string[] {
  const scanner = new JsonScanner(bytes);
  const elements: string[] = [];
  scanner.each(start, (at) => {
    const end = scanner.value(at);
    elements.push(bytes.toString('utf8', at, end));
    return end;
  });
  return elements;
}

function noMember(path: readonly string[]): ServiceError {
  return new ServiceError(`the service wrote the subscription without '${path.join('.')}'`, {
    next: advise`${hooktrail('subscriptions get ID')} shows it; ${hooktrail('api')} writes what this command does not know`,
  });
}

export interface SubscriptionChange {
  /** With a dot between names. */
  readonly member: string;
  /** JSON; null for a missing member. */
  readonly before: string | null;
  readonly after: string | null;
  readonly added?: readonly string[];
  readonly removed?: readonly string[];
}

/** Returns the differences. The order of members, and of a list's elements, is ignored. */
export function changesBetween(before: SubscriptionText, after: SubscriptionText): SubscriptionChange[] {
  return memberChanges([], before.compact().text(0), after.compact().text(0));
}

function memberChanges(path: readonly string[], before: Buffer, after: Buffer): SubscriptionChange[] {
  const old = membersIn(before, 0);
  const young = membersIn(after, 0);
  const names = [...new Set([...old.keys(), ...young.keys()])];
  return names.flatMap((name) => {
    const inner = [...path, name];
    const was = textOf(before, old.get(name));
    const is = textOf(after, young.get(name));
    return valueChanges(inner, was, is);
  });
}

function valueChanges(
  path: readonly string[],
  was: Buffer | undefined,
  is: Buffer | undefined,
): SubscriptionChange[] {
  const member = path.join('.');
  const before = was?.toString() ?? null;
  const after = is?.toString() ?? null;
  if (before === after) return [];
  if (was?.[0] === OBJECT && is?.[0] === OBJECT) return memberChanges(path, was, is);
  if (was?.[0] !== ARRAY || is?.[0] !== ARRAY) return [{ member, before, after }];
  const added = without(elementsIn(is, 0), elementsIn(was, 0));
  const removed = without(elementsIn(was, 0), elementsIn(is, 0));
  return added.length + removed.length === 0 ? [] : [{ member, before, after, added, removed }];
}

function textOf(bytes: Buffer, span: Span | undefined): Buffer | undefined {
  return span && bytes.subarray(span.start, span.end);
}

function without(elements: readonly string[], others: readonly string[]): string[] {
  const known = new Set(others);
  return [...new Set(elements)].filter((element) => !known.has(element));
}

/** Returns undefined if the member is not text, or if it is repeated. */
export function idIn(body: Buffer): string | undefined {
  const id = valueIn(body, ['subscriptionId']);
  return typeof id === 'string' && id !== '' ? id : undefined;
}

/** Returns undefined also for a body that is not a subscription. */
export function valueIn(body: Buffer, path: MemberPath): unknown {
  try {
    return SubscriptionText.of(body).value(path);
  } catch {
    return undefined;
  }
}

/** False for the answers of portals and proxies. */
export function isSubscriptionText(body: Buffer): boolean {
  try {
    SubscriptionText.of(body);
    return true;
  } catch {
    return false;
  }
}
