import { createPublicKey, generateKeyPairSync, type KeyObject, verify } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import * as oauth from 'oauth4webapi';
import { describe, expect, test } from 'vitest';
import { adviceText } from '../../src/advice.ts';
import type { Environment } from '../../src/context.ts';
import { HooktrailError } from '../../src/errors.ts';
import type { Secrets } from '../../src/secrets/vault.ts';
import {
  audienceOf,
  type ClientProof,
  claimsOf,
  givenMethod,
  givenProof,
  keptProof,
  libraryProof,
  methodWords,
  type ProofMethod,
  refusedStep,
  storedMethod,
  storedProof,
  wantedMethod,
} from '../../src/sign-in/client-authentication.ts';
import { importClientKey } from '../../src/sign-in/client-key.ts';
import { clock, NOON } from '../support/clock.ts';
import { createContext } from '../support/context.ts';
import { forEachTest } from '../support/each-test.ts';
import { createHome } from '../support/home.ts';

const home = forEachTest(createHome);

const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const pem = ({ privateKey }: { privateKey: KeyObject }) =>
  privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
const jwk = (more: object) => JSON.stringify({ ...ec.privateKey.export({ format: 'jwk' }), ...more });

const contextOf = (environment: Environment) => createContext({ environment });

/** A file of the user's, for a variable that names it. */
async function fileOf(text: string): Promise<string> {
  const file = path.join(home.folder, 'given');
  await writeFile(file, text, { mode: 0o600 });
  return file;
}

/** What the user reads of the error that some work ends with. */
async function failureOf(work: () => unknown) {
  const error = await Promise.resolve()
    .then(work)
    .then(
      () => new Error('nothing failed'),
      (thrown) => thrown,
    );
  if (!(error instanceof HooktrailError)) throw error;
  const { name, message, details, next } = error;
  return { name, message, details, next: next && adviceText(next, {}) };
}

const SECRET = { HOOKTRAIL_CLIENT_SECRET: 'given secret' };
const KEY = { HOOKTRAIL_CLIENT_KEY_FILE: '/nowhere/key' };
const ASSERTION = { HOOKTRAIL_CLIENT_ASSERTION_COMMAND: 'never run' };
const twoProofs = (named: string) => ({
  name: 'UsageError',
  message: `${named} are both given, but a client authenticates in one way`,
  details: [],
  next: 'leave out all but one of them',
});

