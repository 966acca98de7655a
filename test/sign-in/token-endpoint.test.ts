import { describe, expect, test } from 'vitest';
import { adviceText } from '../../src/advice.ts';
import { HooktrailError } from '../../src/errors.ts';
import { type HttpRequest, type HttpResponse, TransportError } from '../../src/http/transport.ts';
import { resolveSettings } from '../../src/settings/settings.ts';
import type { ClientProof } from '../../src/sign-in/client-authentication.ts';
import { mayPass, NEW_SIGN_IN, STORED } from '../../src/sign-in/provider-failure.ts';
import {
  authorizeDevice,
  exchangeCode,
  exchangeDeviceCode,
  type Provider,
  pushAuthorizationRequest,
  refresh,
  requestGrant,
  revoke,
  scopesIn,
  UnusableGrantError,
} from '../../src/sign-in/token-endpoint.ts';
import { clock } from '../support/clock.ts';

const PROOF: ClientProof = { method: 'secret', secret: 'client-secret-value' };
const SETTINGS = resolveSettings(
  { authUrl: 'https://id.example/tenant/', clientId: 'me' },
  {},
  { version: 1, profiles: {} },
  ['authUrl', 'clientId'],
);
const GRANT = { access_token: 'granted', token_type: 'Bearer', refresh_token: 'next', expires_in: 90 };

interface Answer {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
}

/** A provider that gives every request this answer, and records the requests. */
function providerWith(given: Answer | Error, advice = STORED): Provider & { readonly sent: HttpRequest[] } {
  const sent: HttpRequest[] = [];
  const send = async (request: HttpRequest): Promise<HttpResponse> => {
    sent.push(request);
    if (given instanceof Error) throw given;
    const { status = 200, headers = { 'content-type': 'application/json' }, body = GRANT } = given;
    return { status, headers, body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)) };
  };
  return { settings: SETTINGS, transport: { send, close: async () => undefined }, clock, advice, sent };
}

/** Returns the fields of the error that a request ends with. */
async function failureOf(work: Promise<unknown>) {
  const error = await work.then(
    () => new Error('nothing failed'),
    (thrown) => thrown,
  );
  if (!(error instanceof HooktrailError)) throw error;
  const { name, message, details, next, status, retryable } = error;
  return { name, message, details, next: next && adviceText(next, {}), status, retryable };
}

const refreshWith = (answer: Answer | Error, advice = STORED) =>
  refresh(providerWith(answer, advice), PROOF, 'old-refresh-token');

