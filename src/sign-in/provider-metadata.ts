import { ServiceError } from '../errors.ts';
import { expectedOf } from './authorization.ts';
import { isPassingStatus, type JsonObject, type Provider, parseObject, send } from './token-endpoint.ts';

/**
 * Returns an endpoint from the provider's metadata. One on a different origin counts as not offered, since
 * the client secret must not be sent elsewhere. Throws as `findInMetadata` does.
 */
export async function findEndpoint(
  provider: Provider,
  name: 'device_authorization_endpoint' | 'revocation_endpoint' | 'pushed_authorization_request_endpoint',
): Promise<string | undefined> {
  const { origin } = provider.settings.authUrl;
  return await findInMetadata(provider, (document) => {
    const endpoint = document[name];
    if (typeof endpoint !== 'string' || !URL.canParse(endpoint)) return undefined;
    return new URL(endpoint).origin === origin ? endpoint : undefined;
  });
}

/**
 * Returns the endpoint for pushed authorization requests if the metadata requires them (RFC 9126 section 5);
 * undefined if it does not, or cannot be read; `none` if there is no endpoint on the provider's own origin.
 */
export async function requiredPushEndpoint(provider: Provider): Promise<string | undefined> {
  const isRequired = await isPromised(provider, 'require_pushed_authorization_requests').catch(() => false);
  if (!isRequired) return undefined;
  return (await findEndpoint(provider, 'pushed_authorization_request_endpoint')) ?? 'none';
}

export async function promisesIssuer(provider: Provider): Promise<boolean> {
  return await isPromised(provider, 'authorization_response_iss_parameter_supported');
}

/** True if the metadata has `true` for a member. Throws as `findInMetadata` does. */
async function isPromised(provider: Provider, name: string): Promise<boolean> {
  const promise = await findInMetadata(provider, (document) => document[name] === true || undefined);
  return promise ?? false;
}

/**
 * Searches the provider's metadata at both well-known places: OpenID Connect Discovery 1.0 section 4 and RFC
 * 8414 section 3. A document of another issuer is ignored (RFC 8414 section 3.3). Throws if nothing was found
 * and a place did not answer, or failed.
 */
async function findInMetadata<Value>(
  provider: Provider,
  find: (document: JsonObject) => Value | undefined,
): Promise<Value | undefined> {
  const { origin, pathname } = provider.settings.authUrl;
  const path = pathname.replace(/\/$/, '');
  const places = [
    `${origin}${path}/.well-known/openid-configuration`,
    `${origin}/.well-known/oauth-authorization-server${path}`,
  ];
  const documents = await Promise.allSettled(places.map((place) => readDocument(new URL(place), provider)));
  let failure: unknown;
  for (const document of documents) {
    if (document.status === 'rejected') failure = document.reason;
    const value = document.status === 'fulfilled' ? find(document.value) : undefined;
    if (value !== undefined) return value;
  }
  if (failure !== undefined) throw failure;
  return undefined;
}

async function readDocument(url: URL, provider: Provider): Promise<JsonObject> {
  const { status, body } = await send(provider, {
    method: 'GET',
    url,
    headers: { accept: 'application/json' },
  });
  if (isPassingStatus(status))
    throw new ServiceError(`the identity provider's metadata could not be read: it answered ${status}`, {
      status,
      retryable: true,
      next: 'run the command again later',
    });
  const document = (status === 200 && parseObject(body)) || {};
  const { issuer, issuerAsTyped } = expectedOf(provider.settings);
  return ['none', document['issuer']].includes(issuer) || document['issuer'] === issuerAsTyped
    ? document
    : {};
}
