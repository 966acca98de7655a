import { createPublicKey, generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import type { JWK } from 'oidc-provider';
import { describe, expect, test } from 'vitest';
import { clock } from '../support/clock.ts';
import type { SandboxOptions } from '../support/sandbox.ts';
import { startSigningIn } from '../support/signing-in.ts';

const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const publicJwk = ({ publicKey }: { publicKey: KeyObject }, more = {}) =>
  ({ ...publicKey.export({ format: 'jwk' }), ...more }) as JWK;
const pem = ({ privateKey }: { privateKey: KeyObject }, type: 'pkcs8' | 'sec1' | 'pkcs1' = 'pkcs8') =>
  privateKey.export({ type: type as 'pkcs8', format: 'pem' }).toString();

/** A sandbox and a home without a client secret, whose files are written by `file`. */
async function startWithout(options: SandboxOptions = {}, client = '') {
  const at = await startSigningIn(options);
  const {
    HOOKTRAIL_CLIENT_SECRET: _secret,
    HOOKTRAIL_SCOPE: _scope,
    ...rest
  } = at.env as Record<string, string>;
  const env: Record<string, string | undefined> = {
    ...rest,
    HOOKTRAIL_CLIENT_ID: `${at.sandbox.settings.clientId}${client}`,
  };
  return {
    ...at,
    env,
    run: (args: readonly string[], changed: Record<string, string | undefined> = {}, stdin?: string) =>
      at.run(args, { env: { ...env, ...changed }, ...(stdin === undefined ? {} : { stdin }) }),
    file: async (name: string, text: string, mode = 0o600) => {
      const file = path.join(at.home.folder, name);
      await writeFile(file, text, { mode });
      return file;
    },
    /** The bodies of requests to the endpoints of the provider that know the client, in order. */
    forms: () =>
      at.sandbox.log
        .filter(({ method, url }) => method === 'POST' && /\/connect\//.test(url))
        .map(({ url, body }) => ({ url, ...Object.fromEntries(new URLSearchParams(body)) })) as Record<
        string,
        string
      >[],
    [Symbol.asyncDispose]: at[Symbol.asyncDispose],
  };
}

const pastExpiry = () => clock.advance(1_800_000);

function decoded(assertion = '') {
  const [header, payload] = assertion.split('.').map((part) => Buffer.from(part, 'base64url').toString());
  return { header: JSON.parse(header ?? ''), payload: JSON.parse(payload ?? '') };
}

const signature = (assertion: string) => {
  const [header, payload, text = ''] = assertion.split('.');
  return { data: Buffer.from(`${header}.${payload}`), bytes: Buffer.from(text, 'base64url') };
};

describe('a private key', () => {
  test.each([
    ['an EC key in PKCS #8', ec, pem(ec), 'ES256'],
    ['an EC key in SEC 1', ec, pem(ec, 'sec1'), 'ES256'],
    ['an RSA key in PKCS #8', rsa, pem(rsa), 'RS256'],
    ['an RSA key in PKCS #1', rsa, pem(rsa, 'pkcs1'), 'RS256'],
    ['an EC key as a JWK', ec, JSON.stringify(ec.privateKey.export({ format: 'jwk' })), 'ES256'],
  ] as const)('%s signs in the client, again at the end of a token', async (_name, pair, text, alg) => {
    await using at = await startWithout({ clientKey: publicJwk(pair) }, '-key');
    const key = { HOOKTRAIL_CLIENT_KEY_FILE: await at.file('key', text) };
    const login = await at.run(['login', '--client-credentials'], key);
    expect(login).toMatchObject({ code: 0, stdout: '' });
    expect(login.stderr).toContain('  client    hooktrail-sandbox-key, by its private key\n');
    pastExpiry();
    expect((await at.run(['events', 'count'], key)).stdout).toBe('10\n');
    const [first, second] = at.forms();
    expect(Object.keys(first ?? {}).sort()).toEqual(
      ['client_assertion', 'client_assertion_type', 'client_id', 'grant_type', 'url'].sort(),
    );
    const { header, payload } = decoded(first?.['client_assertion']);
    expect(header).toEqual({ alg });
    const now = Math.floor(clock.now() / 1000) - 1800;
    const { authUrl } = at.sandbox.settings;
    const id = 'hooktrail-sandbox-key';
    expect(payload).toEqual({
      iss: id,
      sub: id,
      aud: authUrl,
      iat: now,
      exp: now + 60,
      jti: expect.stringMatching(/^[\w-]{43}$/),
    });
    expect(decoded(second?.['client_assertion']).payload.jti).not.toBe(payload.jti);
    const { data, bytes } = signature(first?.['client_assertion'] ?? '');
    const publicKey = createPublicKey({ key: pair.publicKey.export({ format: 'jwk' }), format: 'jwk' });
    const by = alg === 'ES256' ? { key: publicKey, dsaEncoding: 'ieee-p1363' as const } : { key: publicKey };
    expect(verify('sha256', data, by, bytes)).toBe(true);
  });

  test('a person signs in with it too: code, refresh and revocation', async () => {
    await using at = await startWithout({ clientKey: publicJwk(ec) }, '-key');
    const key = { HOOKTRAIL_CLIENT_KEY_FILE: await at.file('key', pem(ec)) };
    expect((await at.run(['login'], key)).code).toBe(0);
    pastExpiry();
    expect((await at.run(['token'], key)).code).toBe(0);
    expect((await at.run(['logout'], key)).stderr).toContain('its refresh token is revoked');
    const forms = at.forms();
    expect(forms.map(({ grant_type = 'revocation' }) => grant_type)).toEqual([
      'authorization_code',
      'refresh_token',
      'revocation',
      'revocation',
    ]);
    const ids = new Set(forms.map(({ client_assertion }) => decoded(client_assertion).payload.jti));
    expect(ids.size).toBe(4);
    expect(forms.every((form) => form['client_secret'] === undefined)).toBe(true);
  });

  test('its id comes from the JWK, or from HOOKTRAIL_CLIENT_KEY_ID, which wins', async () => {
    const jwk = JSON.stringify({ ...ec.privateKey.export({ format: 'jwk' }), kid: 'of the key', use: 'sig' });
    await using at = await startWithout({ clientKey: publicJwk(ec, { kid: 'of the key' }) }, '-key');
    const key = { HOOKTRAIL_CLIENT_KEY_FILE: await at.file('key', jwk) };
    expect((await at.run(['login', '--client-credentials'], key)).code).toBe(0);
    const named = { ...key, HOOKTRAIL_CLIENT_KEY_ID: 'another' };
    expect((await at.run(['login', '--client-credentials'], named)).code).toBe(4);
    expect(at.forms().map(({ client_assertion }) => decoded(client_assertion).header.kid)).toEqual([
      'of the key',
      'another',
    ]);
  });

  test('a command may print it, on several lines', async () => {
    await using at = await startWithout({ clientKey: publicJwk(ec) }, '-key');
    const key = { HOOKTRAIL_CLIENT_KEY_COMMAND: `cat '${await at.file('key', pem(ec))}'` };
    expect((await at.run(['login', '--client-credentials'], key)).code).toBe(0);
  });

  test('the assertion is for the configured issuer of the sign-in, whatever metadata and later settings say', async () => {
    await using at = await startWithout({ clientKey: publicJwk(ec) }, '-key');
    const key = { HOOKTRAIL_CLIENT_KEY_FILE: await at.file('key', pem(ec)) };
    at.control.behaviour.metadata = (whole) => ({ ...whole, issuer: 'https://id.example.net' });
    const issuer = 'https://id.example.com/of/ours/';
    const body = JSON.stringify({ access_token: 'a', expires_in: 600, token_type: 'Bearer' });
    at.control.fault('token', { kind: 'status', status: 200, body }, { kind: 'status', status: 200, body });
    expect((await at.run(['login', '--client-credentials', '--issuer', issuer], key)).code).toBe(0);
    pastExpiry();
    const elsewhere = { ...key, HOOKTRAIL_ISSUER: 'https://id.example.net' };
    expect((await at.run(['token'], elsewhere)).code).toBe(0);
    expect(at.forms().map(({ client_assertion }) => decoded(client_assertion).payload.aud)).toEqual([
      issuer,
      issuer,
    ]);
  });

  test('it goes to no other provider than that of the sign-in', async () => {
    await using at = await startWithout({ clientKey: publicJwk(ec) }, '-key');
    const key = { HOOKTRAIL_CLIENT_KEY_FILE: await at.file('key', pem(ec)) };
    await at.run(['login', '--client-credentials'], key);
    pastExpiry();
    const elsewhere = at.sandbox.settings.authUrl.replace('127.0.0.1', 'localhost');
    const before = at.sandbox.log.length;
    expect((await at.run(['token'], { ...key, HOOKTRAIL_AUTH_URL: elsewhere })).code).toBe(4);
    expect(at.sandbox.log.length).toBe(before);
  });

  test('without its variable a renewal asks for nothing, and says which to set', async () => {
    await using at = await startWithout({ clientKey: publicJwk(ec) }, '-key');
    const key = { HOOKTRAIL_CLIENT_KEY_FILE: await at.file('key', pem(ec)) };
    await at.run(['login', '--client-credentials'], key);
    pastExpiry();
    expect(await at.run(['token'])).toEqual({
      code: 2,
      stdout: '',
      stderr:
        'error: the private key of the client is needed, and no variable gives it\n' +
        '  the sign-in was made with it, and it is not stored\n' +
        'next: set HOOKTRAIL_CLIENT_KEY_FILE, or sign in again with `hooktrail login`\n',
    });
    expect(at.forms().length).toBe(1);
  });

  test('a client that the provider does not know by it is exit 4', async () => {
    await using at = await startWithout({ clientKey: publicJwk(ec) }, '-key');
    const other = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const { code, stderr } = await at.run(['login', '--client-credentials'], {
      HOOKTRAIL_CLIENT_KEY_FILE: await at.file('key', pem(other)),
    });
    expect(code).toBe(4);
    expect(stderr).toContain(
      'next: check --client-id, that the provider has the public half of the key in HOOKTRAIL_CLIENT_KEY_FILE',
    );
  });

  const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' });
  const MISMATCH = 'its private part (d) does not match its public part';
  const jwkOf = (change: object) => JSON.stringify({ ...ec.privateKey.export({ format: 'jwk' }), ...change });
  const edwards = generateKeyPairSync('ed25519');
  const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' });
  const short = generateKeyPairSync('rsa', { modulusLength: 1024 });
  const sealed = ec.privateKey.export({
    type: 'pkcs8',
    format: 'pem',
    cipher: 'aes-256-cbc',
    passphrase: 'x',
  });
  test.each([
    [
      'a public key',
      ec.publicKey.export({ type: 'spki', format: 'pem' }),
      'it is a public key or a certificate',
    ],
    ['a public JWK', JSON.stringify(ec.publicKey.export({ format: 'jwk' })), 'it has no private part (d)'],
    ['a set of keys', JSON.stringify({ keys: [] }), 'it is a set of keys, and one of them is needed'],
    ['a shared secret', JSON.stringify({ kty: 'oct', k: 'abc' }), 'it is a symmetric key'],
    ['a JWK for encryption', jwkOf({ use: 'enc' }), 'it is not for signatures (use)'],
    ['a JWK for another algorithm', jwkOf({ alg: 'ES384' }), 'it is for ES384'],
    ['a JWK that is damaged', jwkOf({ x: 7 }), 'it is not a valid JWK'],
    ['a JWK with the private part of another', jwkOf({ d: other.d }), MISMATCH],
    [
      'a JWK with a private part of no key',
      jwkOf({ d: Buffer.alloc(32, 255).toString('base64url') }),
      MISMATCH,
    ],
    ['broken JSON', `${jwkOf({})}}`, 'it is not valid JSON'],
    ['something else', 'a sentence', 'it is neither PEM nor a JWK'],
    ['a curve that is not supported', pem(p384), 'it is on the curve secp384r1'],
    ['an Edwards key', pem(edwards), 'it is of the type ed25519'],
    ['a short RSA key', pem(short), 'it has 1024 bits'],
    ['a sealed key', sealed, 'the key is encrypted with a passphrase'],
    ['an empty file', ' \n', 'HOOKTRAIL_CLIENT_KEY_FILE: the file gives no key'],
  ])('%s is exit 2 before any request, and nothing of it is shown', async (_name, text, said) => {
    await using at = await startWithout();
    const file = await at.file('key', String(text));
    const result = await at.run(['login', '--client-credentials'], { HOOKTRAIL_CLIENT_KEY_FILE: file });
    expect(result).toMatchObject({ code: 2, stdout: '' });
    expect(result.stderr).toContain(`${said}\nnext: `);
    expect(at.sandbox.log).toEqual([]);
    for (const word of String(text).match(/[\w-]{12,}/g) ?? []) expect(result.stderr).not.toContain(word);
  });

  test('a file that is not there, or that others can write, is exit 2', async () => {
    await using at = await startWithout();
    const missing = { HOOKTRAIL_CLIENT_KEY_FILE: path.join(at.home.folder, 'none') };
    const { code, stderr } = await at.run(['login', '--client-credentials'], missing);
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('HOOKTRAIL_CLIENT_KEY_FILE: the file cannot be read'),
    ]);
  });
});

