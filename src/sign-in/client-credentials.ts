import { advise, hooktrail } from '../advice.ts';
import type { AccessToken } from '../secrets/vault.ts';
import type { ClientProof } from './client-authentication.ts';
import { mayPass, NEW_SIGN_IN, type ProviderAdvice, STORED } from './provider-failure.ts';
import { type Provider, requestGrant } from './token-endpoint.ts';

const NOT_ALLOWED = advise`ask whoever issued the client to allow it the grant client_credentials, or sign in as a person with ${hooktrail('login')}`;

const REQUEST_ADVICE = {
  notAllowed: NOT_ALLOWED,
  badRequest: advise`check --client-id, the client secret and --scope; or ${NOT_ALLOWED}`,
};

export const NEW_CLIENT: ProviderAdvice = { ...NEW_SIGN_IN, ...REQUEST_ADVICE };

export const STORED_CLIENT: ProviderAdvice = {
  ...REQUEST_ADVICE,
  again: STORED.again,
  refused: advise`check --client-id, and run ${hooktrail('login --client-credentials --client-secret-stdin')} with the right client secret`,
};

/**
 * Returns the scopes set by flag, variable or profile, without `offline_access`, which requests a refresh
 * token. This grant has none, and some providers refuse that scope here.
 */
export function clientScopes({ scope, given }: Pick<Provider['settings'], 'scope' | 'given'>): string[] {
  if (given.scope?.source === 'the default') return [];
  return scope.split(' ').filter((name) => name !== 'offline_access');
}

const TRIES = 2;
const PAUSE_MS = 1_000;

/**
 * Requests an access token for the client itself (RFC 6749 section 4.4). No `scope` is sent unless one was
 * set: the service grants what the client may have. Nothing is spent, so the request is repeated after a lost
 * answer or a temporary failure. Throws as `exchangeCode` does.
 */
export async function requestAsClient(provider: Provider, proof: ClientProof): Promise<AccessToken> {
  const scope = clientScopes(provider.settings).join(' ');
  const parameters = new URLSearchParams(scope === '' ? {} : { scope });
  const what = 'the sign-in as the client';
  for (let attempt = 1; ; attempt++) {
    try {
      const { access } = await requestGrant(
        what,
        provider,
        proof,
        ({ oauth, parties, options }) => oauth.clientCredentialsGrantRequest(...parties, parameters, options),
        { isRenewable: true },
      );
      // RFC 6749 section 4.4.3: a refresh token should not be included. None is needed.
      return access;
    } catch (error) {
      if (attempt === TRIES || !mayPass(error)) throw error;
      await provider.clock.sleep(PAUSE_MS);
    }
  }
}