describe('a request of the token endpoint', () => {
  const callback = new URLSearchParams({ code: 'the-code', state: 's' });
  const redirectUri = {
    text: 'http://127.0.0.1:8976/callback',
    url: new URL('http://127.0.0.1:8976/callback'),
  };
  const client = { client_id: 'me', client_secret: 'client-secret-value' };

  /** The parameters of the one form that is sent, and the address that it is sent to. */
  async function formOf(answer: Answer, ask: (provider: Provider) => Promise<unknown>) {
    const provider = providerWith(answer);
    await ask(provider);
    const [request, another] = provider.sent;
    expect(another).toBeUndefined();
    const { method, url, headers = {} } = request as HttpRequest;
    expect([method, headers['content-type']]).toEqual(['POST', 'application/x-www-form-urlencoded']);
    return { url: url.href, ...Object.fromEntries(new URLSearchParams(String(request?.body))) };
  }
  const url = 'https://id.example/tenant/connect/token';

  test('exchanges a code with its verifier', async () => {
    const { validateAuthResponse } = await import('oauth4webapi');
    const checked = validateAuthResponse({ issuer: 'x' }, { client_id: 'me' }, callback, 's');
    const request = { redirectUri, codeVerifier: 'the-verifier' };
    expect(await formOf({}, (provider) => exchangeCode(provider, PROOF, checked, request))).toEqual({
      url,
      ...client,
      grant_type: 'authorization_code',
      code: 'the-code',
      redirect_uri: 'http://127.0.0.1:8976/callback',
      code_verifier: 'the-verifier',
    });
  });

  test('spends a refresh token', async () => {
    expect(await formOf({}, (provider) => refresh(provider, PROOF, 'old-refresh-token'))).toEqual({
      url,
      ...client,
      grant_type: 'refresh_token',
      refresh_token: 'old-refresh-token',
    });
  });

  test('exchanges a device code', async () => {
    expect(await formOf({}, (provider) => exchangeDeviceCode(provider, PROOF, 'the-device-code'))).toEqual({
      url,
      ...client,
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      device_code: 'the-device-code',
    });
  });

  test('revokes a token, whatever the body of the answer', async () => {
    const endpoint = 'https://id.example/revoke';
    const ask = (provider: Provider) => revoke(provider, PROOF, endpoint, 'old', 'refresh_token');
    expect(await formOf({ body: 'ok' }, ask)).toEqual({
      url: endpoint,
      ...client,
      token: 'old',
      token_type_hint: 'refresh_token',
    });
  });

  test.each([
    ['60', 60],
    [undefined, 0],
  ])('pushes an authorization request that lasts %j seconds', async (expires_in, seconds) => {
    const endpoint = 'https://id.example/par';
    const body = { request_uri: 'urn:1', expires_in };
    const parameters = new URLSearchParams({ scope: 'one' });
    let answer: unknown;
    const ask = async (provider: Provider) => {
      answer = await pushAuthorizationRequest(provider, PROOF, endpoint, parameters);
    };
    expect(await formOf({ status: 201, body }, ask)).toEqual({ url: endpoint, ...client, scope: 'one' });
    expect(answer).toEqual({ request_uri: 'urn:1', expires_in: seconds });
  });

  test('asks for a device code', async () => {
    const endpoint = 'https://id.example/device';
    const body = {
      device_code: 'd',
      user_code: 'u',
      verification_uri: 'https://id.example/go',
      expires_in: 600,
    };
    const ask = (provider: Provider) => authorizeDevice(provider, PROOF, endpoint, 'one two');
    expect(await formOf({ body }, ask)).toEqual({ url: endpoint, ...client, scope: 'one two' });
  });
});

describe('a grant', () => {
  test.each<[string, object, object]>([
    ['as RFC 6749 has it', {}, {}],
    ['without a token type', { token_type: undefined }, {}],
    ['with a type in capitals', { token_type: 'BEARER' }, {}],
    ['with a lifetime as text', { expires_in: '90' }, {}],
    ['without a lifetime, but renewable', { expires_in: undefined }, { seconds: 1800 }],
    [
      'without a lifetime and a refresh token',
      { expires_in: undefined, refresh_token: undefined },
      { seconds: undefined, refreshToken: undefined },
    ],
    ['with an empty refresh token', { refresh_token: '' }, { refreshToken: undefined }],
    ['with a refresh token that is no text', { refresh_token: 7 }, { refreshToken: undefined }],
    ['with scopes', { scope: 'one two' }, { scope: 'one two' }],
    ['with scopes that commas separate', { scope: 'one,two' }, { scope: 'one two' }],
    ['with a list of scopes', { scope: ['one', 'two'] }, { scope: 'one two' }],
    ['with no scopes', { scope: ' ' }, {}],
    ['with an error beside its token', { error: 'odd' }, {}],
    ['without an error', { error: null }, {}],
    ['with a lifetime below 0', { expires_in: -5 }, { seconds: 0 }],
    ['with a lifetime of thousands of years', { expires_in: 1e12 }, { seconds: 3_155_760_000 }],
  ])('%s is taken', async (_, members, expected) => {
    const { seconds, refreshToken, scope } = {
      seconds: 90 as number | undefined,
      refreshToken: 'next',
      scope: undefined,
      ...expected,
    };
    const expiresAt = seconds === undefined ? undefined : clock.now() + seconds * 1000;
    expect(await refreshWith({ body: { ...GRANT, ...members } })).toEqual({
      access: { token: 'granted', expiresAt, scope },
      refreshToken,
    });
  });

  test('that can be had again has the stated lifetime, without a refresh token', async () => {
    const provider = providerWith({ body: { access_token: 'granted' } });
    const ask = requestGrant(
      'the sign-in',
      provider,
      PROOF,
      ({ oauth, parties, options }) => oauth.clientCredentialsGrantRequest(...parties, {}, options),
      { isRenewable: true },
    );
    expect((await ask).access.expiresAt).toBe(clock.now() + 1_800_000);
  });

  test.each([201, 299])('with the status %i is taken', async (status) => {
    expect(await refreshWith({ status })).toMatchObject({ refreshToken: 'next' });
  });

  test('after a byte order mark is read', async () => {
    expect(await refreshWith({ body: `\ufeff${JSON.stringify(GRANT)}` })).toMatchObject({
      refreshToken: 'next',
    });
  });
});