describe("a workload's own token", () => {
  /** An assertion of the client that has the EC key, as a platform would make it. */
  function assertionFor(at: { sandbox: { settings: { authUrl: string } } }, lifetime = 300) {
    const now = Math.floor(clock.now() / 1000);
    const claims = {
      iss: 'hooktrail-sandbox-key',
      sub: 'hooktrail-sandbox-key',
      aud: at.sandbox.settings.authUrl,
      iat: now,
      exp: now + lifetime,
      jti: `${Math.random()}`,
    };
    const [header, payload] = [{ alg: 'ES256' }, claims].map((part) =>
      Buffer.from(JSON.stringify(part)).toString('base64url'),
    );
    const data = `${header}.${payload}`;
    const key = { key: ec.privateKey, dsaEncoding: 'ieee-p1363' } as const;
    return `${data}.${sign('sha256', Buffer.from(data), key).toString('base64url')}`;
  }

  test('is read again at each use, by a file or a command', async () => {
    for (const name of ['HOOKTRAIL_CLIENT_ASSERTION_FILE', 'HOOKTRAIL_CLIENT_ASSERTION_COMMAND']) {
      await using at = await startWithout({ clientKey: publicJwk(ec) }, '-key');
      const first = assertionFor(at);
      const file = await at.file('token', `${first}\n`);
      const given = { [name]: name.endsWith('FILE') ? file : `cat '${file}'` };
      const login = await at.run(['login', '--client-credentials'], given);
      expect(login).toMatchObject({ code: 0, stdout: '' });
      expect(login.stderr).toContain("  client    hooktrail-sandbox-key, by the workload's token\n");
      pastExpiry();
      const second = assertionFor(at);
      await at.file('token', second);
      expect((await at.run(['events', 'count'], given)).stdout).toBe('10\n');
      expect(at.forms().map(({ client_assertion }) => client_assertion)).toEqual([first, second]);
      expect(at.forms()[0]).toMatchObject({
        client_id: 'hooktrail-sandbox-key',
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      });
    }
  });

  test('that has ended is exit 4, and is not sent', async () => {
    await using at = await startWithout({ clientKey: publicJwk(ec) }, '-key');
    const given = { HOOKTRAIL_CLIENT_ASSERTION_FILE: await at.file('token', assertionFor(at, 0)) };
    const { code, stderr } = await at.run(['login', '--client-credentials'], given);
    expect([code, stderr]).toEqual([
      4,
      "error: the workload's token expired at 2026-11-20T12:00:00.000Z\n" +
        '  it comes from HOOKTRAIL_CLIENT_ASSERTION_FILE or HOOKTRAIL_CLIENT_ASSERTION_COMMAND\n' +
        'next: have the platform renew it, or name a command that asks for a new one\n',
    ]);
    expect(at.forms()).toEqual([]);
  });

  test('that is none is exit 2, and nothing of it is shown', async () => {
    await using at = await startWithout();
    const given = { HOOKTRAIL_CLIENT_ASSERTION_FILE: await at.file('token', 'some-password') };
    const { code, stderr } = await at.run(['login', '--client-credentials'], given);
    expect([code, stderr]).toEqual([2, expect.stringContaining('is not a JSON Web Token')]);
    expect(stderr).not.toContain('some-password');
  });

  test('that the provider does not trust is exit 4 with a next step, and is in no trace', async () => {
    await using at = await startWithout({ clientKey: publicJwk(rsa) }, '-key');
    const assertion = assertionFor(at);
    const given = { HOOKTRAIL_CLIENT_ASSERTION_FILE: await at.file('token', assertion) };
    const { code, stderr } = await at.run(['login', '--client-credentials', '--debug'], given);
    expect([code, stderr]).toEqual([
      4,
      expect.stringContaining("that the provider trusts the workload's token for it"),
    ]);
    for (const part of assertion.split('.')) expect(stderr).not.toContain(part);
  });
});