describe('how a client proves itself', () => {
  test.each<[Environment, ProofMethod | undefined]>([
    [{}, undefined],
    [{ HOOKTRAIL_CLIENT_SECRET: ' ' }, undefined],
    [SECRET, 'secret'],
    [{ HOOKTRAIL_CLIENT_SECRET_FILE: '/nowhere' }, 'secret'],
    [KEY, 'key'],
    [ASSERTION, 'assertion'],
  ])('the variables %j say, without being read: %s', (environment, method) => {
    expect(givenMethod(environment)).toBe(method);
    expect(wantedMethod({}, environment)).toBe(method);
  });

  test.each<[Environment, string]>([
    [{ ...SECRET, ...KEY }, 'HOOKTRAIL_CLIENT_SECRET and HOOKTRAIL_CLIENT_KEY_FILE'],
    [{ ...ASSERTION, ...KEY }, 'HOOKTRAIL_CLIENT_KEY_FILE and HOOKTRAIL_CLIENT_ASSERTION_COMMAND'],
    [
      { ...ASSERTION, ...KEY, ...SECRET },
      'HOOKTRAIL_CLIENT_SECRET and HOOKTRAIL_CLIENT_KEY_FILE and HOOKTRAIL_CLIENT_ASSERTION_COMMAND',
    ],
  ])('the variables %j contradict each other', async (environment, named) => {
    expect(await failureOf(() => givenMethod(environment))).toEqual(twoProofs(named));
  });

  const publicClient = true;
  const clientSecretStdin = true;
  test.each<[Parameters<typeof wantedMethod>[0], Environment, ProofMethod]>([
    [{ publicClient }, {}, 'none'],
    [{ clientSecretStdin }, {}, 'secret'],
    [{ clientSecretStdin }, SECRET, 'secret'],
    [{ clientSecretStdin: false }, KEY, 'key'],
  ])('the flags %j with %j say it', (flags, environment, method) => {
    expect(wantedMethod(flags, environment)).toBe(method);
  });

  test.each<[Parameters<typeof wantedMethod>[0], Environment, string]>([
    [{ publicClient }, SECRET, '--public-client and HOOKTRAIL_CLIENT_SECRET'],
    [{ publicClient }, KEY, '--public-client and HOOKTRAIL_CLIENT_KEY_FILE'],
    [{ clientSecretStdin }, KEY, '--client-secret-stdin and HOOKTRAIL_CLIENT_KEY_FILE'],
    [{ clientSecretStdin }, ASSERTION, '--client-secret-stdin and HOOKTRAIL_CLIENT_ASSERTION_COMMAND'],
  ])('the flags %j contradict %j', async (flags, environment, named) => {
    expect(await failureOf(() => wantedMethod(flags, environment))).toEqual(twoProofs(named));
  });

  test.each<[Secrets | undefined, Environment, ProofMethod]>([
    [undefined, {}, 'secret'],
    [{ clientSecret: 'stored' }, {}, 'secret'],
    [{ client: 'key' }, {}, 'key'],
    [{ client: 'assertion' }, {}, 'assertion'],
    [{ client: 'none' }, {}, 'none'],
    [{ clientSecret: 'stored' }, KEY, 'key'],
    [{ client: 'key' }, SECRET, 'secret'],
    [undefined, ASSERTION, 'assertion'],
    // A public client has no secret, whatever is set for another.
    [{ client: 'none' }, SECRET, 'none'],
    [{ client: 'none' }, { ...SECRET, ...KEY }, 'none'],
  ])('the sign-in %j with %j says it', (stored, environment, method) => {
    expect(storedMethod(stored, environment)).toBe(method);
  });

  test('has a word for each way', () => {
    expect(methodWords).toEqual({
      secret: 'by its secret',
      key: 'by its private key',
      assertion: "by the workload's token",
      none: 'a public client, without a secret',
    });
  });

  test.each<[ProofMethod, string]>([
    ['secret', 'check the secret'],
    [
      'key',
      'check --client-id, that the provider has the public half of the key in HOOKTRAIL_CLIENT_KEY_FILE, its id (HOOKTRAIL_CLIENT_KEY_ID), and the name of the provider (--issuer), which is the audience',
    ],
    [
      'assertion',
      "check --client-id, and that the provider trusts the workload's token for it: its issuer, subject and audience",
    ],
    [
      'none',
      'check --client-id, and that the provider has it as a public client; one with a secret signs in with `hooktrail login --client-secret-stdin`',
    ],
  ])('a client that is refused by %s gets a step that helps', (method, step) => {
    expect(adviceText(refusedStep(method, 'check the secret'), {})).toBe(step);
  });
});

const authUrl = new URL('https://id.example/tenant/');

test.each([
  [undefined, 'https://id.example/tenant'],
  ['none', 'https://id.example/tenant'],
  ['https://name.example/', 'https://name.example/'],
])('with the issuer %s an assertion is for %s', (issuer, audience) => {
  expect(audienceOf(issuer === undefined ? { authUrl } : { authUrl, issuer })).toBe(audience);
});

const missing = (what: string, variable: string) => ({
  name: 'UsageError',
  message: `${what} is needed, and no variable gives it`,
  details: ['the sign-in was made with it, and it is not stored'],
  next: `set ${variable}, or sign in again with \`hooktrail login\``,
});

describe('a credential from the environment', () => {
  test('is the secret', async () => {
    const proof = { method: 'secret', secret: 'given secret' };
    expect(await givenProof('secret', 'https://id.example', contextOf(SECRET))).toEqual(proof);
  });

  const PEM = { text: pem(ec) };
  const JWK = { text: jwk({ kid: 'own' }) };
  test.each<[string, { readonly text: string }, Environment, string | undefined]>([
    ['PEM', PEM, {}, undefined],
    ['PEM', PEM, { HOOKTRAIL_CLIENT_KEY_ID: 'given' }, 'given'],
    ['a JWK', JWK, {}, 'own'],
    ['a JWK', JWK, { HOOKTRAIL_CLIENT_KEY_ID: '' }, 'own'],
    ['a JWK', JWK, { HOOKTRAIL_CLIENT_KEY_ID: 'given' }, 'given'],
  ])('is the private key with its id: %s', async (_, { text }, more, id) => {
    const context = contextOf({ HOOKTRAIL_CLIENT_KEY_FILE: await fileOf(text), ...more });
    expect(await givenProof('key', 'https://name.example', context)).toEqual({
      method: 'key',
      key: { key: expect.objectContaining({ type: 'private' }), id },
      audience: 'https://name.example',
    });
  });

  test('that is missing is an error that names its variable', async () => {
    const failure = (method: Exclude<ProofMethod, 'none'>) =>
      failureOf(async () => {
        const proof = await givenProof(method, 'https://id.example', contextOf({}));
        if (proof.method === 'assertion') await proof.read();
      });
    expect(await failure('secret')).toEqual(missing('the client secret', 'HOOKTRAIL_CLIENT_SECRET'));
    expect(await failure('key')).toEqual(
      missing('the private key of the client', 'HOOKTRAIL_CLIENT_KEY_FILE'),
    );
    expect(await failure('assertion')).toEqual(
      missing("the workload's token", 'HOOKTRAIL_CLIENT_ASSERTION_FILE'),
    );
  });
});

