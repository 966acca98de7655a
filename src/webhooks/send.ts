import { randomUUID } from 'node:crypto';
import type { Call } from '../command.ts';
import type { Context } from '../context.ts';
import { ServiceError, UsageError } from '../errors.ts';
import { readRegularFile } from '../files/whole-files.ts';
import { stringEnd, stringText, valueEnd } from '../json/json-scanner.ts';
import { loadSettings, type SettingFlags } from '../settings/settings.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { apiTokenOrWarning } from './api-token.ts';
import { BodyError, objectLine } from './delivery.ts';
import { answerLine, answerText, createHandler, type HandlerAnswer, isTaken } from './forward.ts';

/** The command line. */
export interface SendFlags {
  readonly forwardTo: URL;
  /** Milliseconds that the handler has to answer. */
  readonly forwardTimeout: number;
  /** The event's `eventType`; undefined keeps the one in the body. */
  readonly type: string | undefined;
  /** A file with a JSON object to deliver with another `eventId`, `-` for standard input; undefined makes one. */
  readonly bodyFile: string | undefined;
  /** True to deliver the event twice, as the service may. */
  readonly duplicate: boolean;
}

/** Sends a new event with the `Api-Token` of the profile. */
export async function sendAsProfile(flags: SendFlags, call: Call<SettingFlags>): Promise<void> {
  const { context, reporter } = call;
  const body = flags.bodyFile === undefined ? undefined : await readBody(flags.bodyFile, context);
  const settings = await loadSettings(call.flags.profile ? { profile: call.flags.profile } : {}, context);
  const apiToken = await apiTokenOrWarning(settings, context, reporter);
  await sendEvent({ ...flags, body }, apiToken, context, reporter).catch((error) => {
    throw error instanceof BodyError ? new UsageError(`--body: ${error.message}`) : error;
  });
}

async function readBody(file: string, { stdin }: Pick<Context, 'stdin'>): Promise<Buffer> {
  if (file === '-') return await stdin.bytes();
  try {
    return readRegularFile(file);
  } catch (error) {
    throw new UsageError(`--body: ${file} cannot be read: ${(error as Error).message}`, { cause: error });
  }
}

/**
 * Delivers a new event to a handler as the service would, and prints its id. Throws `ServiceError` if the handler
 * refuses it.
 */
async function sendEvent(
  { forwardTo, forwardTimeout, type, body, duplicate }: SendFlags & { readonly body: Buffer | undefined },
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
      if (!isTaken(answer)) throw notTakenError(what, answer, forwardTo);
      reporter.notice(`${what}${answerText(answer)} in ${Math.round(performance.now() - began)} ms`);
    }
  } finally {
    context.signal.removeEventListener('abort', onAbort);
    await handler.close();
  }
}

function notTakenError(
  what: string,
  { mend, ...answer }: HandlerAnswer,
  { host, pathname }: URL,
): ServiceError {
  const { status } = answer;
  const next =
    status === undefined
      ? (mend ?? `start the handler at ${host}, or name another with --forward-to`)
      : status === 404 || status === 405
        ? `check the path ${pathname} of --forward-to`
        : undefined;
  return new ServiceError(`${what}${answerLine(answer)}`, { next });
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