describe('an answer that grants nothing usable', () => {
  const cannot = "refreshing the sign-in failed: the identity provider's answer cannot be used: ";

  test.each<[string, object, string]>([
    [
      'a token of another type',
      { token_type: 'DPoP' },
      'its token is of the type dpop, and hooktrail sends bearer tokens',
    ],
    ['a token that no header can carry', { access_token: 'a\nb' }, 'no header can carry its access token'],
  ])('has the successor of the token that was spent: %s', async (_, members, why) => {
    const error = await refreshWith({ body: { ...GRANT, ...members } }).catch((thrown) => thrown);
    expect(error).toBeInstanceOf(UnusableGrantError);
    expect([error.message, error.refreshToken, error.next, error.cause]).toEqual([
      cannot + why,
      'next',
      STORED.again,
      undefined,
    ]);
  });

  test('without a successor it is unknown if the sign-in is kept', async () => {
    const answer = { body: { ...GRANT, refresh_token: undefined, access_token: 7 } };
    const error = await refreshWith(answer).catch((thrown) => thrown);
    expect([error.refreshToken, error.next]).toEqual([undefined, STORED.unknown]);
    expect((await failureOf(refreshWith(answer, NEW_SIGN_IN))).next).toBe(NEW_SIGN_IN.again);
  });

  const noObject = {
    name: 'ServiceError',
    message: "the identity provider's answer cannot be used: it is not a JSON object",
    status: undefined,
    retryable: undefined,
  };
  test.each<[string, Answer, string]>([
    ['text', { body: 'secret' }, 'application/json, and 6 bytes'],
    ['null', { body: null }, 'application/json, and 4 bytes'],
    ['a number', { body: '7' }, 'application/json, and 1 bytes'],
    ['a list', { body: [GRANT] }, 'application/json, and 89 bytes'],
    ['nothing', { body: '', headers: {} }, 'no content type, and 0 bytes'],
    ['much', { body: 'x'.repeat(12_000) }, 'application/json, and 12,000 bytes'],
  ])('is not shown where it is no object: %s', async (_, answer, what) => {
    expect(await failureOf(refreshWith(answer))).toEqual({
      ...noObject,
      details: [`it has the status 200, ${what}`],
      next: 'run the command again to find out whether the sign-in is kept; if this comes again, check --auth-url (HOOKTRAIL_AUTH_URL)',
    });
    expect((await failureOf(refreshWith(answer, NEW_SIGN_IN))).next).toBe(
      'check --auth-url (HOOKTRAIL_AUTH_URL)',
    );
  });
});

