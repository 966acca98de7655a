import { randomUUID } from 'node:crypto';
import type { Context } from '../context.ts';
import { ServiceError } from '../errors.ts';
import { stringEnd, stringText, valueEnd } from '../json/json-bytes.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { objectLine } from './delivery.ts';
import { answerText, createHandler, isTaken } from './forward.ts';

export interface SendOptions {
  readonly forwardTo: URL;
  /** Milliseconds that the handler has to answer. */
  readonly forwardTimeout: number;
  /** The event's `eventType`; undefined keeps the one in the body. */
  readonly type: string | undefined;
  /** A JSON object to deliver with another `eventId`; undefined creates one. */
  readonly body: Buffer | undefined;
  /** True to deliver the event twice, as the service may. */
  readonly duplicate: boolean;
}

/**
 * Delivers a new event to a handler as the service would, and prints its id. Throws `ServiceError` if the handler
 * refuses it.
 */
export async function sendEvent(
  { forwardTo, forwardTimeout, type, body, duplicate }: SendOptions,
  apiToken: string | undefined,
  context: Context,
  reporter: Reporter,
): Promise<void> {
  const eventId = randomUUID();
  const members = { eventId, ...(type === undefined ? {} : { eventType: type }) };
  const created = { ...members, createdOn: new Date(context.clock.now()).toISOString() };
  const event = body ? withMembers(body, members) : Buffer.from(JSON.stringify(created));
  const handler = createHandler(forwardTo, forwardTimeout, context);
  const onAbort = () => void handler.close();
  context.signal.addEventListener('abort', onAbort, { once: true });
  try {
    await context.stdout.write(`${eventId}\n`);
    for (const what of duplicate ? ['', 'the duplicate: '] : ['']) {
      const began = performance.now();
      const answer = await handler.forward({ body: event, contentType: 'application/json', apiToken });
      context.signal.throwIfAborted();
      const text = `${what}${answerText(answer)}`;
      if (!isTaken(answer)) throw new ServiceError(text);
      reporter.notice(`${text} in ${Math.round(performance.now() - began)} ms`);
    }
  } finally {
    context.signal.removeEventListener('abort', onAbort);
    await handler.close();
  }
}

const CLOSE = 0x7d;
const COMMA = 0x2c;

/**
 * Replaces the values of some members of a JSON object. Only white space changes besides. Missing members are added
 * first. Throws `BodyError` if the text is not a JSON object.
 */
export function withMembers(body: Buffer, members: Readonly<Record<string, string>>): Buffer {
  const text = objectLine(body);
  const left = new Map(Object.entries(members));
  const parts: Buffer[] = [];
  let copied = 1;
  for (let at = 1; text[at] !== CLOSE; ) {
    const nameEnd = stringEnd(text, at);
    const name = stringText(text, at, nameEnd);
    at = valueEnd(text, nameEnd + 1);
    if (Object.hasOwn(members, name)) {
      parts.push(text.subarray(copied, nameEnd + 1), Buffer.from(JSON.stringify(members[name])));
      copied = at;
      left.delete(name);
    }
    if (text[at] === COMMA) at++;
  }
  const rest = Buffer.concat([...parts, text.subarray(copied)]);
  const added = [...left].map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
  return Buffer.from(`{${added.join(',')}${added.length > 0 && rest[0] !== CLOSE ? ',' : ''}${rest}`);
}
