import { ServiceError } from '../errors.ts';
import type { HttpResponse } from '../http/transport.ts';

/** What goes into a header and has no end of its own (RFC 6750 section 2.1, and what is seen beside it). */
const HEADER_SAFE = /^[\x21-\x7e]+$/;

export function isHeaderSafe(token: string): boolean {
  return HEADER_SAFE.test(token);
}

/**
 * The answer as the OAuth library wants it, with what the service description shows and nothing else. A member that is
 * missing or of another type must not cost the new refresh token, which cannot be asked for again.
 */
export function grantedIn({ body }: Pick<HttpResponse, 'body'>): Response {
  const answer = parsed(body.toString('utf8'));
  const { access_token, token_type, refresh_token, scope, expires_in } = answer;
  if (typeof access_token === 'string' && !isHeaderSafe(access_token)) {
    throw new ServiceError('the identity provider sent an access token that no header can carry');
  }
  const lifetime =
    typeof expires_in === 'string' && /^\d+(\.\d+)?$/.test(expires_in) ? Number(expires_in) : expires_in;
  const kept = {
    access_token,
    token_type: token_type ?? 'Bearer',
    ...(typeof refresh_token === 'string' && refresh_token !== '' ? { refresh_token } : {}),
    ...(typeof scope === 'string' ? { scope } : {}),
    ...(typeof lifetime === 'number' && lifetime >= 0 ? { expires_in: lifetime } : {}),
  };
  return new Response(JSON.stringify(kept), { headers: { 'content-type': 'application/json' } });
}

function parsed(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    if (value !== null && typeof value === 'object' && !Array.isArray(value))
      return value as Record<string, unknown>;
  } catch {}
  throw new ServiceError("the identity provider's answer cannot be used: it is not a JSON object", {
    next: 'check --auth-url (HOOKTRAIL_AUTH_URL)',
  });
}