describe('a refusal', () => {
  const LOGIN = 'run `hooktrail login`';
  const SETTINGS_STEP = 'check the client settings, and run `hooktrail login`';
  const CLIENT =
    'check --client-id, and run `hooktrail login --client-secret-stdin` with the right client secret';
  const refused = 'refreshing the sign-in was refused by the identity provider';
  const failed = 'refreshing the sign-in failed: the identity provider answered';
  const AGAIN = 'run the command again later: the sign-in is kept';
  const UNKNOWN = 'run the command again to find out whether the sign-in is kept';
  const ELSE = 'check --auth-url (HOOKTRAIL_AUTH_URL) and the client settings';

  test.each<[number, unknown, string, string, string, boolean?]>([
    [400, { error: 'invalid_grant' }, 'RefusedGrantError', refused, LOGIN],
    ...[
      'bad_refresh_token',
      'bad_verification_code',
      'invalid_refresh_token',
      'token_expired',
      'token_revoked',
    ].map((error): [number, object, string, string, string] => [
      400,
      { error },
      'RefusedGrantError',
      refused,
      LOGIN,
    ]),
    ...['invalid_client', 'unauthorized_client', 'unsupported_grant_type', 'access_denied'].map(
      (error): [number, object, string, string, string] => [
        500,
        { error },
        'RefusedGrantError',
        refused,
        CLIENT,
      ],
    ),
    [401, {}, 'RefusedGrantError', refused, CLIENT],
    [200, { error: 'invalid_grant' }, 'RefusedGrantError', refused, LOGIN],
    [200, { error: 'odd' }, 'RefusedGrantError', `${refused} (200)`, SETTINGS_STEP],
    [200, { error: { code: 7 } }, 'RefusedGrantError', `${refused} (200)`, SETTINGS_STEP],
    [400, {}, 'RefusedGrantError', `${refused} (400)`, SETTINGS_STEP],
    [403, '', 'RefusedGrantError', `${refused} (403)`, SETTINGS_STEP],
    ...['invalid_request', 'authorization_pending', 'slow_down', 'expired_token'].map(
      (error): [number, object, string, string, string] => [
        428,
        { error },
        'RefusedGrantError',
        `${refused} (428)`,
        SETTINGS_STEP,
      ],
    ),
    [
      400,
      { error: 'invalid_scope' },
      'RefusedGrantError',
      `${refused} (400)`,
      'use --scope with the scopes issued to the client',
    ],
    [400, { error: 'server_error' }, 'ServiceError', `${failed} 400`, AGAIN, true],
    [400, { error: 'temporarily_unavailable' }, 'ServiceError', `${failed} 400`, AGAIN, true],
    [408, {}, 'ServiceError', `${failed} 408`, AGAIN, true],
    [429, { error: 'invalid_request' }, 'ServiceError', `${failed} 429`, AGAIN, true],
    [500, {}, 'ServiceError', `${failed} 500`, UNKNOWN, true],
    [503, {}, 'ServiceError', `${failed} 503`, AGAIN, true],
    [404, {}, 'ServiceError', `${failed} 404`, ELSE, false],
  ])('%i with %j is a %s', async (status, body, name, message, next, retryable) => {
    const { details: _, ...failure } = await failureOf(refreshWith({ status, body }));
    const ofService = name === 'ServiceError';
    expect(failure).toEqual({ name, message, next, retryable, status: ofService ? status : undefined });
  });

  test.each([300, 302, 399])('a redirect is not followed: %i', async (status) => {
    expect(await failureOf(refreshWith({ status, body: { error: 'invalid_grant' } }))).toEqual({
      name: 'ServiceError',
      message: `refreshing the sign-in failed: the identity provider answered with a redirect (${status})`,
      details: [
        'redirects of the token endpoint are not followed: they would carry the client secret elsewhere',
      ],
      next: 'check --auth-url (HOOKTRAIL_AUTH_URL)',
      status: undefined,
      retryable: undefined,
    });
  });

  test('has its code and description, and repeats no secret of the request', async () => {
    const error_description = 'old-refresh-token of client-secret-value is unknown';
    const body = { error: 'invalid_grant', error_description, trace: 'cookie-of-the-session' };
    const headers = { 'set-cookie': 'id=cookie-of-the-session' };
    const error = await refreshWith({ status: 400, headers, body }).catch((thrown) => thrown);
    expect([error.error, error.description, error.details]).toEqual([
      'invalid_grant',
      '[redacted] of [redacted] is unknown',
      ['error: invalid_grant', 'error_description: [redacted] of [redacted] is unknown', 'trace: [redacted]'],
    ]);
  });

  const REDIRECT = 'http://127.0.0.1:8976/callback';
  test.each<[string, string, (provider: Provider) => Promise<unknown>]>([
    ['the sign-in', 'the-device-code', (provider) => exchangeDeviceCode(provider, PROOF, 'the-device-code')],
    [
      'the revocation',
      'the-token',
      (provider) => revoke(provider, PROOF, 'https://id.example/r', 'the-token', 'access_token'),
    ],
    [
      'announcing the sign-in',
      'client-secret-value',
      (provider) => pushAuthorizationRequest(provider, PROOF, 'https://id.example/p', new URLSearchParams()),
    ],
    [
      'the sign-in',
      'client-secret-value',
      (provider) => authorizeDevice(provider, PROOF, 'https://id.example/d', 'one'),
    ],
    [
      'the sign-in',
      'workload-assertion',
      (provider) =>
        exchangeDeviceCode(provider, { method: 'assertion', read: async () => 'workload-assertion' }, 'd'),
    ],
    ...['the-code', 'the-verifier'].map(
      (secret): [string, string, (provider: Provider) => Promise<unknown>] => [
        'the sign-in',
        secret,
        async (provider) => {
          const { validateAuthResponse } = await import('oauth4webapi');
          const given = new URLSearchParams({ code: 'the-code', state: 's' });
          const callback = validateAuthResponse({ issuer: 'x' }, { client_id: 'me' }, given, 's');
          const redirectUri = { text: REDIRECT, url: new URL(REDIRECT) };
          return await exchangeCode(provider, PROOF, callback, { redirectUri, codeVerifier: 'the-verifier' });
        },
      ],
    ),
  ])('of %s repeats no %s', async (what, secret, ask) => {
    const body = { error: 'odd', error_description: `what is ${secret}?` };
    const { message, details } = await failureOf(ask(providerWith({ status: 400, body })));
    expect([message, details]).toEqual([
      `${what} was refused by the identity provider (400)`,
      ['error: odd', 'error_description: what is [redacted]?'],
    ]);
  });

  test('in a new sign-in leads to the same command', () => {
    expect(NEW_SIGN_IN).toEqual({
      again: 'run the same command again',
      refused:
        'check --client-id, and run the same command with --client-secret-stdin and the right client secret',
    });
  });

  test('has the next step of a sign-in that begins', async () => {
    const ask = async (error: string, advice: Provider['advice']) =>
      (await failureOf(refreshWith({ status: 400, body: { error } }, advice))).next;
    const advice = { ...NEW_SIGN_IN, notAllowed: 'ask for the grant', badRequest: 'ask for the scopes' };
    expect([
      await ask('unauthorized_client', advice),
      await ask('unsupported_grant_type', advice),
      await ask('invalid_client', advice),
      await ask('odd', advice),
      await ask('unauthorized_client', NEW_SIGN_IN),
    ]).toEqual([
      'ask for the grant',
      'ask for the grant',
      NEW_SIGN_IN.refused,
      'ask for the scopes',
      NEW_SIGN_IN.refused,
    ]);
  });
});

