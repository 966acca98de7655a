import { type Advice, advise, hooktrail } from '../advice.ts';
import {
  type ErrorParts,
  type HooktrailError,
  NotSignedInError,
  ServiceError,
  UnreachableError,
} from '../errors.ts';
import { redactSecrets, secretsInHeaders } from '../http/redaction.ts';
import { describeBody } from '../http/service.ts';
import { type HttpResponse, TransportError } from '../http/transport.ts';

export interface ProviderAdvice {
  /** If there was no answer; follows "check the network, then". */
  readonly again: string;
  readonly refused: Advice;
  readonly notAllowed?: Advice;
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

export const CHECK_ADDRESS = 'check --auth-url (HOOKTRAIL_AUTH_URL)';

/** The provider refused; has the error code and description of RFC 6749 section 5.2, if given. */
export class RefusedGrantError extends NotSignedInError {
  readonly error: string | undefined;
  readonly description: string | undefined;

  constructor(message: string, parts: ErrorParts, error: string | undefined, description?: string) {
    super(message, parts);
    this.error = error;
    this.description = description;
  }
}

/** Error codes, other than `invalid_grant`, for a refusal of this client, secret or user. */
const REFUSALS = ['invalid_client', 'unauthorized_client', 'unsupported_grant_type', 'access_denied'];

const NOT_ALLOWED = ['unauthorized_client', 'unsupported_grant_type'];

/** Further error codes for a refusal with any status: RFC 6749 section 5.2, RFC 8628 section 3.5. */
const OTHER_CODES = [
  'invalid_request',
  'invalid_scope',
  'authorization_pending',
  'slow_down',
  'expired_token',
];

/** Error codes for a temporary failure (RFC 6749 section 4.1.2.1). */
const PASSING_CODES = ['server_error', 'temporarily_unavailable'];

const ENDED_GRANT = [
  'bad_refresh_token',
  'bad_verification_code',
  'invalid_refresh_token',
  'token_expired',
  'token_revoked',
];

/** Request parameters that must not be shown if an answer repeats them. */
const SECRET_PARAMETERS = [
  'client_secret',
  'client_assertion',
  'code',
  'code_verifier',
  'refresh_token',
  'device_code',
  'token',
];

export interface Refusal {
  readonly answer: HttpResponse;
  /** The error code (RFC 6749 section 5.2), if any. */
  readonly code: string | undefined;
  readonly description: string | undefined;
  /** True for a status after which the same request may succeed later. */
  readonly hasPassingStatus: boolean;
}

export function refusalOf(
  { answer, code, description, hasPassingStatus }: Refusal,
  what: string,
  advice: ProviderAdvice,
  form: string,
): HooktrailError {
  const { status } = answer;
  if (status >= 300 && status < 400) return redirected(what, status);
  const secrets = [...secretsIn(form), ...secretsInHeaders(answer.headers)];
  const details = describeBody(answer).map((line) => redactSecrets(line, secrets));
  const why = description && redactSecrets(description, secrets);
  const refused = `${what} was refused by the identity provider`;
  const error = code !== undefined && ENDED_GRANT.includes(code) ? 'invalid_grant' : code;
  const isOfClient = REFUSALS.includes(error ?? '') || status === 401;
  if (error === 'invalid_grant' || isOfClient) {
    const next = stepAfter(error, advice);
    return new RefusedGrantError(refused, { details, next }, error, why);
  }
  const isPassing = hasPassingStatus || PASSING_CODES.includes(error ?? '');
  if (isRefused(status, error) && !isPassing) {
    const next = stepAfterBadRequest(error, advice);
    return new RefusedGrantError(`${refused} (${status})`, { details, next }, error, why);
  }
  const next = isPassing ? stepAfterFailure(status, advice) : `${CHECK_ADDRESS} and the client settings`;
  const message = `${what} failed: the identity provider answered ${status}`;
  return new ServiceError(message, { status, retryable: isPassing, details, next });
}

/**
 * True if an answer refuses the request itself. The service description shows no error answers, so 400 and
 * 403 count as a refusal with any body. Some providers answer 200 with an error, or 428 while a device
 * sign-in waits.
 */
function isRefused(status: number, error = ''): boolean {
  return status < 300 || status === 400 || status === 403 || OTHER_CODES.includes(error);
}

function secretsIn(form: string): string[] {
  const sent = new URLSearchParams(form);
  return SECRET_PARAMETERS.flatMap((name) => sent.get(name) ?? []);
}

function redirected(what: string, status: number): ServiceError {
  return new ServiceError(`${what} failed: the identity provider answered with a redirect (${status})`, {
    details: [
      'redirects of the token endpoint are not followed: they would carry the client secret elsewhere',
    ],
    next: CHECK_ADDRESS,
  });
}

function stepAfterFailure(status: number, { again, unknown }: ProviderAdvice): string {
  const mayBeDone = status >= 500 && status !== 503;
  return (mayBeDone && unknown) || again;
}

function stepAfter(error: string | undefined, { notAllowed, refused }: ProviderAdvice): Advice {
  if (error === 'invalid_grant') return advise`run ${hooktrail('login')}`;
  return NOT_ALLOWED.includes(error ?? '') ? (notAllowed ?? refused) : refused;
}

function stepAfterBadRequest(error: string | undefined, { badRequest }: ProviderAdvice): Advice {
  if (error === 'invalid_scope') return 'use --scope with the scopes issued to the client';
  return badRequest ?? advise`check the client settings, and run ${hooktrail('login')}`;
}

/** True if the same request may succeed later. */
export function mayPass(error: unknown): boolean {
  if (error instanceof ServiceError) return error.retryable === true;
  return error instanceof UnreachableError && error.cause instanceof TransportError && error.cause.passing;
}
