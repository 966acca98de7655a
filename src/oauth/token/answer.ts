import { type ErrorParts, ServiceError } from '../../errors.ts';
import type { HttpResponse } from '../../http/transport.ts';

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
