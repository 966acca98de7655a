import { type Advice, advise, hooktrail } from '../advice.ts';
import type { Clock, Context } from '../context.ts';
import { ServiceError, UnreachableError } from '../errors.ts';
import { traced } from '../http/redaction.ts';
import {
  type HttpRequest,
  type HttpResponse,
  TOKEN_LIMITS,
  type Transport,
  TransportError,
} from '../http/transport.ts';
import { createTransport } from '../http/undici-client.ts';
import type { Settings } from '../settings/settings.ts';
import type { Reporter } from '../terminal/reporter.ts';

/** The identity provider of one client. */
export interface Provider {
  readonly settings: Settings<'authUrl' | 'clientId'>;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly advice: ProviderAdvice;
}

/** The next steps after a failure that may pass. */
export interface ProviderAdvice {
  /** If there was no answer; follows "check the network, then". */
  readonly again: string;
  /** If the client or its secret is refused. */
  readonly refused: Advice;
  /** If the client may not use this grant. */
  readonly notAllowed?: Advice;
  /** If the request is refused, and no code says why. */
  readonly badRequest?: Advice;
  /** Instead of `again`, if the request may have been carried out. */
  readonly unknown?: string;
}

export const NEW_SIGN_IN: ProviderAdvice = {
  again: 'run the same command again',
  refused:
    'check --client-id, and run the same command with --client-secret-stdin and the right client secret',
};

export const STORED: ProviderAdvice = {
  again: 'run the command again later: the sign-in is kept',
  refused: advise`check --client-id, and run ${hooktrail('login --client-secret-stdin')} with the right client secret`,
  // If the request was carried out, the stored refresh token is spent.
  unknown: 'run the command again to find out whether the sign-in is kept',
};

/** The next step if what answers is probably no identity provider. */
export const CHECK_ADDRESS = 'check --auth-url (HOOKTRAIL_AUTH_URL)';

/** Milliseconds and bytes for an answer that the sign-in can do without. */
export const OPTIONAL_LIMITS = { connect: 5_000, idle: 5_000, total: 10_000, bytes: 1024 * 1024 };

/**
 * Runs `work` with connections of its own to the identity provider, which no other part of the command
 * closes, and then closes them.
 */
export async function withProvider<Result>(
  settings: Provider['settings'],
  { context, reporter }: { readonly context: Context; readonly reporter: Reporter },
  work: (provider: Provider) => Promise<Result>,
  { limits = TOKEN_LIMITS, advice = STORED } = {},
): Promise<Result> {
  const { clock } = context;
  const transport = traced(createTransport(context, limits), reporter, clock);
  try {
    return await work({ settings, transport, clock, advice });
  } finally {
    await transport.close();
  }
}

/** Sends a request to the provider. Throws `UnreachableError` if there is no answer. */
export async function send({ transport, advice }: Provider, request: HttpRequest): Promise<HttpResponse> {
  try {
    return await transport.send(request);
  } catch (error) {
    if (!(error instanceof TransportError)) throw error;
    const { message, kind, ambiguous, setupStep } = error;
    if (kind === 'too-large') throw new ServiceError(error.message, { next: CHECK_ADDRESS, cause: error });
    const then = (ambiguous && advice.unknown) || advice.again;
    throw new UnreachableError(`the identity provider could not be reached: ${message}`, {
      cause: error,
      next: setupStep ?? `check the network and --auth-url (HOOKTRAIL_AUTH_URL), then ${then}`,
    });
  }
}

/** True if the same request may be answered otherwise later. */
export function mayPass(error: unknown): boolean {
  if (error instanceof ServiceError) return error.retryable === true;
  return error instanceof UnreachableError && error.cause instanceof TransportError && error.cause.passing;
}

/** True if a request with such an answer may be answered otherwise later. */
export function isPassingStatus(status: number): boolean {
  return status >= 500 || status === 429 || status === 408;
}

export type JsonObject = Readonly<Record<string, unknown>>;

/** The JSON object that a body is; undefined for any other. */
export function parseObject(body: Buffer): JsonObject | undefined {
  try {
    // RFC 8259 section 8.1 allows a reader to ignore a byte order mark.
    const value: unknown = JSON.parse(body.toString('utf8').replace(/^\ufeff/, ''));
    return value !== null && typeof value === 'object' && !Array.isArray(value)
      ? (value as JsonObject)
      : undefined;
  } catch {
    return undefined;
  }
}
