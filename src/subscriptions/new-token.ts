import { advise, hooktrail } from '../advice.ts';
import type { Call } from '../command.ts';
import { type HooktrailError, OutputError, ServiceError } from '../errors.ts';
import type { Service, ServiceRequest } from '../http/service.ts';
import type { HttpResponse } from '../http/transport.ts';
import type { ApiTokens } from '../secrets/api-tokens.ts';
import { isHeaderSafe } from '../secrets/given-secret.ts';
import { storeSuccessor } from '../sign-in/store-surely.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { isDone } from './request-fate.ts';

/**
 * Headers that may carry a new token, the more likely first: the published reference names `Api-Key` for
 * renewals, and `Api-Token` everywhere else.
 */
const TOKEN_HEADERS = ['api-token', 'api-key'] as const;

/**
 * Sends a request whose answer carries an `Api-Token`, once. An interrupt does not end it: the token is sent
 * only in this answer. Returns the answer, with an empty body if that never ended, or the error without one.
 */
export async function askForToken(
  request: ServiceRequest,
  service: Service,
): Promise<HttpResponse | HooktrailError> {
  let begun: HttpResponse | undefined;
  const onHeaders: ServiceRequest['onHeaders'] = (head) => {
    begun = { ...head, body: Buffer.alloc(0) };
  };
  try {
    return await service.send({ ...request, onHeaders, signal: undefined });
  } catch (error) {
    if (begun && isDone(begun) && tokenIn(begun) !== undefined) return begun;
    return error as HooktrailError;
  }
}

export function tokenIn(answer: HttpResponse): string | undefined {
  return tokensIn(answer)[0];
}

function tokensIn({ headers }: HttpResponse): string[] {
  return TOKEN_HEADERS.flatMap((name) => tokenInHeader(String(headers[name] ?? '')) ?? []);
}

/**
 * Returns undefined if there is no token, or several. If a proxy repeats the header, its values arrive joined
 * by a comma.
 */
function tokenInHeader(value: string): string | undefined {
  const [token = '', another] = new Set(value.split(/, /).map((text) => text.trim()));
  return another === undefined && isHeaderSafe(token) ? token : undefined;
}

export function warnOfSecondToken(
  answer: HttpResponse,
  id: string,
  reporter: Pick<Reporter, 'warning'>,
): void {
  const [token, second] = tokensIn(answer);
  if (second === undefined || second === token) return;
  reporter.warning(
    'the answer has one token in Api-Token and another in Api-Key; that of Api-Token is saved',
    {
      kind: 'service',
      next: advise`if deliveries do not carry it, get another: ${hooktrail('subscriptions renew', id)}`,
    },
  );
}

/**
 * Saves a new token, before anything is printed. If its store fails, keeps it in another folder and warns.
 * Returns the place for a message. Throws `ServiceError` if the token is lost, or only shown.
 */
export async function keepToken(
  token: string,
  id: string,
  tokens: ApiTokens,
  { context, reporter }: Pick<Call, 'context' | 'reporter'>,
): Promise<string> {
  const store = tokens.of(id);
  const warn = (text: string) => reporter.warning(text, { kind: 'service' });
  const lost = (error: Error): never => {
    throw lostToken(token, id, [error.message], { context, reporter }, error);
  };
  const isStored = (found: string) => found === token;
  const stored = await storeSuccessor(store, token, isStored, context.clock).catch(lost);
  await store.forgetRenewal();
  if (stored.state === 'elsewhere')
    warn(
      `the new Api-Token could not be stored in ${store.place}; it is kept, encrypted, in ${stored.place}, where the next command finds it`,
    );
  if (stored.state === 'undurable')
    warn(`the new Api-Token is stored, but a loss of power could still lose it: ${stored.fault.message}`);
  return stored.place;
}

/**
 * Returns the error for a token that could not be kept, and shows the token if standard error is a terminal.
 */
export function lostToken(
  token: string,
  id: string | undefined,
  details: readonly string[],
  { context, reporter }: Pick<Call, 'context' | 'reporter'>,
  cause?: unknown,
): ServiceError {
  const isShown = context.stderr.isTerminal;
  if (isShown) reporter.say(`Api-Token: ${token}`);
  const next = advise`${hooktrail('subscriptions renew', id ?? 'ID')} gets another`;
  const message = isShown
    ? 'the new Api-Token could not be stored: it is shown above, this once'
    : 'the new Api-Token is lost: the service gave it, and it could not be stored';
  return new ServiceError(message, { details, next, cause });
}

/**
 * Prints the result of a change. The usual advice for a full disk, to run the command again, would repeat the
 * change, so `unprinted` makes another error.
 */
export async function printOnce(
  print: () => Promise<void>,
  unprinted: (cause: OutputError) => ServiceError,
): Promise<void> {
  try {
    await print();
  } catch (error) {
    throw error instanceof OutputError ? unprinted(error) : error;
  }
}
