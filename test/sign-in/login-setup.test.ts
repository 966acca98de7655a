import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Context } from '../../src/context.ts';
import { openVault } from '../../src/secrets/stored-sign-ins.ts';
import type { Secrets } from '../../src/secrets/vault.ts';
import { loadRunSettings } from '../../src/settings/settings.ts';
import { type Attempt, NEEDED, type SignInFlags } from '../../src/sign-in/login/login-attempt.ts';
import { prepareSignIn } from '../../src/sign-in/login/login-setup.ts';
import { bindingOf } from '../../src/sign-in/session.ts';
import { advising } from '../support/advice.ts';
import { createContext } from '../support/context.ts';
import { forEachTest } from '../support/each-test.ts';
import { createHome } from '../support/home.ts';
import { fakeReporter } from '../support/outputs.ts';

const home = forEachTest(createHome);

const ADDRESSES = {
  authUrl: 'https://id.example/identity',
  baseUrl: 'https://events.example/v1',
  clientId: 'client',
};
const FLAGS = { ...ADDRESSES, vendor: 'acme', store: 'file' };
const SAVED = {
  'auth-url': 'https://id.example/identity',
  'base-url': 'https://events.example/v1',
  'client-id': 'client',
  vendor: 'acme',
  store: 'file',
};

type Flags = Partial<Record<keyof SignInFlags, unknown>>;

/** An attempt without a terminal, which needs no browser. */
async function attemptWith(flags: Flags, environment: Context['environment'] = {}, lines: string[] = []) {
  const context = createContext({ environment: { ...home.env, ...environment } });
  const all = { ...FLAGS, device: true, browser: true, ...flags } as SignInFlags;
  const settings = await loadRunSettings(all, context);
  const next = async () => lines.shift();
  const attempt = { flags: all, settings, context, reporter: fakeReporter(), typed: {}, lines: { next } };
  return attempt as unknown as Attempt;
}

const prepare = async (...given: Parameters<typeof attemptWith>) =>
  await prepareSignIn(await attemptWith(...given));

async function save(profiles: Readonly<Record<string, object>>): Promise<void> {
  const folder = path.join(home.folder, 'config');
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, 'config.json'), JSON.stringify({ version: 1, profiles }));
}

async function store(secrets: Secrets): Promise<void> {
  const { settings, context } = await attemptWith({});
  await openVault('file', bindingOf(settings.checked(NEEDED)), context).write(secrets);
}

const GIVEN = { HOOKTRAIL_CLIENT_SECRET: 'given' };

describe('a profile that is signed in at other addresses', () => {
  const [authUrl, baseUrl, clientId] = ['https://id.example/new', 'https://other.example/v1', 'other'];

  test.each<[Flags, string[]]>([
    [{ authUrl }, ['identity provider: https://id.example/identity, would become https://id.example/new']],
    [{ baseUrl }, ['event service: https://events.example/v1, would become https://other.example/v1']],
    [{ clientId }, ['client id: client, would become other']],
    [{ authUrl, clientId }, expect.any(Array)],
  ])('is not replaced by %j unasked', async (changes, details) => {
    await save({ default: SAVED });
    await store({ refreshToken: 'irreplaceable' });
    await expect(prepare(changes, GIVEN)).rejects.toMatchObject({
      exitCode: 2,
      message: "the profile 'default' is signed in elsewhere",
      details,
      next: 'choose another profile with --profile NAME, or replace this one with --replace',
    });
    await prepare({ ...changes, replace: true }, GIVEN);
    await prepare({ ...changes, profile: 'other' }, GIVEN);
  });

  test('is replaced where nothing would be lost', async () => {
    await save({ default: SAVED });
    await prepare({ authUrl }, GIVEN);
    await store({ refreshToken: 'irreplaceable' });
    await prepare({ vendor: 'other' }, GIVEN);
    await save({ default: { vendor: 'acme' } });
    await prepare({ authUrl }, GIVEN);
    await save({});
    await prepare({ authUrl }, GIVEN);
  });
});

describe('the client of a sign-in', () => {
  const secretOf = async (...given: Parameters<typeof attemptWith>) => (await prepare(...given)).proof;

  test('proves itself by the secret that is given, or else by the stored one', async () => {
    await store({ clientSecret: 'stored' });
    expect(await secretOf({})).toEqual({ method: 'secret', secret: 'stored' });
    expect(await secretOf({}, GIVEN)).toEqual({ method: 'secret', secret: 'given' });
    const stdin = { clientSecretStdin: true };
    expect(await secretOf(stdin, GIVEN, [' typed '])).toEqual({ method: 'secret', secret: 'typed' });
    await expect(secretOf(stdin, GIVEN, [])).rejects.toMatchObject({
      message: '--client-secret-stdin: the first line of standard input is empty',
      next: advising('send the client secret there, or run `hooktrail login` on a terminal and be asked'),
    });
    expect(await secretOf({ publicClient: true })).toEqual({ method: 'none' });
  });

  test('is public where the stored one is, unless it signs in as itself', async () => {
    await store({ client: 'none' });
    expect(await secretOf({})).toEqual({ method: 'none' });
    await expect(secretOf({ device: undefined, clientCredentials: true })).rejects.toMatchObject({
      message: 'a setting is missing',
    });
  });

  test('that has no secret is an error with everything else that is missing', async () => {
    const secret =
      '--client-secret-stdin or HOOKTRAIL_CLIENT_SECRET: client secret (--public-client if it has none)';
    const next = advising(
      'give them as flags or variables, or run `hooktrail login` on a terminal and be asked',
    );
    await expect(prepare({})).rejects.toMatchObject({
      message: 'a setting is missing',
      details: [secret],
      next,
    });
    await expect(prepare({ clientId: undefined, vendor: undefined })).rejects.toMatchObject({
      message: 'settings are missing',
      details: [
        '--client-id or HOOKTRAIL_CLIENT_ID: client id',
        '--vendor or HOOKTRAIL_VENDOR: vendor of the media type',
        secret,
      ],
      next,
    });
    await expect(prepare({ clientId: undefined, vendor: undefined }, GIVEN)).rejects.toMatchObject({
      details: [expect.stringContaining('--client-id'), expect.stringContaining('--vendor')],
    });
  });
});

test('a store that takes no secrets is an error before anybody signs in', async () => {
  await mkdir(path.join(home.folder, 'config'), { recursive: true });
  await writeFile(path.join(home.folder, 'config', 'secrets'), 'in the way');
  await expect(prepare({}, GIVEN)).rejects.toMatchObject({
    exitCode: 2,
    message: expect.stringContaining('secrets cannot be written to '),
  });
});
