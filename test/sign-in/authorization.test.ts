import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { resolveSettings } from '../../src/settings/settings.ts';
import {
  checkResponse,
  createAuthorizationRequest,
  type ExpectedRedirect,
  errorIn,
  expectedOf,
  issuerText,
  sameSecret,
} from '../../src/sign-in/authorization.ts';

const settingsOf = (flags: object) =>
  resolveSettings({ clientId: 'me', ...flags }, {}, { version: 1, profiles: {} }, ['authUrl', 'clientId']);

const EXPECTED: ExpectedRedirect = { state: 'our-state', issuer: 'https://id.example', clientId: 'me' };
const ours = (query: string) => new URLSearchParams(`state=our-state&${query}`);
const OUR_ISSUER = 'iss=https%3A%2F%2Fid.example';

describe('the authorization request', () => {
  test('has the parameters of the service, a new state, and the challenge of a new verifier', async () => {
    const settings = settingsOf({ authUrl: 'https://id.example/tenant/', scope: 'one two' });
    const redirectUri = {
      text: 'http://127.0.0.1:8976/callback',
      url: new URL('http://127.0.0.1:8976/callback'),
    };
    const [first, second] = [
      await createAuthorizationRequest(settings, redirectUri),
      await createAuthorizationRequest(settings, redirectUri),
    ];
    const { url, state, codeVerifier, ...rest } = first;
    expect(rest).toEqual({
      redirectUri,
      issuer: 'https://id.example/tenant',
      issuerAsTyped: 'https://id.example/tenant/',
      clientId: 'me',
    });
    expect([`${url.origin}${url.pathname}`, url.search.includes('scope=one%20two')]).toEqual([
      'https://id.example/tenant/connect/authorize',
      true,
    ]);
    expect(Object.fromEntries(url.searchParams)).toEqual({
      client_id: 'me',
      grant_type: 'authorization_code',
      response_type: 'code',
      redirect_uri: 'http://127.0.0.1:8976/callback',
      scope: 'one two',
      state,
      code_challenge: createHash('sha256').update(codeVerifier).digest('base64url'),
      code_challenge_method: 'S256',
    });
    expect([state, codeVerifier].map((secret) => secret.length >= 43)).toEqual([true, true]);
    expect([second.state, second.codeVerifier]).not.toContain(state);
    expect(second.codeVerifier).not.toBe(codeVerifier);
  });

  test('expects the issuer that somebody set, and nothing else then', () => {
    const issuer = 'https://issuer.example';
    expect(expectedOf(settingsOf({ authUrl: 'https://id.example/', issuer }))).toEqual({
      issuer,
      clientId: 'me',
    });
  });
});

describe('an authorization response', () => {
  const kindOf = async (parameters: URLSearchParams, expected: object = {}) =>
    await checkResponse(parameters, { ...EXPECTED, ...expected });

  test('with our state, our issuer and a code is an answer, with the parameters as the library checked them', async () => {
    const answer = await kindOf(ours(`${OUR_ISSUER}&code=c`));
    expect(answer).toEqual({ kind: 'code', parameters: expect.any(URLSearchParams) });
    expect('parameters' in answer && answer.parameters.get('code')).toBe('c');
  });

  test.each<[string, string, object]>([
    [
      'the issuer as it was typed',
      'iss=https%3A%2F%2Fid.example%2F',
      { issuerAsTyped: 'https://id.example/' },
    ],
    ['any issuer where none is checked', 'iss=https%3A%2F%2Fother.example', { issuer: 'none' }],
    ['no issuer where none is checked', '', { issuer: 'none' }],
  ])('with %s is an answer', async (_, query, expected) => {
    expect(await kindOf(ours(`${query}&code=c`), expected)).toMatchObject({ kind: 'code' });
  });

  test.each<[string, string]>([
    ['a parameter appears more than once', 'state=our-state&code=c&code=c'],
    ['it has no state', `${OUR_ISSUER}&code=c`],
    ['it has no state', `state=&${OUR_ISSUER}&code=c`],
    ['its state does not match this sign-in (an old tab?)', `state=our-stat&${OUR_ISSUER}&code=c`],
    ['its state does not match this sign-in (an old tab?)', 'state=other&error=access_denied'],
    ['it has neither code nor error', `state=our-state&${OUR_ISSUER}`],
    ['it has neither code nor error', `state=our-state&${OUR_ISSUER}&code=`],
    ['it is not the answer to a code request', `state=our-state&${OUR_ISSUER}&code=c&id_token=t`],
    ['it is not the answer to a code request', `state=our-state&${OUR_ISSUER}&code=c&response=jwt`],
  ])('is stray: %s (%s)', async (reason, query) => {
    expect(await kindOf(new URLSearchParams(query))).toEqual({ kind: 'stray', reason });
  });

  test.each<[string | undefined, string]>([
    [undefined, 'code=c'],
    ['https://id.example/', 'iss=https%3A%2F%2Fid.example%2F&code=c'],
    ['https://evil.example', 'iss=https%3A%2F%2Fevil.example&code=c'],
    ['https://evil.example', 'iss=https%3A%2F%2Fevil.example&error=access_denied'],
  ])('with the issuer %s is foreign: %s', async (issuer, query) => {
    const parameters = ours(query);
    expect(await kindOf(parameters)).toEqual({ kind: 'foreign', issuer, parameters });
  });

  test.each<[string | undefined, string]>([
    [undefined, 'error=access_denied'],
    ['no', `${OUR_ISSUER}&error=access_denied&error_description=no&code=c`],
  ])('with an error is a refusal, with the description %s', async (description, query) => {
    expect(await kindOf(ours(query))).toEqual({ kind: 'refused', error: 'access_denied', description });
  });
});

test('a foreign text is cut and inert', () => {
  const long = 'x'.repeat(400);
  expect(errorIn(new URLSearchParams({ error: 'denied' }))).toBe('denied');
  expect(errorIn(new URLSearchParams({ error: 'a\u001bb', error_description: 'c\nd' }))).toBe(
    'a\\u001bb (c\\u000ad)',
  );
  expect(errorIn(new URLSearchParams({ error: long }))).toBe('x'.repeat(300));
  expect(errorIn(new URLSearchParams({ error: '', error_description: 'd' }))).toBeUndefined();
  expect(errorIn(new URLSearchParams())).toBeUndefined();
  expect(issuerText(undefined)).toBe('no issuer');
  expect(issuerText('a\u001bb')).toBe('the issuer a\\u001bb');
  expect(issuerText(long)).toBe(`the issuer ${'x'.repeat(300)}`);
});

test('secrets are the same only if they are equal', () => {
  expect([sameSecret('abc', 'abc'), sameSecret('abc', 'abd'), sameSecret('abc', 'abcd')]).toEqual([
    true,
    false,
    false,
  ]);
});
