import { hash, timingSafeEqual } from 'node:crypto';
import { type RedirectUri, urlText } from '../settings/setting-names.ts';
import type { Settings } from '../settings/settings.ts';
import { terminalSafeLine } from '../terminal/terminal-text.ts';

export interface ExpectedRedirect {
  /** 256 random bits, repeated in the redirect (RFC 6749 section 10.12). */
  readonly state: string;
  /** The expected `iss` (RFC 9207); `none` disables the check. */
  readonly issuer: string;
  /**
   * The auth URL as typed, if the issuer defaults to it: a trailing slash may be part of the provider's name.
   */
  readonly issuerAsTyped?: string | undefined;
  readonly clientId: string;
}

export interface AuthorizationRequest extends ExpectedRedirect {
  readonly url: URL;
  readonly redirectUri: RedirectUri;
  /** Secret: sent only to the token endpoint (RFC 7636). */
  readonly codeVerifier: string;
}

/** Builds the request of the service description, part 5, step 1, with `state` and a PKCE challenge added. */
export async function createAuthorizationRequest(
  settings: Settings<'authUrl' | 'clientId'>,
  redirectUri: RedirectUri,
): Promise<AuthorizationRequest> {
  const oauth = await import('oauth4webapi');
  const state = oauth.generateRandomState();
  const codeVerifier = oauth.generateRandomCodeVerifier();
  const url = authorizationUrl(settings, {
    client_id: settings.clientId,
    // Not part of RFC 6749, but required by this provider.
    grant_type: 'authorization_code',
    response_type: 'code',
    redirect_uri: redirectUri.text,
    scope: settings.scope,
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(codeVerifier),
    code_challenge_method: 'S256',
  });
  return { url, redirectUri, state, codeVerifier, ...expectedOf(settings) };
}

export function authorizationUrl(
  { authUrl }: Pick<Settings<'authUrl'>, 'authUrl'>,
  parameters: Readonly<Record<string, string>>,
): URL {
  const url = new URL(`${urlText(authUrl)}/connect/authorize`);
  // Every decoder reads `%20` as a space; `+` only form decoders.
  url.search = new URLSearchParams(parameters).toString().replaceAll('+', '%20');
  return url;
}

/**
 * Returns the issuer and client that a redirect must name; the issuer defaults to the identity provider's
 * address (RFC 9207).
 */
export function expectedOf({
  issuer,
  authUrl,
  clientId,
  given,
}: Settings<'authUrl' | 'clientId'>): Omit<ExpectedRedirect, 'state'> {
  if (issuer !== undefined) return { issuer, clientId };
  return { issuer: urlText(authUrl), clientId, issuerAsTyped: given.authUrl?.text };
}

export type AuthorizationResponse =
  /** A valid answer, with the parameters as checked by the library, whose token request requires them. */
  | { readonly kind: 'code'; readonly parameters: URLSearchParams }
  | { readonly kind: 'refused'; readonly error: string; readonly description: string | undefined }
  /** Our `state`, but another issuer, or none: a mix-up (RFC 9207 section 2.4) or a wrong setting. */
  | { readonly kind: 'foreign'; readonly issuer: string | undefined; readonly parameters: URLSearchParams }
  | { readonly kind: 'stray'; readonly reason: string };

export type AuthorizationAnswer = Exclude<AuthorizationResponse, { kind: 'stray' }>;

/**
 * Checks `state`, then `iss`, then `error`, then `code`, so that a stranger's request never counts as an
 * answer (RFC 6749 section 4.1.2, RFC 9207 section 2.4, RFC 9700 section 4.4).
 */
export async function checkResponse(
  parameters: URLSearchParams,
  expected: ExpectedRedirect,
): Promise<AuthorizationResponse> {
  const names = [...parameters.keys()];
  // RFC 6749 section 3.1: parameters must not be included more than once.
  if (new Set(names).size < names.length)
    return { kind: 'stray', reason: 'a parameter appears more than once' };
  const state = parameters.get('state');
  if (!state) return { kind: 'stray', reason: 'it has no state' };
  if (!sameSecret(state, expected.state))
    return { kind: 'stray', reason: 'its state does not match this sign-in (an old tab?)' };
  const issuer = parameters.get('iss') ?? undefined;
  const error = parameters.get('error');
  // An error without an issuer reveals nothing, and people need its text.
  const isChecked = expected.issuer !== 'none' && (error === null || issuer !== undefined);
  // RFC 9207 section 2.4: compared as strings, without normalizing them.
  if (isChecked && (issuer === undefined || ![expected.issuer, expected.issuerAsTyped].includes(issuer)))
    return { kind: 'foreign', issuer, parameters };
  if (error !== null)
    return { kind: 'refused', error, description: parameters.get('error_description') ?? undefined };
  if (!parameters.get('code')) return { kind: 'stray', reason: 'it has neither code nor error' };
  const { validateAuthResponse } = await import('oauth4webapi');
  const server = { issuer: issuer ?? 'none', authorization_response_iss_parameter_supported: isChecked };
  const client = { client_id: expected.clientId };
  try {
    return { kind: 'code', parameters: validateAuthResponse(server, client, parameters, expected.state) };
  } catch {
    // A JARM, implicit or hybrid response, which was not requested.
    return { kind: 'stray', reason: 'it is not the answer to a code request' };
  }
}

/** Characters shown of an answer's error with its description. */
const ERROR_CHARACTERS = 300;

/** Returns the error of an answer that anyone may have sent, safe to print; undefined if it has none. */
export function errorIn(parameters: URLSearchParams): string | undefined {
  const error = parameters.get('error');
  if (!error) return undefined;
  const description = parameters.get('error_description');
  return terminalSafeLine(`${error}${description ? ` (${description})` : ''}`.slice(0, ERROR_CHARACTERS));
}

export function issuerText(issuer: string | undefined): string {
  return issuer === undefined ? 'no issuer' : `the issuer ${terminalSafeLine(issuer.slice(0, 300))}`;
}

/** Compares in constant time, which reveals nothing about the secret, not even its length. */
export function sameSecret(given: string, secret: string): boolean {
  const digest = (text: string) => hash('sha256', text, 'buffer');
  return timingSafeEqual(digest(given), digest(secret));
}
