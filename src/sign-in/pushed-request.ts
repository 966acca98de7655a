import { NotSignedInError } from '../errors.ts';
import { urlText } from '../settings/setting-names.ts';
import type { AuthorizationRequest } from './authorization.ts';
import type { ClientProof } from './client-authentication.ts';
import type { Provider } from './provider.ts';
import { requiredPushEndpoint } from './provider-metadata.ts';
import { pushAuthorizationRequest } from './token-endpoint.ts';

/** An authorization request as the browser opens it. */
export interface OpenedRequest extends AuthorizationRequest {
  /** If the address is valid for a short time only. */
  readonly validSeconds?: number | undefined;
}

/**
 * Sends an authorization request to the provider itself where its metadata requires that (RFC 9126): the
 * browser then gets a reference to it. Returns the request unchanged elsewhere. Throws as `exchangeCode`
 * does, and `NotSignedInError` if the provider names no endpoint of its own for it.
 */
export async function pushIfRequired(
  request: AuthorizationRequest,
  provider: Provider,
  proof: ClientProof,
): Promise<OpenedRequest> {
  const endpoint = await requiredPushEndpoint(provider);
  if (endpoint === undefined) return request;
  if (endpoint === 'none')
    throw new NotSignedInError('the identity provider requires that sign-ins are announced to it', {
      details: ['its metadata names no pushed_authorization_request_endpoint of its own'],
      next: 'check --auth-url (HOOKTRAIL_AUTH_URL)',
    });
  const pushed = await pushAuthorizationRequest(provider, proof, endpoint, request.url.searchParams);
  const url = new URL(`${urlText(provider.settings.authUrl)}/connect/authorize`);
  // RFC 9126 section 4: the other parameters are in what was pushed.
  const parameters = { client_id: provider.settings.clientId, request_uri: pushed.request_uri };
  url.search = new URLSearchParams(parameters).toString().replaceAll('+', '%20');
  return { ...request, url, validSeconds: pushed.expires_in };
}