describe('no answer', () => {
  const check = 'check the network and --auth-url (HOOKTRAIL_AUTH_URL), then ';

  const KEPT = 'run the command again later: the sign-in is kept';
  const UNKNOWN = 'run the command again to find out whether the sign-in is kept';
  const unreachable = 'the identity provider could not be reached: why';

  test.each<[TransportError['kind'], string, string, string]>([
    ['refused', 'UnreachableError', unreachable, check + KEPT],
    ['stalled', 'UnreachableError', unreachable, check + UNKNOWN],
    ['proxy-down', 'UnreachableError', unreachable, 'check HTTPS_PROXY and that the proxy runs'],
    ['too-large', 'ServiceError', 'why', 'check --auth-url (HOOKTRAIL_AUTH_URL)'],
    ['no-memory', 'ServiceError', 'why', new TransportError('no-memory', '').setupStep as string],
  ])('of the kind %s is a %s', async (kind, name, message, next) => {
    const failure = new TransportError(kind, 'why');
    expect(await failureOf(refreshWith(failure))).toMatchObject({ name, message, next });
    await expect(refreshWith(failure)).rejects.toMatchObject({ cause: failure });
  });

  test('in a new sign-in leads to another one, whatever became of the first', async () => {
    const { next } = await failureOf(refreshWith(new TransportError('stalled', 'why'), NEW_SIGN_IN));
    expect(next).toBe(`${check}${NEW_SIGN_IN.again}`);
  });

  test('may pass if the same request may succeed later', async () => {
    const passes = async (answer: Answer | Error) =>
      mayPass(await refreshWith(answer).catch((error) => error));
    expect([
      await passes({ status: 503, body: {} }),
      await passes({ status: 404, body: {} }),
      await passes({ status: 400, body: {} }),
      await passes(new TransportError('refused', 'why')),
      await passes(new TransportError('unknown-host', 'why')),
      mayPass(new Error('other')),
    ]).toEqual([true, false, false, true, false, false]);
  });

  test('other errors stay what they are', async () => {
    const error = new Error('a defect');
    await expect(refreshWith(error)).rejects.toThrow('a defect');
  });
});