describe('the credential of a stored sign-in', () => {
  const proofOf = (stored: Secrets | undefined, environment: Environment = {}, issuer?: string) =>
    storedProof(stored, issuer === undefined ? { authUrl } : { authUrl, issuer }, contextOf(environment));

  test('is the stored secret, unless the environment has another', async () => {
    const stored = { clientSecret: 'stored' };
    expect(await proofOf(stored)).toEqual({ method: 'secret', secret: 'stored' });
    expect(await proofOf(stored, SECRET)).toEqual({ method: 'secret', secret: 'given secret' });
    expect(await proofOf({}, SECRET)).toEqual({ method: 'secret', secret: 'given secret' });
    expect(await proofOf(undefined)).toEqual({ method: 'secret', secret: '' });
  });

  test('is none for a public client, whatever is set', async () => {
    expect(await proofOf({ client: 'none', clientSecret: 'odd' }, SECRET)).toEqual({ method: 'none' });
  });

  test('is for the issuer of the sign-in, or else that of the settings', async () => {
    const key = { HOOKTRAIL_CLIENT_KEY_FILE: await fileOf(pem(ec)) };
    const audience = async (stored: Secrets | undefined, issuer?: string) => {
      const proof = await proofOf(stored, key, issuer);
      return proof.method === 'key' && proof.audience;
    };
    const issuer = 'https://stored.example';
    expect(await audience({ client: 'key', issuer }, 'https://set.example')).toBe(issuer);
    expect(await audience({ client: 'key' }, 'https://set.example')).toBe('https://set.example');
    expect(await audience({ client: 'key' })).toBe('https://id.example/tenant');
    expect(await audience(undefined)).toBe('https://id.example/tenant');
  });

  test('that is not stored has to be given', async () => {
    expect(await failureOf(() => proofOf({ client: 'key' }))).toEqual(
      missing('the private key of the client', 'HOOKTRAIL_CLIENT_KEY_FILE'),
    );
  });

  test.each<[ClientProof, object]>([
    [{ method: 'secret', secret: 'one' }, { clientSecret: 'one' }],
    [{ method: 'assertion', read: async () => '' }, { client: 'assertion' }],
    [{ method: 'none' }, { client: 'none' }],
  ])('is kept, or only its kind: %j', (proof, kept) => {
    expect(keptProof(proof)).toEqual(kept);
  });

  test('of a private key is only the kind, and no part of the key', async () => {
    const key = await importClientKey(pem(ec), undefined);
    expect(keptProof({ method: 'key', key, audience: 'https://id.example' })).toEqual({ client: 'key' });
  });
});

const tokenWith = (claims: unknown) =>
  `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.signature`;

describe('the token of a workload', () => {
  /** Reads the token as for a request, from a file that holds this text. */
  async function readOf(text: string): Promise<string> {
    const context = contextOf({ HOOKTRAIL_CLIENT_ASSERTION_FILE: await fileOf(text) });
    const proof = await givenProof('assertion', 'https://id.example', context);
    if (proof.method !== 'assertion') throw new Error(`it is ${proof.method}`);
    return await proof.read();
  }

  test('is read again for each request', async () => {
    const context = contextOf({ HOOKTRAIL_CLIENT_ASSERTION_FILE: await fileOf('first.one.x') });
    const proof = await givenProof('assertion', 'https://id.example', context);
    const read = proof.method === 'assertion' ? proof.read : undefined;
    expect(await read?.()).toBe('first.one.x');
    await fileOf('second.one.x');
    expect(await read?.()).toBe('second.one.x');
  });

  test.each(['a.b.c', 'A-9_.b-_8.', 'a..', 'a.b.c.d', 'a.b.c.d.e'])('may have the form %s', async (text) => {
    expect(await readOf(text)).toBe(text);
  });

  test.each(['a', 'a.b', '.b.c', 'a.b.c.d.e.f', 'a.b.c d', ' x a.b.c', 'a.b=.c', 'é.b.c', 'Bearer a.b.c'])(
    'has not the form %j, and none of it is shown',
    async (text) => {
      expect(await failureOf(() => readOf(text))).toEqual({
        name: 'UsageError',
        message: 'HOOKTRAIL_CLIENT_ASSERTION: the value is not a JSON Web Token',
        details: [],
        next: "name the file of the workload's token, or a command that prints it and nothing else",
      });
    },
  );

  const seconds = NOON / 1000;
  test.each<unknown>([seconds + 0.001, seconds + 300, `${seconds - 300}`, null, undefined, 1e300, -1e300])(
    'is sent before its end, and where that is not known: %j',
    async (exp) => {
      const token = tokenWith({ exp });
      expect(await readOf(token)).toBe(token);
    },
  );

  test.each([
    [seconds, '2026-11-20T12:00:00.000Z'],
    [seconds - 0.5, '2026-11-20T11:59:59.500Z'],
    [0, '1970-01-01T00:00:00.000Z'],
  ])('is not sent once it has ended: %j', async (exp, end) => {
    expect(await failureOf(() => readOf(tokenWith({ exp })))).toEqual({
      name: 'NotSignedInError',
      message: `the workload's token expired at ${end}`,
      details: ['it comes from HOOKTRAIL_CLIENT_ASSERTION_FILE or HOOKTRAIL_CLIENT_ASSERTION_COMMAND'],
      next: 'have the platform renew it, or name a command that asks for a new one',
    });
  });
});

