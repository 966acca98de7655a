import { expect, test } from 'vitest';
import type { Transport } from '../../src/http/transport.ts';
import { resolveSettings } from '../../src/settings/settings.ts';
import { NEW_SIGN_IN } from '../../src/sign-in/provider-failure.ts';
import { findEndpoint, promisesIssuer } from '../../src/sign-in/provider-metadata.ts';
import type { Provider } from '../../src/sign-in/token-endpoint.ts';
import { clockWith } from '../support/clock.ts';

/** A provider that answers at these paths alone. */
function providerAt(authUrl: string, answers: Readonly<Record<string, unknown>>): Provider {
  const transport: Transport = {
    send: async ({ url }) => {
      const body = answers[url.pathname];
      const status = typeof body === 'number' ? body : body === undefined ? 404 : 200;
      return { status, headers: {}, body: Buffer.from(JSON.stringify(body ?? '')) };
    },
    close: async () => undefined,
  };
  const config = { version: 1, profiles: {} } as const;
  const settings = resolveSettings({ authUrl, clientId: 'me' }, {}, config, ['authUrl', 'clientId']);
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
