import { execFile } from 'node:child_process';
import { chmod, mkdir, readdir } from 'node:fs/promises';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { browserCommand } from '../support/browser.ts';
import { createHome } from '../support/home.ts';
import { nodeOf } from '../support/machine/node-versions.ts';
import { hasMatrix } from '../support/machine/requirement.ts';
import { freePort } from '../support/ports.ts';
import { sandboxEnv, startSandbox } from '../support/sandbox.ts';
import { type Installed, install, pack } from './tarball.ts';

const execute = promisify(execFile);
describe.skipIf(!hasMatrix)('the packed program', () => {
  let installed: Installed;
  beforeAll(async () => {
    await using tarball = await pack();
    installed = await install(tarball);
  }, 120_000);
  afterAll(() => installed[Symbol.asyncDispose]());

  const call = async (node: string, args: readonly string[], env: NodeJS.ProcessEnv) => {
    const done = execute(node, [installed.program, ...args], { env, cwd: env['HOME'] });
    return await done.then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      ({ code, stdout, stderr }) => ({ code, stdout, stderr }),
    );
  };

  test.each([20, 22, 24, 26])(
    'signs in, searches and shows the demo on Node %i',
    async (major) => {
      const node = await nodeOf(major);
      const redirectUri = `http://127.0.0.1:${await freePort()}/callback`;
      await using sandbox = await startSandbox({ events: 30, autoApprove: true, redirectUri });
      await using home = await createHome();
      const { HOOKTRAIL_CONFIG_DIR: _, ...plain } = home.env;
      const env = {
        ...plain,
        ...sandboxEnv(sandbox.settings),
        HOOKTRAIL_BROWSER: browserCommand,
      };
      expect(await call(node, ['login', '--quiet'], env)).toMatchObject({ code: 0, stdout: '' });
      const search = await call(node, ['events', 'search', '--json'], env);
      expect([search.code, search.stderr]).toEqual([0, '']);
      expect(JSON.parse(search.stdout)).toHaveLength(30);
      const jq = await call(node, ['events', 'search', '--jq', 'length'], env);
      expect(jq).toEqual({ code: 0, stdout: '30\n', stderr: '' });
      const demo = await call(node, ['demo'], plain);
      expect([demo.code, demo.stdout]).toEqual([0, expect.stringContaining('FAILED')]);
    },
    180_000,
  );

  test.each([22, 24])(
    'keeps compiled code on Node %i where nobody else can write, and nowhere else',
    async (major) => {
      const node = await nodeOf(major);
      await using home = await createHome();
      const { HOOKTRAIL_CONFIG_DIR: folder, NODE_OPTIONS: _, ...env } = home.env;
      const cacheAfter = async (mode: number) => {
        await mkdir(folder as string, { recursive: true });
        await chmod(folder as string, mode);
        expect(await call(node, ['-h'], { ...env, HOOKTRAIL_CONFIG_DIR: folder })).toMatchObject({ code: 0 });
        return await readdir(folder as string);
      };
      expect(await cacheAfter(0o777)).toEqual([]);
      expect(await cacheAfter(0o770)).toEqual([]);
      expect(await cacheAfter(0o755)).toEqual(['cache']);
    },
    180_000,
  );

  test.each([12, 14, 16, 18])(
    'says in one line that Node %i is too old',
    async (major) => {
      const node = await nodeOf(major);
      const { stdout: version } = await execute(node, ['--version']);
      expect(await call(node, ['--help'], {})).toEqual({
        code: 2,
        stdout: '',
        stderr:
          `error: hooktrail needs Node.js 20.19 or newer, this is ${version.trim().slice(1)}\n` +
          'next: install a current Node.js\n',
      });
    },
    180_000,
  );
});