describe('two proofs', () => {
  const key = { HOOKTRAIL_CLIENT_KEY_FILE: '/nowhere' };
  const assertion = { HOOKTRAIL_CLIENT_ASSERTION_COMMAND: 'false' };
  const secret = { HOOKTRAIL_CLIENT_SECRET: 'a secret' };
  test.each([
    [{ ...key, ...assertion }, [], 'HOOKTRAIL_CLIENT_KEY_FILE and HOOKTRAIL_CLIENT_ASSERTION_COMMAND'],
    [{ ...secret, ...key }, [], 'HOOKTRAIL_CLIENT_SECRET and HOOKTRAIL_CLIENT_KEY_FILE'],
    [{ ...secret, ...assertion }, [], 'HOOKTRAIL_CLIENT_SECRET and HOOKTRAIL_CLIENT_ASSERTION_COMMAND'],
    [key, ['--client-secret-stdin'], '--client-secret-stdin and HOOKTRAIL_CLIENT_KEY_FILE'],
    [secret, ['--public-client'], '--public-client and HOOKTRAIL_CLIENT_SECRET'],
  ] as const)('%j with %j is exit 2, and nothing is asked', async (variables, flags, named) => {
    await using at = await startWithout();
    expect(await at.run(['login', ...flags], variables)).toEqual({
      code: 2,
      stdout: '',
      stderr: `error: ${named} are both given, but a client authenticates in one way\nnext: leave out all but one of them\n`,
    });
    expect(at.sandbox.log).toEqual([]);
  });

  test('they are exit 2 for every command that uses the sign-in', async () => {
    await using at = await startSigningIn();
    await at.signIn();
    const env = { ...at.env, ...key };
    expect((await at.run(['events', 'count'], { env })).code).toBe(2);
  });

  test('two sources of one proof are exit 2', async () => {
    await using at = await startWithout();
    const both = { ...assertion, HOOKTRAIL_CLIENT_ASSERTION_FILE: '/nowhere' };
    expect((await at.run(['login', '--client-credentials'], both)).code).toBe(2);
  });
});