test.each<[string, object]>([
  [tokenWith({ sub: 'Zoë ÿ?>', exp: 7 }), { sub: 'Zoë ÿ?>', exp: 7 }],
  // Base64url differs from Base64 in these bytes.
  [`e30.${Buffer.from('{"a":"ÿ~?>>"}').toString('base64url')}`, { a: 'ÿ~?>>' }],
  [tokenWith(null), {}],
  ['a.b.c', {}],
  ['opaque', {}],
  ['', {}],
])('the claims of %s are %j', (token, claims) => {
  expect(claimsOf(token)).toEqual(claims);
});

describe('a request for tokens', () => {
  /** The form and the headers that carry a proof. */
  async function sentWith(proof: ClientProof, now = clock.now()) {
    const body = new URLSearchParams();
    const headers = new Headers();
    const authenticate = libraryProof(proof, oauth, now);
    await authenticate({ issuer: 'https://other.example' }, { client_id: 'me' }, body, headers);
    return { form: Object.fromEntries(body), headers: [...headers] };
  }
  const ASSERTED = {
    client_id: 'me',
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
  };

  test('carries the secret in its body', async () => {
    expect(await sentWith({ method: 'secret', secret: 'a & b' })).toEqual({
      form: { client_id: 'me', client_secret: 'a & b' },
      headers: [],
    });
  });

  test('of a public client carries its id alone', async () => {
    expect(await sentWith({ method: 'none' })).toEqual({ form: { client_id: 'me' }, headers: [] });
  });

  test('carries the token that the workload has then', async () => {
    expect(await sentWith({ method: 'assertion', read: async () => 'a.b.c' })).toEqual({
      form: { ...ASSERTED, client_assertion: 'a.b.c' },
      headers: [],
    });
  });

  test.each([
    ['an EC key', ec, 'ES256', undefined],
    ['an EC key with an id', ec, 'ES256', 'its id'],
    ['an RSA key', rsa, 'RS256', undefined],
    ['an RSA key with an id', rsa, 'RS256', 'its id'],
  ] as const)('carries an assertion that %s signed', async (_, pair, alg, kid) => {
    const key = await importClientKey(pem(pair), kid);
    const proof: ClientProof = { method: 'key', key, audience: 'https://name.example/' };
    const { form, headers } = await sentWith(proof, NOON + 999);
    const { client_assertion = '', ...rest } = form;
    expect([rest, headers]).toEqual([ASSERTED, []]);
    const [header = '', payload = '', signature = ''] = client_assertion.split('.');
    const decoded = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString());
    expect(decoded(header)).toEqual(kid === undefined ? { alg } : { alg, kid });
    const claims = decoded(payload);
    expect(claims).toEqual({
      iss: 'me',
      sub: 'me',
      aud: 'https://name.example/',
      iat: NOON / 1000,
      exp: NOON / 1000 + 60,
      jti: expect.stringMatching(/^[\w-]{43}$/),
    });
    const publicKey = createPublicKey(pair.privateKey);
    const verified = verify(
      'sha256',
      Buffer.from(`${header}.${payload}`),
      alg === 'ES256' ? { key: publicKey, dsaEncoding: 'ieee-p1363' } : publicKey,
      Buffer.from(signature, 'base64url'),
    );
    expect(verified).toBe(true);
    const again = (await sentWith(proof)).form['client_assertion'] ?? '';
    expect(decoded(again.split('.')[1] ?? '')['jti']).not.toBe(claims.jti);
  });
});
