import { execFile } from 'node:child_process';
import { cp, readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { createHome } from '../support/home.ts';
import { spawnHooktrail } from '../support/process.ts';
import { drawnCases } from '../support/seed.ts';
import { install, pack, type Tarball } from './tarball.ts';

const execute = promisify(execFile);
const root = path.resolve(import.meta.dirname, '../..');
const built = (name: string) => path.resolve(path.dirname(inject('program')), '..', name);

let tarball: Tarball;
beforeAll(async () => {
  tarball = await pack();
}, 60_000);
afterAll(() => tarball[Symbol.asyncDispose]());

describe('the packed package', () => {
  test('holds the program, completions, pages of help, manual, README, licences and bill of materials, and nothing else', () => {
    const chunks = tarball.contents.filter((file) => /^dist\/chunks\/[\w.-]+\.cjs$/.test(file));
    expect(chunks.length).toBeGreaterThan(20);
    // Pages are named by their content, as chunks are.
    const named = tarball.contents.map((file) => file.replace(/-[\w-]{8}\.html$/, '.html'));
    expect(named.filter((file) => !chunks.includes(file)).sort()).toEqual([
      'LICENSE',
      'README.md',
      'bin/hooktrail.js',
      'bin/package.json',
      'completions/hooktrail.bash',
      'completions/hooktrail.fish',
      'completions/hooktrail.ps1',
      'completions/hooktrail.zsh',
      'dist/THIRD-PARTY-LICENSES.txt',
      'dist/build.json',
      'dist/chunks/build/jq.wasm',
      'dist/chunks/redirect-page.html',
      'dist/chunks/report.html',
      'dist/chunks/sandbox-page.html',
      'dist/hooktrail.1',
      'dist/hooktrail.cdx.json',
      'dist/start.cjs',
      'docs/help/agents.txt',
      'docs/help/environment.txt',
      'docs/help/exit-codes.txt',
      'docs/help/filters.txt',
      'docs/help/times.txt',
      'package.json',
    ]);
  });

  test('is smaller than 1.5 MB', () => {
    expect(tarball.size).toBeLessThan(1_500_000);
  });

  test.each(drawnCases('npm', 1, ['npm', 'npx --yes npm@12']))(
    'brings at most four packages, with install scripts off, by %s',
    async (npm) => {
      await using installed = await install(tarball, npm.split(' '));
      expect(installed.packages.length).toBeLessThanOrEqual(4);
      expect(installed.packages).toContain('hooktrail');
      expect(installed.packages).toContain('keytar');
    },
    180_000,
  );

  test('satisfies publint', async () => {
    const { publint } = await import('publint');
    const { messages } = await publint({ pkgDir: built(''), pack: false });
    // The check mistakes the word `import` in the text of a page for an import. Every chunk is CommonJS, or
    // nothing would start.
    expect(messages.filter(({ code }) => code !== 'FILE_INVALID_EXPLICIT_FORMAT')).toEqual([]);
  });
});

test('every package in the bundle has its licence in the package', async () => {
  const text = await readFile(built('dist/THIRD-PARTY-LICENSES.txt'), 'utf8');
  const named = [...text.matchAll(/^(@?[\w./-]+) \d[\w.-]* \((.*)\)$/gm)].map(([, name, kind]) => [
    name,
    kind,
  ]);
  for (const name of ['commander', 'undici', 'oidc-provider', 'oauth4webapi', 'jq-wasm', 'ora', 'koa']) {
    expect(named.map(([one]) => one)).toContain(name);
  }
  for (const [name, kind] of named)
    expect([name, kind]).toEqual([name, expect.stringMatching(/MIT|ISC|BSD|Apache/)]);
  const manifest = JSON.parse(await readFile(path.join(root, 'package.json'), 'utf8'));
  // Bundled packages are not dependencies of the installed package.
  expect(manifest.dependencies).toBeUndefined();
  expect(Object.keys(manifest.optionalDependencies)).toEqual(['keytar']);
});

test('the bill of materials names every package in the bundle, in the version that is installed', async () => {
  const bill = JSON.parse(await readFile(built('dist/hooktrail.cdx.json'), 'utf8'));
  expect(bill).toMatchObject({ bomFormat: 'CycloneDX', specVersion: '1.6', version: 1 });
  const components = bill.components as { name: string; version: string; purl: string }[];
  const licences = await readFile(built('dist/THIRD-PARTY-LICENSES.txt'), 'utf8');
  const named = [...licences.matchAll(/^(@?[\w./-]+ \d[\w.-]*) \(.*\)$/gm)].map(([, name]) => name);
  expect(components.map(({ name, version }) => `${name} ${version}`)).toEqual(named);
  const lock = JSON.parse(await readFile(path.join(root, 'package-lock.json'), 'utf8'));
  const installed = Object.entries<{ version: string }>(lock.packages).map(
    ([folder, { version }]) => `${folder.replace(/^.*node_modules\//, '')} ${version}`,
  );
  expect(named.filter((one) => !installed.includes(one as string))).toEqual([]);
  for (const { name, version, purl } of components)
    expect(purl).toBe(`pkg:npm/${name.replace('@', '%40')}@${version}`);
});

test('--jq works with the WebAssembly beside the bundle', async () => {
  await using home = await createHome();
  const { code, stderr } = await spawnHooktrail(['events', 'search', '--jq', '.['], {
    env: {
      ...home.env,
      HOOKTRAIL_BASE_URL: 'http://127.0.0.1:9',
      HOOKTRAIL_VENDOR: 'v',
      HOOKTRAIL_ACCESS_TOKEN: 't',
    },
  });
  expect([code, stderr]).toEqual([2, expect.stringMatching(/^error: --jq: '\.\[' is not a jq program\n/)]);
});

test('says what to do in a checkout that was not built', async () => {
  await using home = await createHome();
  const { folder } = home;
  await cp(built('bin'), path.join(folder, 'bin'), { recursive: true });
  const failed = await execute(process.execPath, [path.join(folder, 'bin/hooktrail.js')]).catch((e) => e);
  expect([failed.code, failed.stderr]).toEqual([
    2,
    `error: the program is not built: there is no ${path.join(folder, 'dist', 'start.cjs')}\n` +
      'next: run `npm ci && npm run build` in the checkout\n',
  ]);
});