describe('a public client', () => {
  test('signs in and renews by its id alone, also when a secret of another is set later', async () => {
    await using at = await startWithout({}, '-public');
    const login = await at.run(['login', '--public-client']);
    expect(login).toMatchObject({ code: 0 });
    expect(login.stderr).toContain(
      '  client    hooktrail-sandbox-public, a public client, without a secret\n',
    );
    pastExpiry();
    expect((await at.run(['token'], { HOOKTRAIL_CLIENT_SECRET: 'of another' })).code).toBe(0);
    expect((await at.run(['status'])).stdout).toContain(
      'client     hooktrail-sandbox-public, a public client, without a secret\n',
    );
    expect((await at.run(['logout'])).stderr).toContain('its refresh token is revoked');
    for (const form of at.forms()) {
      expect(form).toMatchObject({ client_id: 'hooktrail-sandbox-public' });
      expect(form).not.toHaveProperty('client_secret');
      expect(form).not.toHaveProperty('client_assertion');
    }
    expect(at.forms()[0]).toHaveProperty('code_verifier');
  });

  test('is not guessed from a variable that is missing', async () => {
    await using at = await startWithout({}, '-public');
    const { code, stderr } = await at.run(['login']);
    expect([code, stderr]).toEqual([
      2,
      expect.stringContaining('HOOKTRAIL_CLIENT_SECRET: client secret (--public-client if it has none)\n'),
    ]);
  });

  test('stays one when it signs in again, and becomes another with a secret', async () => {
    await using at = await startWithout({}, '-public');
    await at.run(['login', '--public-client']);
    expect((await at.run(['login'])).code).toBe(0);
    const { code, stderr } = await at.run(['login', '--client-secret-stdin'], {}, 'a secret\n');
    expect([code, stderr]).toEqual([4, expect.stringContaining('the right client secret')]);
  });

  test('cannot sign in as itself', async () => {
    await using at = await startWithout({}, '-public');
    expect((await at.run(['login', '--public-client', '--client-credentials'])).code).toBe(2);
    await at.run(['login', '--public-client']);
    expect((await at.run(['login', '--client-credentials'])).code).toBe(2);
  });

  test('is what an empty answer to the question for the secret means', async () => {
    await using at = await startWithout({}, '-public');
    const { stdin, printed, finished } = at.start(['login'], { env: at.env, stdin: null, terminal: 80 });
    await printed('stderr', /just press Enter\.\nClient secret: $/);
    stdin.write('\r');
    expect((await finished).code).toBe(0);
    expect((await at.run(['status'])).stdout).toContain('a public client, without a secret');
  });
});

