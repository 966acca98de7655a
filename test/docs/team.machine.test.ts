import { execFile } from 'node:child_process';
import { generateKeyPairSync, sign } from 'node:crypto';
import { cp, mkdir, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import type * as WorkflowParser from '@actions/workflow-parser';
import { tsImport } from 'tsx/esm/api';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pack, type Tarball } from '../package/tarball.ts';
import { clock } from '../support/clock.ts';
import { available } from '../support/machine/requirement.ts';
import { startSandbox } from '../support/sandbox.ts';
import { blocksOf, readPages, root } from './pages.ts';

const execute = promisify(execFile);
const page = (await readPages()).find(({ file }) => file === 'docs/team.md')!;
const blockWith = (kind: string, words: string) =>
  blocksOf(page, kind).find((text) => text.includes(words)) ?? `exit 99 # no ${kind} with ${words}`;

const mayHaveRoots = available('root') && available('namespaces (unshare)');
const NAME = 'hooktrail-0.1.0.tgz';
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const npm = `${path.dirname(process.execPath)}:${process.env['PATH']}`;

let tarball: Tarball;
beforeAll(async () => {
  tarball = await pack();
}, 60_000);
afterAll(() => tarball[Symbol.asyncDispose]());

/** A folder with the package, named and with its check sum as the page has it. */
async function packageFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'team-'));
  await cp(tarball.file, path.join(folder, NAME));
  const [line = 'exit 99'] = blockWith('sh', 'npm pack').match(/^sha256sum .*$/m) ?? [];
  await execute('sh', ['-ec', line], { cwd: folder });
  return folder;
}

/** Tests have a clock of their own. */
const realTime = () => Math.floor(performance.timeOrigin + performance.now());

/** A sandbox in real time, since the programs of a fresh root folder have no other. */
async function startTeamSandbox(options: Parameters<typeof startSandbox>[0] = {}) {
  clock.set(realTime());
  clock.run();
  return await startSandbox({ events: 300, autoApprove: true, ...options });
}

type Sandbox = Awaited<ReturnType<typeof startTeamSandbox>>;

/** The page's lines with the sandbox's addresses. */
function withAddresses(text: string, { settings }: Sandbox, clientId = settings.clientId): string {
  return text
    .replaceAll('https://id.example.com', settings.authUrl)
    .replaceAll('https://events.example.com/v1', settings.baseUrl)
    .replaceAll('my-company', clientId)
    .replaceAll('acme', settings.vendor);
}

const freshRoot = path.join(import.meta.dirname, 'fresh-root.sh');

/** Runs lines as root in a root folder of their own, which the first call makes. */
async function inRoot(folder: string, lines: string, env: Readonly<Record<string, string>> = {}) {
  const words = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  return await execute(
    freshRoot,
    [folder, '0:0', 'env', '-i', `PATH=${PATH}`, 'HOME=/root', ...words, 'bash', '-ec', lines],
    { env: { NODE: process.execPath, PATH: npm }, timeout: 60_000 },
  );
}

const INSTALL = blockWith('sh', '--prefix /usr/local');

test('a package that was packed again has the same check sum, and a changed one is refused', async () => {
  const [folder, again] = [await packageFolder(), await packageFolder()];
  await using second = await pack();
  expect(await readFile(path.join(again, 'SHA256SUMS'), 'utf8')).toMatch(
    /^[\da-f]{64} {2}hooktrail-0\.1\.0\.tgz\n$/,
  );
  await cp(path.join(again, 'SHA256SUMS'), path.join(folder, 'SHA256SUMS'));
  await cp(second.file, path.join(folder, NAME));
  const [check = 'exit 99'] = blockWith('sh', 'on a desktop').match(/^sha256sum --check .*$/m) ?? [];
  expect((await execute('sh', ['-ec', check], { cwd: folder })).stdout).toBe(`${NAME}: OK\n`);
  await writeFile(path.join(folder, NAME), 'another', { flag: 'a' });
  await expect(execute('sh', ['-ec', check], { cwd: folder })).rejects.toMatchObject({ code: 1 });
});

test('the version on the page is that of the package', async () => {
  const { version } = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8'));
  const named = page.text.match(/hooktrail[-:]\d[\d.]*\d/g) ?? [];
  expect(new Set(named)).toEqual(new Set([`hooktrail-${version}`, `hooktrail:${version}`]));
});

