import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect, test } from 'vitest';
import { root } from './pages.ts';
import {
  blockWith,
  execute,
  freshRoot,
  mayHaveRoots,
  NAME,
  npm,
  PLATFORMS,
  packageFolder,
  page,
  startTeamSandbox,
  withAddresses,
} from './team-page.ts';

test('a package that was packed again has the same check sum, and a changed one is refused', async () => {
  const [folder, again] = [await packageFolder(), await packageFolder()];
  expect(await readFile(path.join(again, 'SHA256SUMS'), 'utf8')).toMatch(
    /^[\da-f]{64} {2}hooktrail-0\.1\.0\.tgz\n$/,
  );
  await cp(path.join(again, 'SHA256SUMS'), path.join(folder, 'SHA256SUMS'));
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

test.skipIf(!mayHaveRoots || !PLATFORMS.includes('Docker'))(
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
