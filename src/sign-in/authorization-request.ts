import { type RedirectUri, type SettingValues, urlText } from '../settings/setting-values.ts';

/** An authorization request on its way, with what proves that an answer belongs to it. */
export interface AuthorizationRequest {
  /** What the browser opens. */
  readonly url: URL;
  readonly redirectUri: RedirectUri;
  /** 256 random bits; comes back with the redirect (RFC 6749 section 10.12). */
  readonly state: string;
  /** Secret: shown to the token endpoint alone (RFC 7636). */
  readonly codeVerifier: string;
}

type Identity = Pick<SettingValues, 'authUrl' | 'clientId' | 'scope' | 'redirectUri'>;

/** Builds the request of the service description, part 5, step 1, with `state` and a PKCE challenge added. */
export async function createAuthorizationRequest(identity: Identity): Promise<AuthorizationRequest> {
  const { calculatePKCECodeChallenge, generateRandomCodeVerifier, generateRandomState } = await import(
    'oauth4webapi'
  );
  const state = generateRandomState();
  const codeVerifier = generateRandomCodeVerifier();
  const url = new URL(`${urlText(identity.authUrl)}/connect/authorize`);
  const parameters = new URLSearchParams({
    client_id: identity.clientId,
    // Not of RFC 6749: this provider requires it.
    grant_type: 'authorization_code',
    response_type: 'code',
    redirect_uri: identity.redirectUri.text,
    scope: identity.scope,
    state,
    code_challenge: await calculatePKCECodeChallenge(codeVerifier),
    code_challenge_method: 'S256',
  });
  // The same to a form decoder, and right for one that knows URLs alone.
  url.search = parameters.toString().replaceAll('+', '%20');
  return { url, redirectUri: identity.redirectUri, state, codeVerifier };
}