test.skipIf(!mayHaveRoots)(
  'the Dockerfile installs it, and it runs without root with its settings on a volume and secrets from files',
  { timeout: 120_000 },
  async () => {
    await using sandbox = await startTeamSandbox();
    const context = await packageFolder();
    const standIn = path.join(context, 'stand-in');
    await writeFile(path.join(context, 'Dockerfile'), blockWith('dockerfile', 'FROM'));
    await writeFile(path.join(context, 'client-secret.txt'), `${sandbox.settings.clientSecret}\n`);
    const bin = path.join(context, 'bin');
    await mkdir(bin);
    await cp(path.join(import.meta.dirname, 'docker.sh'), path.join(bin, 'docker'));
    const env = { PATH: `${bin}:${npm}`, NODE: process.execPath, FRESH_ROOT: freshRoot, STAND_IN: standIn };
    const run = (lines: string) =>
      execute('sh', ['-ec', withAddresses(lines, sandbox)], { cwd: context, env, timeout: 100_000 });

    const first = await run(blockWith('sh', 'docker build'));
    expect(first.stderr).toContain('Signed in at ');
    expect(first.stderr).not.toContain('warning');
    expect(Number((await run(blockWith('sh', 'rm secrets/client-secret'))).stdout)).toBeGreaterThan(0);

    // All that is kept is on the volume, and belongs to the user; the image is as it was built.
    const kept = await readdir(path.join(standIn, 'volume-hooktrail'));
    expect(kept).toEqual(expect.arrayContaining(['config.json', 'secrets']));
    expect(await readdir(path.join(standIn, 'image/config'))).toEqual([]);
    expect(
      (await execute('find', [path.join(standIn, 'volume-hooktrail'), '!', '-uid', '1000'])).stdout,
    ).toBe('');
    const { stdout: mode } = await execute('stat', ['-c', '%a %u', path.join(context, 'secrets/passphrase')]);
    expect(mode).toBe('600 1000\n');
  },
);

/** The units of the page by their names. */
const units = [...page.text.matchAll(/^`\/etc\/systemd\/system\/(.*)`:\n\n```ini\n([\s\S]*?)^```$/gm)].map(
  ([, name = '', text = '']) => ({ name, text }),
);

/** The value of a unit's setting, with its lines joined. */
function settingOf(name: string, setting: string): string {
  const { text = '' } = units.find((unit) => unit.name === name) ?? {};
  return new RegExp(`^${setting}=(.*)$`, 'm').exec(text.replaceAll(/\\\n\s*/g, ''))?.[1] ?? '';
}

describe.skipIf(!mayHaveRoots)('systemd', () => {
  const folder = () => path.join(os.tmpdir(), 'systemd-root');

  beforeAll(async () => {
    await inRoot(folder(), 'true');
    const there = await packageFolder();
    for (const name of await readdir(there))
      await cp(path.join(there, name), path.join(folder(), 'root', name));
    await inRoot(folder(), `cd\n${INSTALL}`);
    for (const { name, text } of units)
      await writeFile(path.join(folder(), 'etc/systemd/system', name), text);
  }, 120_000);

  test.skipIf(!available('systemd-analyze'))('accepts the units', async () => {
    expect(units.map(({ name }) => name)).toEqual([
      'hooktrail-listen.service',
      'hooktrail-export.service',
      'hooktrail-export.timer',
    ]);
    const verify = (names: string) =>
      inRoot(
        folder(),
        `cd /etc/systemd/system && systemd-analyze verify --man=no ${names} 2>&1 | grep hooktrail || :`,
      );
    expect((await verify(units.map(({ name }) => name).join(' '))).stdout).toBe('');
    const wrong = settingOf('hooktrail-listen.service', 'ExecStart').replace('hooktrail', 'hooktrial');
    await writeFile(
      path.join(folder(), 'etc/systemd/system/hooktrail-wrong.service'),
      `[Service]\nExecStart=${wrong}\nSucessExitStatus=143\n`,
    );
    const found = (await verify('hooktrail-wrong.service')).stdout;
    expect(found).toContain('SucessExitStatus');
    expect(found).toContain('hooktrial');
    const calendar = settingOf('hooktrail-export.timer', 'OnCalendar');
    expect((await inRoot(folder(), `systemd-analyze calendar '${calendar}'`)).stdout).toContain(
      '02:30:00 UTC',
    );
  });

  test('has a user of its own who signs in, listens and exports, and a stop is a success', {
    timeout: 120_000,
  }, async () => {
    await using sandbox = await startTeamSandbox();
    await writeFile(path.join(folder(), 'root/client-secret.txt'), `${sandbox.settings.clientSecret}\n`, {
      mode: 0o600,
    });
    await writeFile(path.join(folder(), 'root/api-token.txt'), 's3cret\n', { mode: 0o600 });
    const setup = withAddresses(blockWith('sh', 'useradd'), sandbox);
    const signedIn = await inRoot(folder(), `cd\n${setup}`);
    expect(signedIn.stderr).toContain('Signed in at ');
    expect(signedIn.stderr).not.toContain('warning');

    /**
     * Runs a unit's command as systemd does: its user, and nothing in the environment but that of the unit.
     */
    const asUnit = (unit: string, around: (command: string) => string) => {
      const user = settingOf(unit, 'User');
      const command = `setpriv --reuid ${user} --regid ${user} --clear-groups --no-new-privs env -i PATH=${PATH} HOME=/var/lib/hooktrail $(cat ${settingOf(unit, 'EnvironmentFile')}) ${settingOf(unit, 'ExecStart')}`;
      return inRoot(folder(), around(command));
    };
    const since = new Date(realTime() - 86_400_000).toISOString().slice(0, 10);
    const exported = await asUnit('hooktrail-export.service', (command) =>
      command.replace('--since 2026-11-01', `--since ${since}`),
    );
    expect(exported.stderr).toMatch(/^exported: \d+ events in \d+ files? in \/var\/lib\/hooktrail\/events, /);

    const listened = await asUnit(
      'hooktrail-listen.service',
      (command) =>
        `${command} > /dev/null 2> /tmp/log & until grep -q listening /tmp/log; do sleep 0.1; done\n` +
        'curl --fail --silent http://127.0.0.1:8980/health; kill $!; wait $! || echo " $?"',
    );
    const success = settingOf('hooktrail-listen.service', 'SuccessExitStatus');
    expect(listened.stdout).toMatch(new RegExp(`^\\{.*\\}\\s+${success}\n$`));
    expect(
      (await execute('stat', ['-c', '%U', path.join(folder(), 'var/lib/hooktrail/events')])).stdout,
    ).not.toBe('root\n');
  });
});

