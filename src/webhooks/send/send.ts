import { randomUUID } from 'node:crypto';
import type { Call } from '../../command.ts';
import type { Context } from '../../context.ts';
import { faultText, ServiceError, UsageError } from '../../errors.ts';
import { readGivenFile } from '../../files/whole-files.ts';
import { MISSING } from '../../items/field-cursor.ts';
import { memberPath } from '../../items/field-path.ts';
import { createCursor } from '../../items/known-fields.ts';
import { apiTokenOrWarning } from '../api-token.ts';
import { BodyError, objectLine, readObject } from '../delivery.ts';
import { answerLine, answerText, createHandler, type HandlerAnswer, isTaken } from '../forward.ts';

export interface SendFlags {
  readonly forwardTo: URL;
  /** Milliseconds that the handler has to answer. */
  readonly forwardTimeout: number;
  readonly type?: string;
  /**
   * A file with a JSON object to deliver under a new `eventId`, `-` for standard input; by default a body is
   * made up.
   */
  readonly body?: string;
  readonly duplicate?: true;
}

export async function sendAsProfile(flags: SendFlags, call: Call): Promise<void> {
  const { context, reporter } = call;
  const { forwardTo, forwardTimeout, duplicate } = flags;
  const { clock, signal, stdout } = context;
  const eventId = randomUUID();
  const body = await newEvent(eventId, flags, context);
  const settings = call.settings.checked();
  const apiToken = await apiTokenOrWarning(settings, context, reporter);
  const event = { body, contentType: 'application/json', apiToken, signal };
  const handler = createHandler(forwardTo, forwardTimeout, context);
  try {
    await stdout.write(`${eventId}\n`);
    for (const what of duplicate ? ['', 'the duplicate: '] : ['']) {
      const began = clock.elapsed();
      const answer = await handler.forward(event);
      if (!isTaken(answer)) throw notTakenError(what, answer, forwardTo);
      reporter.notice(`${what}${answerText(answer)} in ${Math.round(clock.elapsed() - began)} ms`);
    }
  } finally {
    await handler.close();
  }
}

async function newEvent(
  eventId: string,
  { type, body: file }: SendFlags,
  { stdin, clock, signal }: Pick<Context, 'stdin' | 'clock' | 'signal'>,
): Promise<Buffer> {
  const members = { eventId, ...(type === undefined ? {} : { eventType: type }) };
  if (file === undefined)
    return Buffer.from(JSON.stringify({ ...members, createdOn: new Date(clock.now()).toISOString() }));
  try {
    return withMembers(file === '-' ? await stdin.bytes() : await readGivenFile(file, signal), members);
  } catch (error) {
    signal.throwIfAborted();
    const why = faultText(error);
    throw new UsageError(`--body: ${error instanceof BodyError ? why : `${file} cannot be read: ${why}`}`, {
      cause: error,
    });
  }
}

function notTakenError(
  what: string,
  { mend, ...answer }: HandlerAnswer,
  { host, pathname }: URL,
): ServiceError {
  const { status } = answer;
  const start = mend ?? `start the handler at ${host}, or name another with --forward-to`;
  const check = status === 404 || status === 405 ? `check the path ${pathname} of --forward-to` : undefined;
  return new ServiceError(`${what}${answerLine(answer)}`, { next: status === undefined ? start : check });
}

/**
 * Replaces the values of some members of a JSON object, and inserts missing ones at its start. Otherwise only
 * white space changes. Throws `BodyError` if the text is not a JSON object.
 */
function withMembers(body: Buffer, members: Readonly<Record<string, string>>): Buffer {
  readObject(body);
  return Object.entries(members).reduceRight((text, [name, value]) => {
    const cursor = createCursor([memberPath(name)]);
    cursor.read(text, 0);
    const replace = (start: number, end: number, json: string) =>
      Buffer.concat([text.subarray(0, start), Buffer.from(json), text.subarray(end)]);
    const [start = MISSING] = cursor.starts;
    if (start !== MISSING) return replace(start, cursor.ends[0] as number, JSON.stringify(value));
    return replace(1, 1, `${JSON.stringify(name)}:${JSON.stringify(value)}${text.length > 2 ? ',' : ''}`);
  }, objectLine(body));
}
