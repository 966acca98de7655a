import { expect, test } from 'vitest';
import type { Transport } from '../../src/http/transport.ts';
import { resolveSettings } from '../../src/settings/settings.ts';
import { readMetadata } from '../../src/sign-in/token-endpoint.ts';

/** Reads the metadata of a provider that answers at these paths alone. */
async function read(authUrl: string, answers: Readonly<Record<string, unknown>>) {
  const asked: string[] = [];
  const transport: Transport = {
    send: async ({ url }) => {
      asked.push(url.pathname);
      const body = answers[url.pathname];
      const status = typeof body === 'number' ? body : body === undefined ? 404 : 200;
      return { status, headers: {}, body: Buffer.from(JSON.stringify(body ?? '')) };
    },
    close: async () => undefined,
  };
  const flags = { authUrl, baseUrl: 'https://events.example', clientId: 'me' };
  const config = { version: 1, profiles: {} } as const;
  const settings = resolveSettings(flags, {}, config, ['authUrl', 'baseUrl', 'clientId']);
  return { asked, found: await readMetadata(settings, transport, 'revocation') };
}

const revocation_endpoint = 'https://id.example/revoke';

test.each([
  ['https://id.example', '/.well-known/openid-configuration'],
  ['https://id.example', '/.well-known/oauth-authorization-server'],
  ['https://id.example/tenant', '/tenant/.well-known/openid-configuration'],
  // RFC 8414 section 3.1: between the host and the path of the issuer.
  ['https://id.example/tenant', '/.well-known/oauth-authorization-server/tenant'],
])('the metadata of %s is found at %s', async (issuer, path) => {
  const { found } = await read(issuer, { [path]: { issuer, revocation_endpoint } });
  expect(found).toEqual({ revocation: revocation_endpoint, namesIssuer: false });
});

test('what one place lacks is taken from the other', async () => {
  const issuer = 'https://id.example';
  const { found } = await read(issuer, {
    '/.well-known/openid-configuration': {
      issuer,
      device_authorization_endpoint: 'https://id.example/device',
      authorization_response_iss_parameter_supported: true,
    },
    '/.well-known/oauth-authorization-server': { issuer, revocation_endpoint },
  });
  expect(found).toEqual({
    deviceAuthorization: 'https://id.example/device',
    revocation: revocation_endpoint,
    namesIssuer: true,
  });
});

test('one place that fails does not hide the other, and both failing is an error', async () => {
  const issuer = 'https://id.example';
  const whole = { issuer, revocation_endpoint };
  const [oidc, oauth] = ['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server'];
  expect((await read(issuer, { [oidc]: 503, [oauth]: whole })).found.revocation).toBe(revocation_endpoint);
  await expect(read(issuer, { [oidc]: 503 })).rejects.toThrow('could not be read: it answered 503');
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
    expect((await read(issuer, { [place]: document })).found).toEqual({ namesIssuer: false });
});
