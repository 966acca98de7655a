import { expect, test } from 'vitest';
import type { Transport } from '../../src/http/transport.ts';
import { resolveSettings } from '../../src/settings/settings.ts';
import { NEW_SIGN_IN } from '../../src/sign-in/provider-failure.ts';
import { findEndpoint, promisesIssuer, requiredPushEndpoint } from '../../src/sign-in/provider-metadata.ts';
import type { Provider } from '../../src/sign-in/token-endpoint.ts';
import { clockWith } from '../support/clock.ts';

/** A provider that answers at these paths alone. */
function providerAt(authUrl: string, answers: Readonly<Record<string, unknown>>, flags = {}): Provider {
  const transport: Transport = {
    send: async ({ method, url, headers }) => {
      expect([method, headers]).toEqual(['GET', { accept: 'application/json' }]);
      const body = answers[url.pathname];
      const status = typeof body === 'number' ? body : body === undefined ? 404 : 200;
      return { status, headers: {}, body: Buffer.from(JSON.stringify(body ?? '')) };
    },
    close: async () => undefined,
  };
  const config = { version: 1, profiles: {} } as const;
  const settings = resolveSettings({ authUrl, clientId: 'me', ...flags }, {}, config, [
    'authUrl',
    'clientId',
  ]);
  return { settings, transport, clock: clockWith({ sleep: async () => undefined }), advice: NEW_SIGN_IN };
}

/** Returns the endpoint for revocation that the metadata names. */
const findRevocation = (authUrl: string, answers: Readonly<Record<string, unknown>>) =>
  findEndpoint(providerAt(authUrl, answers), 'revocation_endpoint');

const revocation_endpoint = 'https://id.example/revoke';

test.each([
  ['https://id.example', '/.well-known/openid-configuration'],
  ['https://id.example', '/.well-known/oauth-authorization-server'],
  ['https://id.example/tenant', '/tenant/.well-known/openid-configuration'],
  // RFC 8414 section 3.1: between the host and the path of the issuer.
  ['https://id.example/tenant', '/.well-known/oauth-authorization-server/tenant'],
])('the metadata of %s is found at %s', async (issuer, path) => {
  const provider = providerAt(issuer, { [path]: { issuer, revocation_endpoint } });
  expect(await findEndpoint(provider, 'revocation_endpoint')).toBe(revocation_endpoint);
  expect(await findEndpoint(provider, 'device_authorization_endpoint')).toBeUndefined();
  expect(await promisesIssuer(provider)).toBe(false);
});

test('what one place lacks is taken from the other', async () => {
  const issuer = 'https://id.example';
  const provider = providerAt(issuer, {
    '/.well-known/openid-configuration': {
      issuer,
      device_authorization_endpoint: 'https://id.example/device',
      authorization_response_iss_parameter_supported: true,
    },
    '/.well-known/oauth-authorization-server': { issuer, revocation_endpoint },
  });
  expect(await findEndpoint(provider, 'device_authorization_endpoint')).toBe('https://id.example/device');
  expect(await findEndpoint(provider, 'revocation_endpoint')).toBe(revocation_endpoint);
  expect(await promisesIssuer(provider)).toBe(true);
});

test('one place that fails does not hide the other, and both failing is an error', async () => {
  const issuer = 'https://id.example';
  const whole = { issuer, revocation_endpoint };
  const [oidc, oauth] = ['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server'];
  expect(await findRevocation(issuer, { [oidc]: 503, [oauth]: whole })).toBe(revocation_endpoint);
  await expect(findRevocation(issuer, { [oidc]: 503 })).rejects.toThrow('could not be read: it answered 503');
});

test('metadata of another issuer, and endpoints of another origin, offer nothing', async () => {
  const issuer = 'https://id.example';
  const place = '/.well-known/oauth-authorization-server';
  for (const document of [
    { issuer: 'https://evil.example', revocation_endpoint },
    { issuer, revocation_endpoint: 'https://evil.example/revoke' },
    [1],
    'text',
  ])
    expect(await findRevocation(issuer, { [place]: document })).toBeUndefined();
});

test.each<[string, unknown, object]>([
  [
    'the issuer that somebody set',
    { issuer: 'https://issuer.example' },
    { issuer: 'https://issuer.example' },
  ],
  ['any issuer where none is checked', { issuer: 'https://other.example' }, { issuer: 'none' }],
  [
    'the issuer with the slash that was typed',
    { issuer: 'https://id.example/' },
    { authUrl: 'https://id.example/' },
  ],
])('metadata of %s is taken', async (_, document, flags) => {
  const answers = { '/.well-known/openid-configuration': { ...(document as object), revocation_endpoint } };
  const provider = providerAt('https://id.example', answers, flags);
  expect(await findEndpoint(provider, 'revocation_endpoint')).toBe(revocation_endpoint);
});

test.each<[string, unknown]>([
  ['is no address', 'revoke'],
  ['is no text', 7],
  ['is of another port', 'https://id.example:444/revoke'],
])('an endpoint that %s is not offered', async (_, endpoint) => {
  const place = '/.well-known/openid-configuration';
  const document = { issuer: 'https://id.example', revocation_endpoint: endpoint };
  expect(await findRevocation('https://id.example', { [place]: document })).toBeUndefined();
});

test('a place that answers with another status offers nothing, and 503 of both is an error that may pass', async () => {
  const failure = await findRevocation('https://id.example', {
    '/.well-known/openid-configuration': 404,
    '/.well-known/oauth-authorization-server': 429,
  }).catch((error) => error);
  const { name, message, status, retryable, next } = failure;
  expect({ name, message, status, retryable, next }).toEqual({
    name: 'ServiceError',
    message: "the identity provider's metadata could not be read: it answered 429",
    status: 429,
    retryable: true,
    next: 'run the command again later',
  });
  expect(await findRevocation('https://id.example', {})).toBeUndefined();
});

const PUSH = 'https://id.example/par';
const required = { issuer: 'https://id.example', require_pushed_authorization_requests: true };
test.each<[string, string | undefined, unknown]>([
  ['is given', PUSH, { ...required, pushed_authorization_request_endpoint: PUSH }],
  ['is missing', 'none', required],
  [
    'is of another origin',
    'none',
    { ...required, pushed_authorization_request_endpoint: 'https://evil.example/par' },
  ],
  [
    'is not required',
    undefined,
    { issuer: 'https://id.example', pushed_authorization_request_endpoint: PUSH },
  ],
  [
    'is required by no true',
    undefined,
    {
      ...required,
      require_pushed_authorization_requests: 'true',
      pushed_authorization_request_endpoint: PUSH,
    },
  ],
  ['cannot be asked for', undefined, 503],
])('the endpoint for pushed requests %s: %s', async (_, endpoint, document) => {
  const answers = {
    '/.well-known/openid-configuration': document,
    '/.well-known/oauth-authorization-server': document,
  };
  expect(await requiredPushEndpoint(providerAt('https://id.example', answers))).toBe(endpoint);
});