describe('a provider that requires pushed authorization requests', () => {
  test.each([
    ['a secret', '', []],
    ['a public client', '-public', ['--public-client']],
  ] as const)('gets them, and the browser a reference: %s', async (_name, client, flags) => {
    await using at = await startWithout({ requirePushedRequests: true }, client);
    const secret = client === '' ? { HOOKTRAIL_CLIENT_SECRET: at.sandbox.settings.clientSecret } : {};
    const login = await at.run(['login', ...flags], secret);
    expect(login).toMatchObject({ code: 0, stdout: '' });
    expect(login.stderr).toMatch(/^This address is valid for \d+ s\.$/m);
    const [pushed, exchange] = at.forms();
    expect(pushed).toMatchObject({
      url: '/identity/connect/par',
      response_type: 'code',
      scope: 'event_api offline_access',
      code_challenge_method: 'S256',
    });
    expect(exchange).toMatchObject({ grant_type: 'authorization_code' });
    const opened = at.sandbox.log.find(({ url }) => url.includes('/connect/authorize?'));
    const parameters = [...new URL(opened?.url ?? '', 'http://x').searchParams.keys()];
    expect(parameters).toEqual(['client_id', 'request_uri']);
    pastExpiry();
    expect((await at.run(['token'], secret)).code).toBe(0);
  });

  test('and answers with something else is exit 1', async () => {
    await using at = await startWithout({ requirePushedRequests: true });
    at.control.fault('pushed-request', { kind: 'status', status: 201, body: '{"expires_in":60}' });
    const { code, stderr } = await at.run(['login'], {
      HOOKTRAIL_CLIENT_SECRET: at.sandbox.settings.clientSecret,
    });
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining('announcing the sign-in failed: the identity'),
    ]);
  });

  test('and refuses the client is exit 4', async () => {
    await using at = await startWithout({ requirePushedRequests: true });
    const { code, stderr } = await at.run(['login'], { HOOKTRAIL_CLIENT_SECRET: 'wrong secret' });
    expect([code, stderr]).toEqual([4, expect.stringContaining('the right client secret')]);
    expect(stderr).not.toContain('wrong secret');
  });

  test('and names no endpoint of its own for them is exit 4', async () => {
    await using at = await startWithout({ requirePushedRequests: true });
    at.control.behaviour.metadata = (whole) => ({
      ...whole,
      pushed_authorization_request_endpoint: 'https://id.example.net/par',
    });
    const { code, stderr } = await at.run(['login'], {
      HOOKTRAIL_CLIENT_SECRET: at.sandbox.settings.clientSecret,
    });
    expect([code, stderr]).toEqual([
      4,
      expect.stringContaining('the identity provider requires pushed authorization requests\n'),
    ]);
  });
});
