import fs from 'node:fs';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import tls from 'node:tls';
import { expect, onTestFinished, test, vi } from 'vitest';
import { clock } from '../support/clock.ts';
import { createContext } from '../support/context.ts';
import { createHome } from '../support/home.ts';
import { freePort } from '../support/ports.ts';
import { hooktrail } from '../support/program.ts';
import { startSigningIn } from '../support/signing-in.ts';

interface Finding {
  readonly check: string;
  readonly state: string;
  readonly message: string;
  readonly next?: string;
}

async function findings(env: Readonly<Record<string, string | undefined>>): Promise<[number, Finding[]]> {
  const { code, stdout } = await hooktrail(['doctor', '--json'], { env });
  return [code as number, JSON.parse(stdout)];
}
const found = (all: readonly Finding[], name: string) => all.find(({ check }) => check === name);

test('if all is well, every check says so and no secret is printed', async () => {
  await using signing = await startSigningIn({}, { port: await freePort() });
  await signing.signIn();
  const { authUrl, baseUrl } = signing.sandbox.settings;
  const { code, stdout, stderr } = await signing.run(['doctor']);
  expect([code, stderr]).toEqual([0, '']);
  const text = stdout.replaceAll(/ in \d+ ms/g, '').replace(/Node\.js \S+/, 'Node.js');
  const folder = signing.env['HOOKTRAIL_CONFIG_DIR'];
  const trusted =
    'getCACertificates' in tls ? 'and those of the operating system are trusted' : 'are trusted';
  expect(text.split('\n').map((line) => line.trimEnd())).toEqual([
    'ok        node              Node.js',
    'ok        keychain          not used: the secrets are in an encrypted file (HOOKTRAIL_STORE)',
    `ok        configuration     ${folder}`,
    'ok        lock              locks can be taken and freed',
    `ok        redirect          ${signing.redirectUri} is free for a sign-in`,
    `ok        certificates      Node's own authorities ${trusted}; NODE_EXTRA_CA_CERTS is not set`,
    "ok        settings          profile 'default'; overridden by HOOKTRAIL_AUTH_URL, HOOKTRAIL_BASE_URL, HOOKTRAIL_CLIENT_ID, HOOKTRAIL_VENDOR, HOOKTRAIL_REDIRECT_URI, HOOKTRAIL_STORE",
    `ok        proxy             ${new URL(baseUrl).host} is reached directly`,
    `ok        provider          ${authUrl} reached (answers as it should)`,
    'ok        clock (provider)  agrees with that of the provider',
    `ok        service           ${baseUrl} reached (asks for a token, as it should)`,
    'ok        clock (service)   agrees with that of the service',
    'ok        refresh           no other process refreshes the sign-in',
    "ok        sign-in           the service accepts the token (profile 'default')",
    '',
  ]);
  const { stdout: token } = await signing.run(['token']);
  for (const secret of [
    token.trim(),
    signing.env['HOOKTRAIL_CLIENT_SECRET'],
    signing.env['HOOKTRAIL_PASSPHRASE'],
  ])
    expect(stdout).not.toContain(secret);
});

test('on a terminal lines fit its width, and what is wrapped is indented', async () => {
  await using home = await createHome();
  const env = {
    ...home.env,
    NO_COLOR: '1',
    HOOKTRAIL_AUTH_URL: 'http://127.0.0.1:1',
    HOOKTRAIL_BASE_URL: 'http://127.0.0.1:1',
  };
  const { stdout } = await hooktrail(['doctor'], { env, terminal: 80 });
  const lines = stdout.split('\n').filter((line) => !line.includes(home.folder));
  expect(lines.filter((line) => line.length > 80)).toEqual([]);
  const at = lines.findIndex((line) => line.includes('  certificates  '));
  expect(lines[at + 1]).toMatch(/^ {25}\S/);
});

test('next steps carry the profile of the run', async () => {
  await using home = await createHome();
  const { stdout } = await hooktrail(['doctor', '--profile', 'night'], { env: home.env });
  expect(stdout).toContain('next: give --auth-url, or run `hooktrail login --profile night`\n');
});

test('missing settings are broken, each with what to do, and the exit code is 1', async () => {
  await using home = await createHome();
  const [code, all] = await findings({
    ...home.env,
    HOOKTRAIL_REDIRECT_URI: `http://127.0.0.1:${await freePort()}/callback`,
  });
  expect(code).toBe(1);
  expect(all.filter(({ state }) => state !== 'ok')).toEqual([
    {
      check: 'provider',
      state: 'broken',
      message: 'no address is set',
      next: 'give --auth-url, or run `hooktrail login`',
    },
    {
      check: 'service',
      state: 'broken',
      message: 'no address is set',
      next: 'give --base-url, or run `hooktrail login`',
    },
    {
      check: 'sign-in',
      state: 'broken',
      message: 'not signed in',
      next: 'run `hooktrail login`',
    },
  ]);
});

