import { type Advice, advise, hooktrail } from '../advice.ts';
import { type ErrorParts, type HooktrailError, NotSignedInError, ServiceError } from '../errors.ts';
import { redactSecrets } from '../http/redaction.ts';
import { describeBody } from '../http/service.ts';
import type { HttpResponse } from '../http/transport.ts';
import { CHECK_ADDRESS, isPassingStatus, type ProviderAdvice, parseObject } from './provider.ts';

/** The provider refused; holds the error code of RFC 6749 section 5.2 if it gave one. */
export class RefusedGrantError extends NotSignedInError {
  readonly error: string | undefined;

  constructor(message: string, parts: ErrorParts, error: string | undefined) {
    super(message, parts);
    this.error = error;
  }
}

/** Other error codes that mean a refusal of this client, this secret or this user. */
const REFUSALS = ['invalid_client', 'unauthorized_client', 'unsupported_grant_type', 'access_denied'];

/** Error codes that mean a refusal of the grant, not of the client. */
const NOT_ALLOWED = ['unauthorized_client', 'unsupported_grant_type'];

/** The parameters of a request that an answer may repeat, and that must not be shown. */
const SECRET_PARAMETERS = [
  'client_secret',
  'client_assertion',
  'code',
  'code_verifier',
  'refresh_token',
  'device_code',
  'token',
];

/**
 * The error for an answer that grants nothing. `what` was asked for with the parameters of `form`, whose
 * secrets are redacted where the answer repeats them.
 */
export function refusalOf(
  answer: HttpResponse,
  what: string,
  advice: ProviderAdvice,
  form: string,
): HooktrailError {
  const { status } = answer;
  if (status >= 300 && status < 400) return redirected(what, status);
  const details = shownDetails(answer, form);
  const error = errorCode(answer);
  const refused = `${what} was refused by the identity provider`;
  const isOfClient = REFUSALS.includes(error ?? '') || status === 401;
  if (error === 'invalid_grant' || isOfClient) {
    const next = stepAfter(error, advice);
    return new RefusedGrantError(refused, { details, next }, error);
  }
  // The description shows no error answers, so these statuses count as a refusal whatever the body.
  if (status === 400 || status === 403) {
    const next = stepAfterBadRequest(error, advice);
    return new RefusedGrantError(`${refused} (${status})`, { details, next }, error);
  }
  const retryable = isPassingStatus(status);
  const next = retryable ? stepAfterFailure(status, advice) : `${CHECK_ADDRESS} and the client settings`;
  const message = `${what} failed: the identity provider answered ${status}`;
  return new ServiceError(message, { status, retryable, details, next });
}

function shownDetails(answer: HttpResponse, form: string): string[] {
  const sent = new URLSearchParams(form);
  const secrets = SECRET_PARAMETERS.flatMap((name) => sent.get(name) ?? []);
  return describeBody(answer).map((line) => redactSecrets(line, secrets));
}

/** The error code of RFC 6749 section 5.2; undefined if the answer has none. */
function errorCode({ body }: HttpResponse): string | undefined {
  const code = parseObject(body)?.['error'];
  return typeof code === 'string' ? code : undefined;
}

function redirected(what: string, status: number): ServiceError {
  return new ServiceError(`${what} failed: the identity provider answered with a redirect (${status})`, {
    details: [
      'redirects of the token endpoint are not followed: they would carry the client secret elsewhere',
    ],
    next: CHECK_ADDRESS,
  });
}

/** The next step after a failure that may pass. */
function stepAfterFailure(status: number, { again, unknown }: ProviderAdvice): string {
  const mayBeDone = status >= 500 && status !== 503;
  return (mayBeDone && unknown) || again;
}

/** The next step after a refusal of the sign-in or of the client. */
function stepAfter(error: string | undefined, { notAllowed, refused }: ProviderAdvice): Advice {
  if (error === 'invalid_grant') return advise`run ${hooktrail('login')}`;
  return NOT_ALLOWED.includes(error ?? '') ? (notAllowed ?? refused) : refused;
}

/** The next step after a refusal that does not say what is refused. */
function stepAfterBadRequest(error: string | undefined, { badRequest }: ProviderAdvice): Advice {
  if (error === 'invalid_scope') return 'name with --scope the scopes issued to the client';
  return badRequest ?? advise`check the client settings, and run ${hooktrail('login')}`;
}
