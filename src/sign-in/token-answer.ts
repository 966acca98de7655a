import { type ErrorParts, type HooktrailError, NotSignedInError, ServiceError } from '../errors.ts';
import { describeBody } from '../http/service-error.ts';
import type { HttpResponse } from '../http/transport.ts';

/** What goes into a header and has no end of its own (RFC 6750 section 2.1, and what is seen beside it). */
const HEADER_SAFE = /^[\x21-\x7e]+$/;

export function isHeaderSafe(token: string): boolean {
  return HEADER_SAFE.test(token);
}

/** A grant that cannot be used, although the token it was asked with is spent. */
export class UnusableGrantError extends ServiceError {
  /** The spent token's successor, which cannot be asked for again. */
  readonly refreshToken: string | undefined;

  constructor(message: string, parts: ErrorParts, refreshToken: string | undefined) {
    super(message, parts);
    this.refreshToken = refreshToken;
  }
}

/** A success of the token endpoint. */
export interface Granted {
  readonly refreshToken: string | undefined;
  /**
   * The answer as the OAuth library wants it, with what the service description shows and nothing else. A member that is
   * missing or of another type is left out where that makes the grant no worse.
   */
  readonly response: Response;
}

/** Seconds that the service description, part 8, states, for an answer that says none and a token that can be renewed. */
const STATED_LIFETIME = 1800;
/** A hundred years in seconds: past it dates end. */
const LONGEST_LIFETIME = 3_155_760_000;

export function grantedIn({ body }: Pick<HttpResponse, 'body'>): Granted {
  const answer = parsed(body.toString('utf8'));
  const { access_token, token_type, refresh_token, scope, expires_in } = answer;
  const refreshToken = typeof refresh_token === 'string' && refresh_token !== '' ? refresh_token : undefined;
  const kept = {
    access_token,
    token_type: token_type ?? 'Bearer',
    refresh_token: refreshToken,
    ...(typeof scope === 'string' ? { scope } : {}),
    expires_in: lifetimeOf(expires_in) ?? (refreshToken === undefined ? undefined : STATED_LIFETIME),
  };
  const response = new Response(JSON.stringify(kept), { headers: { 'content-type': 'application/json' } });
  return { refreshToken, response };
}

function lifetimeOf(value: unknown): number | undefined {
  const seconds = typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value;
  return typeof seconds === 'number' ? Math.min(Math.max(seconds, 0), LONGEST_LIFETIME) : undefined;
}

function parsed(text: string): Record<string, unknown> {
  try {
    // RFC 8259 section 8.1 lets a reader pass over a byte order mark.
    const value: unknown = JSON.parse(text.replace(/^\ufeff/, ''));
    if (value !== null && typeof value === 'object' && !Array.isArray(value))
      return value as Record<string, unknown>;
  } catch {}
  throw new ServiceError("the identity provider's answer cannot be used: it is not a JSON object", {
    next: 'check --auth-url (HOOKTRAIL_AUTH_URL)',
  });
}

/** The code or refresh token is spent, expired or revoked (RFC 6749 section 5.2, `invalid_grant`). */
export class InvalidGrantError extends NotSignedInError {}

/** Other answers that mean: not with this client, not with this secret, not this user. */
const REFUSALS = new Set(['invalid_client', 'unauthorized_client', 'access_denied']);

/** The error for an answer of the token endpoint that grants nothing. Nothing of `secrets` is in it, whatever the answer repeats. */
export function tokenRefusal(answer: HttpResponse, what: string, secrets: readonly string[]): HooktrailError {
  const { status } = answer;
  if (status >= 300 && status < 400) {
    return new ServiceError(`${what} failed: the identity provider answered with a redirect (${status})`, {
      details: [
        'redirects of the token endpoint are not followed: they would carry the client secret elsewhere',
      ],
      next: 'check --auth-url (HOOKTRAIL_AUTH_URL)',
    });
  }
  const details = describeBody(answer).map((line) => withoutSecrets(line, secrets));
  const error = errorOf(answer);
  if (error === 'invalid_grant') {
    return new InvalidGrantError(`${what} was refused by the identity provider`, {
      details,
      next: 'run `hooktrail login`',
    });
  }
  if (REFUSALS.has(error ?? '') || status === 401) {
    return new NotSignedInError(`${what} was refused by the identity provider`, {
      details,
      next: 'check --client-id, and run `hooktrail login --client-secret-stdin` with the right client secret',
    });
  }
  // The description shows no error answers, so their form proves nothing: these mean no, whatever they say beside it.
  if (status === 400 || status === 403) {
    return new NotSignedInError(`${what} was refused by the identity provider (${status})`, {
      details,
      next: 'check the client settings, and run `hooktrail login`',
    });
  }
  return new ServiceError(`${what} failed: the identity provider answered ${status}`, {
    details,
    next:
      status >= 500 || status === 429 || status === 408
        ? 'run the command again later: the sign-in is kept'
        : 'check --auth-url (HOOKTRAIL_AUTH_URL) and the client settings',
  });
}

function errorOf({ body }: HttpResponse): string | undefined {
  try {
    const { error } = JSON.parse(body.toString('utf8'));
    return typeof error === 'string' ? error : undefined;
  } catch {
    return undefined;
  }
}

/** Providers repeat parameters in their explanations; and whatever looks like a token is not for a terminal or a log. */
function withoutSecrets(line: string, secrets: readonly string[]): string {
  let text = line;
  for (const secret of secrets.filter((secret) => secret.length > 3)) {
    for (const form of new Set([secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)])) {
      text = text.replaceAll(form, '[redacted]');
    }
  }
  return text
    .replace(/\beyJ[\w-]{8,}(\.[\w-]*)*/g, '[redacted]')
    .replace(
      /\b((?:access|refresh|id)_token|client_secret|code_verifier)(["']?\s*[:=]\s*)["']?[^\s"',&]+/gi,
      '$1$2[redacted]',
    );
}