test('an unreachable server, a port in use and a wrong clock are reported', async () => {
  await using signing = await startSigningIn({}, { port: await freePort() });
  const port = Number(new URL(signing.redirectUri).port);
  const taken = createServer().listen(port, '127.0.0.1');
  signing.sandbox.control.fault('service', {
    kind: 'status',
    status: 503,
    headers: { date: new Date(clock.now() + 400_000).toUTCString() },
  });
  const env = { ...signing.env, HOOKTRAIL_AUTH_URL: 'http://127.0.0.1:9' };
  const [code, all] = await findings(env);
  taken.close();
  expect(code).toBe(1);
  expect(found(all, 'provider')).toEqual({
    check: 'provider',
    state: 'broken',
    message: 'http://127.0.0.1:9: 127.0.0.1:9 does not accept connections (ECONNREFUSED)',
    next: 'check the URL and that the service runs',
  });
  expect(found(all, 'redirect')).toMatchObject({
    state: 'doubtful',
    message: `cannot wait for the sign-in on 127.0.0.1:${port}: port ${port} of 127.0.0.1 is taken by another program, such as a \`hooktrail login\` that still waits`,
  });
  expect(found(all, 'service')).toMatchObject({ state: 'doubtful' });
  expect(found(all, 'clock (service)')).toMatchObject({
    state: 'broken',
    message: 'is 400 s behind that of the service',
  });
});

test('a proxy is reported for each host, without its password', async () => {
  await using signing = await startSigningIn();
  const [, all] = await findings({
    ...signing.env,
    HOOKTRAIL_AUTH_URL: 'https://id.example.test',
    HTTPS_PROXY: 'http://ada:s3cret@127.0.0.1:9',
  });
  expect(all.filter(({ check }) => check === 'proxy')).toEqual([
    {
      check: 'proxy',
      state: 'ok',
      message: 'id.example.test is reached through http://127.0.0.1:9 (HTTPS_PROXY)',
    },
    {
      check: 'proxy',
      state: 'ok',
      message: `${new URL(signing.sandbox.settings.baseUrl).host} is reached directly`,
    },
  ]);
});

test('wrong settings, certificates and folder modes are reported', async () => {
  await using home = await createHome();
  // As on macOS, where it is in "Application Support".
  const config = path.join(home.folder, 'Application Support');
  await mkdir(config);
  await chmod(config, 0o777);
  const notes = path.join(home.folder, 'notes.pem');
  await writeFile(notes, 'no certificate');
  const [, all] = await findings({
    ...home.env,
    HOOKTRAIL_CONFIG_DIR: config,
    HOOKTRAIL_VENDOR: 'a b',
    NODE_EXTRA_CA_CERTS: notes,
  });
  expect(found(all, 'settings')).toMatchObject({
    state: 'broken',
    message: "HOOKTRAIL_VENDOR: invalid value 'a b': must be made of letters, digits and ! # $ & ^ _ . -",
  });
  expect(found(all, 'configuration')).toEqual({
    check: 'configuration',
    state: 'broken',
    message: `others can write to ${config}`,
    next: `\`chmod 700 '${config}'\``,
  });
  expect(found(all, 'certificates')).toMatchObject({
    state: 'broken',
    message: `NODE_EXTRA_CA_CERTS: ${notes} holds no certificate`,
  });
});

test.each(['ENOSPC', 'EROFS'])('doctor tries to write in both folders: %s', async (code) => {
  await using home = await createHome();
  const config = home.env['HOOKTRAIL_CONFIG_DIR'] as string;
  const { open } = fs.promises;
  for (const folder of [config, path.join(config, 'secrets')]) {
    await mkdir(folder);
    const opening = vi.spyOn(fs.promises, 'open').mockImplementation((file, ...rest) => {
      if (path.dirname(String(file)) !== folder) return open(file, ...rest);
      return Promise.reject(Object.assign(new Error(`${code}: no way, open`), { code, syscall: 'open' }));
    });
    onTestFinished(() => opening.mockRestore());
    const [, all] = await findings(home.env);
    expect(found(all, 'configuration')).toMatchObject({
      state: 'broken',
      message: `${folder} cannot be written: no way (${code})`,
    });
    opening.mockRestore();
  }
});

test('an unusable keychain is reported with the alternative', async () => {
  await using home = await createHome();
  const loadKeychain = async () => {
    throw Object.assign(new Error('no keytar'), { code: 'MODULE_NOT_FOUND' });
  };
  const machine = { ...createContext().machine, platform: 'darwin' as const, userHome: home.folder };
  const { stdout } = await hooktrail(['doctor', '--json'], {
    env: { ...home.env, HOOKTRAIL_STORE: 'keychain' },
    context: { loadKeychain, machine },
  });
  expect(found(JSON.parse(stdout), 'keychain')).toEqual({
    check: 'keychain',
    state: 'broken',
    message: 'the OS keychain cannot be reached: the npm package keytar is not installed',
    next: 'install hooktrail again without `--omit=optional`, or keep the secrets in an encrypted file: `hooktrail login --store file` (or HOOKTRAIL_STORE=file)',
  });
});

test('a session bus whose socket is missing is reported', async () => {
  await using home = await createHome();
  const machine = { ...createContext().machine, platform: 'linux' as const, userHome: home.folder };
  const { stdout } = await hooktrail(['doctor', '--json'], {
    env: { ...home.env, HOOKTRAIL_STORE: 'keychain', DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nonexistent/bus' },
    context: { machine },
  });
  expect(found(JSON.parse(stdout), 'd-bus')).toEqual({
    check: 'd-bus',
    state: 'doubtful',
    message: 'the session bus cannot be reached: connect ENOENT /nonexistent/bus',
    next: 'if the keychain does not answer, check DBUS_SESSION_BUS_ADDRESS',
  });
});
