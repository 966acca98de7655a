import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, test } from 'vitest';
import type { Context } from '../../src/context.ts';
import { openVault } from '../../src/secrets/stored-sign-ins.ts';
import type { Secrets } from '../../src/secrets/vault.ts';
import { loadRunSettings } from '../../src/settings/settings.ts';
import { type Attempt, NEEDED, type SignInFlags } from '../../src/sign-in/login/login-attempt.ts';
import { prepareSignIn } from '../../src/sign-in/login/login-setup.ts';
import { bindingOf } from '../../src/sign-in/session.ts';
import { advising } from '../support/advice.ts';
import { createContext, fakeOutput } from '../support/context.ts';
import { forEachTest } from '../support/each-test.ts';
import { createHome } from '../support/home.ts';
import { fakeReporter } from '../support/outputs.ts';
import { memoryStream } from '../support/running.ts';
import { onLoopback } from '../support/server.ts';

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

/** An attempt without a terminal, unless `parts` has one, which needs no browser. */
async function attemptWith(
  flags: Flags,
  environment: Context['environment'] = {},
  lines: string[] = [],
  parts: Partial<Context> = {},
) {
  const context = createContext({ environment: { ...home.env, ...environment }, ...parts });
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

/** A terminal where somebody gives one of these answers to each question, which `asked` collects. */
function terminalWith(answers: readonly string[]) {
  const asked: string[] = [];
  const keys = new PassThrough();
  let text = '';
  const add = (bytes: string | Uint8Array) => {
    text += bytes;
    if (!text.endsWith(': ')) return;
    asked.push(text);
    text = '';
    const answer = answers[asked.length - 1];
    if (answer === undefined) keys.end();
    else keys.write(`${answer}\r`);
  };
  const write = async (bytes: string | Uint8Array) => add(bytes);
  const parts: Partial<Context> = {
    stdin: { ...createContext().stdin, isTerminal: true, stream: () => keys },
    stderr: { ...fakeOutput(200), write, stream: () => memoryStream(add, 200).stream },
  };
  return { asked, parts };
}

/** Prepares a sign-in on a terminal without colours. */
async function prepareOnTerminal(
  answers: readonly string[],
  flags: Flags = {},
  environment: Context['environment'] = {},
) {
  const { asked, parts } = terminalWith(answers);
  const attempt = await attemptWith(flags, { TERM: 'dumb', ...environment }, [], parts);
  const { said } = attempt.reporter as ReturnType<typeof fakeReporter>;
  const reporter: Attempt['reporter'] = {
    ...attempt.reporter,
    warning: (text, { kind, next }) => void said.push(`${kind} warning: ${text}; ${next}`),
  };
  return { done: prepareSignIn({ ...attempt, reporter }), asked, said, typed: attempt.typed };
}

const SECRET = 'Client secret: ';
const PUBLIC = 'notice: A public client has no secret: just press Enter.';

describe('on a terminal', () => {
  /** Its sign-in page is at `/identity/connect/authorize`, and there is nothing elsewhere. */
  async function startProvider() {
    const requested: string[] = [];
    const server = createServer(({ method, url = '' }, response) => {
      requested.push(`${method} ${url.split('?')[0]}`);
      response.writeHead(url.split('?')[0] === '/identity/connect/authorize' ? 200 : 404).end();
    });
    return { ...(await onLoopback(server)), requested };
  }

  const NONE = { authUrl: undefined, baseUrl: undefined, clientId: undefined, vendor: undefined };

  test('each missing setting is asked for, with an example, and checked', async () => {
    const { done, asked, said, typed } = await prepareOnTerminal(
      [
        ...['nowhere at all', '"id.example/identity"', '<events.example/v1>', '', 'client:8080 '],
        ...['a b', 'application/vnd.acme.v1+json', 's3cret'],
      ],
      NONE,
    );
    const { settings, proof } = await done;
    expect(settings).toMatchObject({ vendor: 'acme', clientId: 'client:8080' });
    expect(settings.authUrl.href).toBe('https://id.example/identity');
    expect(typed).toEqual({
      authUrl: 'https://id.example/identity',
      baseUrl: 'https://events.example/v1',
      clientId: 'client:8080',
      vendor: 'acme',
    });
    expect(proof).toEqual({ method: 'secret', secret: 's3cret' });
    const provider = 'Identity provider (--auth-url), such as https://id.example.com: ';
    const vendor = 'Vendor of the media type (--vendor), such as acme: ';
    expect(asked).toEqual([
      provider,
      expect.stringMatching(/^ {2}--auth-url: invalid value 'nowhere at all': must be .*\n/),
      'Event service (--base-url), such as https://events.example.com/v1: ',
      'Client id (--client-id): ',
      '  an answer is needed (Ctrl-C stops)\nClient id (--client-id): ',
      vendor,
      expect.stringMatching(/^ {2}--vendor: invalid value 'a b': must be .*\n/),
      SECRET,
    ]);
    expect(asked[1]?.endsWith(`\n${provider}`)).toBe(true);
    expect(asked[6]?.endsWith(`\n${vendor}`)).toBe(true);
    expect(said).toEqual([PUBLIC]);
  });

  test('nothing is asked that is known', async () => {
    const { done, asked } = await prepareOnTerminal([], {}, GIVEN);
    await done;
    expect(asked).toEqual([]);
  });

  test('what was typed before an answer is missing is kept', async () => {
    const { done, typed } = await prepareOnTerminal(['id.example'], NONE);
    await expect(done).rejects.toMatchObject({ exitCode: 130 });
    expect(typed).toEqual({ authUrl: 'https://id.example' });
  });

  test('a provider without a page to sign in at is asked for again, and taken if it is typed twice', async () => {
    await using provider = await startProvider();
    const elsewhere = `${provider.origin}/elsewhere`;
    const { done, asked, said } = await prepareOnTerminal(
      [provider.origin, elsewhere, elsewhere],
      { authUrl: undefined, device: undefined },
      GIVEN,
    );
    expect((await done).settings.authUrl.href).toBe(elsewhere);
    expect(asked).toHaveLength(3);
    const next = 'check the address; if you type it again, it is accepted as it is';
    expect(said).toEqual([
      `sign-in warning: there is nothing at ${provider.origin}/connect/authorize (404); ${next}`,
      `sign-in warning: there is nothing at ${elsewhere}/connect/authorize (404); ${next}`,
    ]);
    const paths = ['GET /connect/authorize', 'GET /elsewhere/connect/authorize'];
    expect(provider.requested).toEqual(paths);
  });

  test('a provider with a page to sign in at is taken at once', async () => {
    await using provider = await startProvider();
    const authUrl = `${provider.origin}/identity`;
    const typed = await prepareOnTerminal([authUrl], { authUrl: undefined, device: undefined }, GIVEN);
    expect((await typed.done).settings.authUrl.href).toBe(authUrl);
    expect(typed.said).toEqual([]);
    const given = await prepareOnTerminal([], { authUrl, device: undefined }, GIVEN);
    await given.done;
    expect(given.said).toEqual([]);
    expect(provider.requested).toHaveLength(2);
  });

  test('a given provider without that page is a warning, and not asked about if no browser opens', async () => {
    await using provider = await startProvider();
    const authUrl = `${provider.origin}/elsewhere`;
    for (const flags of [{}, { device: undefined, clientCredentials: true }]) {
      const unasked = await prepareOnTerminal([], { authUrl, ...flags }, GIVEN);
      await unasked.done;
      expect(unasked.said).toEqual([]);
    }
    expect(provider.requested).toEqual([]);
    const { done, said } = await prepareOnTerminal([], { authUrl, device: undefined }, GIVEN);
    await done;
    expect(said).toEqual([
      `sign-in warning: there is nothing at ${authUrl}/connect/authorize (404); check --auth-url if the browser says so too`,
    ]);
  });

  test('a provider that does not answer is an error before anything is asked', async () => {
    const authUrl = 'http://127.0.0.1:1/identity';
    const { done, asked } = await prepareOnTerminal([], { ...NONE, authUrl, device: undefined });
    await expect(done).rejects.toMatchObject({ exitCode: 5 });
    expect(asked).toEqual([]);
  });

  describe('the client secret', () => {
    test('may be left out by a public client', async () => {
      const { done, asked, said } = await prepareOnTerminal(['']);
      expect((await done).proof).toEqual({ method: 'none' });
      expect({ asked, said }).toEqual({ asked: [SECRET], said: [PUBLIC] });
    });

    test('is needed by a client that signs in as itself', async () => {
      const flags = { device: undefined, clientCredentials: true };
      const { done, asked, said } = await prepareOnTerminal(['', 's3cret'], flags);
      expect((await done).proof).toEqual({ method: 'secret', secret: 's3cret' });
      expect(asked).toEqual([SECRET, expect.stringMatching(/an answer is needed .*\nClient secret: $/)]);
      expect(said).toEqual([]);
    });

    test('is asked for with --client-secret-stdin too, whatever is given or stored', async () => {
      await store({ clientSecret: 'stored' });
      const { done, asked } = await prepareOnTerminal(['typed'], { clientSecretStdin: true }, GIVEN);
      expect((await done).proof).toEqual({ method: 'secret', secret: 'typed' });
      expect(asked).toEqual([SECRET]);
    });

    test('is not asked for if one is stored, or if the client needs none', async () => {
      await store({ clientSecret: 'stored' });
      const again = await prepareOnTerminal([]);
      expect((await again.done).proof).toEqual({ method: 'secret', secret: 'stored' });
      const other = await prepareOnTerminal([], { publicClient: true, profile: 'other' });
      expect((await other.done).proof).toEqual({ method: 'none' });
      expect([...again.asked, ...other.asked]).toEqual([]);
    });

    test('comes before the passphrase of a new file', async () => {
      const phrase = 'correct horse battery staple';
      const typed = await prepareOnTerminal(
        ['s3cret', phrase, phrase],
        {},
        { HOOKTRAIL_PASSPHRASE: undefined },
      );
      expect((await typed.done).proof).toEqual({ method: 'secret', secret: 's3cret' });
      expect(typed.asked).toEqual([
        SECRET,
        expect.stringMatching(/New passphrase for the encrypted file.*: $/),
        expect.stringMatching(/: $/),
      ]);
    });
  });

  describe('another sign-in of the profile', () => {
    const vendor = 'other';
    const clientId = 'other';
    const lines = [
      "The profile 'default' is signed in elsewhere:",
      '  client id: client, would become other',
    ];

    test('is replaced after a yes', async () => {
      await save({ default: SAVED });
      await store({ refreshToken: 'irreplaceable' });
      const { done, asked, said } = await prepareOnTerminal(['maybe', 'Yes'], { clientId, vendor }, GIVEN);
      expect((await done).settings.clientId).toBe('other');
      expect(said).toEqual(lines);
      expect(asked).toEqual([
        'Replace its sign-in? (yes or no): ',
        '  answer yes or no\nReplace its sign-in? (yes or no): ',
      ]);
    });

    test('stays after a no', async () => {
      await save({ default: SAVED });
      await store({ refreshToken: 'irreplaceable' });
      const { done } = await prepareOnTerminal(['n'], { clientId }, GIVEN);
      await expect(done).rejects.toMatchObject({ message: "the profile 'default' is signed in elsewhere" });
    });
  });

  describe('without a keychain', () => {
    const offer = 'Keep the secrets in an encrypted file instead? (yes or no): ';
    const none = 'the OS keychain cannot be reached: there is no D-Bus session bus';
    const fromEnvironment = { ...GIVEN, HOOKTRAIL_STORE: undefined };
    const flags = { store: undefined };

    test.runIf(process.platform === 'linux')(
      'the encrypted file is offered, and taken after a yes',
      async () => {
        const { done, asked, said, typed } = await prepareOnTerminal(
          ['y', 'client'],
          { ...flags, clientId: undefined },
          fromEnvironment,
        );
        expect((await done).settings.store).toBe('file');
        expect(typed).toMatchObject({ store: 'file', clientId: 'client' });
        expect(asked).toEqual([offer, 'Client id (--client-id): ']);
        expect(said).toEqual([none]);
      },
    );

    test.runIf(process.platform === 'linux')('a no is the error of the keychain', async () => {
      const { done, asked } = await prepareOnTerminal(['no'], { ...flags, ...NONE }, fromEnvironment);
      await expect(done).rejects.toMatchObject({ exitCode: 2, message: none });
      expect(asked).toEqual([offer]);
    });

    test.runIf(process.platform === 'linux')(
      'nothing is offered if --store keychain was given, or to a script',
      async () => {
        const { done, asked } = await prepareOnTerminal([], { store: 'keychain' }, GIVEN);
        await expect(done).rejects.toMatchObject({ message: none });
        expect(asked).toEqual([]);
        await expect(prepare(flags, fromEnvironment)).rejects.toMatchObject({ message: none });
      },
    );

    test('another fault of the store is no reason to offer it', async () => {
      await mkdir(path.join(home.folder, 'config'), { recursive: true });
      await writeFile(path.join(home.folder, 'config', 'secrets'), 'in the way');
      const { done, asked } = await prepareOnTerminal([], {}, GIVEN);
      await expect(done).rejects.toMatchObject({ message: expect.stringContaining('cannot be written to ') });
      expect(asked).toEqual([]);
    });
  });
});

describe('before anything is asked', () => {
  test('a key that is unusable is an error', async () => {
    const file = path.join(home.folder, 'key.pem');
    await writeFile(file, 'no key');
    const { done, asked } = await prepareOnTerminal(
      [],
      { clientId: undefined },
      {
        HOOKTRAIL_CLIENT_KEY_FILE: file,
      },
    );
    await expect(done).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining('HOOKTRAIL_CLIENT_KEY'),
    });
    expect(asked).toEqual([]);
  });
});

test('an assertion is read before a person signs in, and left to the client that signs in as itself', async () => {
  const given = { HOOKTRAIL_CLIENT_ASSERTION_FILE: path.join(home.folder, 'missing') };
  await expect(prepare({}, given)).rejects.toMatchObject({
    message: expect.stringContaining('HOOKTRAIL_CLIENT_ASSERTION_FILE'),
  });
  const { proof } = await prepare({ device: undefined, clientCredentials: true }, given);
  expect(proof.method).toBe('assertion');
});