describe('the answer for another device', () => {
  const body = {
    device_code: 'd',
    user_code: 'u',
    verification_uri: 'https://id.example/go',
    expires_in: 600,
  };
  const ask = (members: object) =>
    authorizeDevice(providerWith({ body: { ...body, ...members } }), PROOF, 'https://id.example/d', 'one');

  test.each<[object, object]>([
    [{}, {}],
    [{ user_code: 1234 }, { user_code: '1234' }],
    [{ expires_in: '600' }, {}],
    [{ expires_in: undefined }, { expires_in: 3_155_760_000 }],
    [{ interval: 0 }, { interval: 1 }],
    [{ interval: '7' }, { interval: 7 }],
    [
      { verification_uri: undefined, verification_url: 'https://id.example/old' },
      { verification_uri: 'https://id.example/old' },
    ],
    [{ verification_url: 'https://id.example/old' }, {}],
    [
      { verification_uri_complete: 'https://id.example/go?u' },
      { verification_uri_complete: 'https://id.example/go?u' },
    ],
    [
      { verification_url_complete: 'https://id.example/old?u' },
      { verification_uri_complete: 'https://id.example/old?u' },
    ],
    [{ verification_uri_complete: 7 }, {}],
  ])('with %j is taken', async (members, expected) => {
    const { interval, verification_uri_complete, ...rest } = { ...body, ...(await ask(members)) };
    expect({
      ...rest,
      ...(interval === undefined ? {} : { interval }),
      ...(verification_uri_complete === undefined ? {} : { verification_uri_complete }),
    }).toEqual({ ...body, ...expected });
  });

  test('without a code cannot be used', async () => {
    await expect(ask({ user_code: { n: 7 } })).rejects.toThrow('cannot be used');
    expect(await failureOf(ask({ device_code: undefined }))).toMatchObject({
      name: 'ServiceError',
      message: expect.stringMatching(/^the sign-in failed: the identity provider's answer cannot be used: /),
    });
  });
});

test('scopes are split at spaces and commas', () => {
  expect(scopesIn(' one  two,three,\n')).toEqual(['one', 'two', 'three']);
  expect(scopesIn('')).toEqual([]);
});