describe('the GitHub job', () => {
  const workflow = blockWith('yaml', 'workflow_dispatch');
  const read = async (content: string) => {
    // It imports JSON as bundlers take it, and Node does not.
    const parser: typeof WorkflowParser = await tsImport('@actions/workflow-parser', import.meta.url);
    const { convertWorkflowTemplate, NoOperationTraceWriter, parseWorkflow } = parser;
    const { context, value } = parseWorkflow({ name: 'failed.yml', content }, new NoOperationTraceWriter());
    const template = value && (await convertWorkflowTemplate(context, value));
    return { template, errors: context.errors.getErrors().map(({ message }) => message) };
  };

  test('is what the published schema of workflows takes', async () => {
    expect((await read(workflow)).errors).toEqual([]);
    for (const [right, wrong] of [
      ['runs-on', 'run-on'],
      ['id-token', 'id-tokens'],
      ['working-directory', 'directory'],
    ] as const)
      expect((await read(workflow.replace(right, wrong))).errors).not.toEqual([]);
  });

  test.skipIf(!mayHaveRoots || !available('curl') || !available('jq'))(
    'signs in with the token that the platform gives it, and lists failures',
    { timeout: 120_000 },
    async () => {
      const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      await using sandbox = await startTeamSandbox({
        clientKey: publicKey.export({ format: 'jwk' }) as never,
      });
      const clientId = `${sandbox.settings.clientId}-key`;
      const asked: string[] = [];
      await using platform = createServer((request, response) => {
        asked.push(`${request.headers.authorization} ${request.url}`);
        const now = Math.floor(realTime() / 1000);
        const about = { iss: clientId, sub: clientId, aud: sandbox.settings.authUrl };
        const claims = { ...about, iat: now, exp: now + 300, jti: String(Math.random()) };
        const data = [{ alg: 'ES256' }, claims]
          .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
          .join('.');
        const proof = sign('sha256', Buffer.from(data), { key: privateKey, dsaEncoding: 'ieee-p1363' });
        response.end(JSON.stringify({ count: 1, value: `${data}.${proof.toString('base64url')}` }));
      });
      await new Promise<void>((resolve) => platform.listen(0, '127.0.0.1', resolve));
      const { port } = platform.address() as AddressInfo;

      const { template } = await read(withAddresses(workflow, sandbox, clientId));
      const [job] = template?.jobs ?? [];
      if (job?.type !== 'job') throw new Error('no job');
      const given = [...(job.env ?? [])].map(({ key, value }) => [String(key), String(value)]);
      const folder = path.join(os.tmpdir(), 'github-root');
      await inRoot(folder, 'mkdir -p /root/tools /root/runner');
      const tools = path.join(folder, 'root/tools');
      const there = await packageFolder();
      for (const name of await readdir(there)) await cp(path.join(there, name), path.join(tools, name));
      const runner = {
        ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'r3quest',
        ACTIONS_ID_TOKEN_REQUEST_URL: `http://127.0.0.1:${port}/token?api-version=2.0`,
        RUNNER_TEMP: '/root/runner',
        GITHUB_ENV: '/root/runner/environment',
      };
      const steps = job.steps.flatMap((step) => ('run' in step ? [step] : []));
      expect(steps).toHaveLength(3);
      for (const step of steps) {
        const where = 'working-directory' in step ? String(step['working-directory']) : '.';
        const earlier = '[ ! -e "$GITHUB_ENV" ] || export $(cat "$GITHUB_ENV")';
        // No step's own setting of a folder is in the parser's types.
        const cwd = String(step.run).includes('SHA256SUMS') ? 'tools' : where;
        await inRoot(folder, `cd /root/${cwd}\n${earlier}\n${step.run}`, {
          ...Object.fromEntries(given),
          ...runner,
        });
      }
      const failed = JSON.parse(await readFile(path.join(folder, 'root/failed.json'), 'utf8'));
      expect(failed.length).toBeGreaterThan(0);
      expect(asked).toEqual([`Bearer r3quest /token?api-version=2.0&audience=${sandbox.settings.authUrl}`]);
    },
  );
});
