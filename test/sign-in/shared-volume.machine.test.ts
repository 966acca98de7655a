import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, inject, test } from 'vitest';
import { forEachTest } from '../support/each-test.ts';
import { available } from '../support/machine/requirement.ts';
import { startRefreshing } from '../support/signing-in.ts';

const at = forEachTest(startRefreshing);

/**
 * Runs the program as a container does: a process namespace, a host name and an empty home of its own; files
 * are shared.
 */
async function inContainer(name: string, args: readonly string[]) {
  const inside = 'mount -t tmpfs tmpfs "$0" && hostname "$1" && shift && exec "$@"';
  const child = spawn(
    'unshare',
    [
      ...['--mount', '--pid', '--fork', '--uts', '--mount-proc', 'sh', '-c', inside],
      ...[homedir(), name, process.execPath, inject('program'), ...args],
    ],
    { env: { ...at.env, PATH: process.env['PATH'] }, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit'),
  ]);
  return { code, stdout, stderr };
}

const canContain = available('root') && available('namespaces (unshare)');

test.skipIf(!canContain)(
  'containers that share a configuration folder, and nothing else, make one refresh',
  async () => {
    at.sandbox.control.fault('token', { kind: 'slow', ms: 500 });
    const names = ['one', 'two', 'three'];
    const results = await Promise.all(names.map((name) => inContainer(name, ['token'])));
    expect(results.map(({ code, stderr }) => [code, stderr])).toEqual(names.map(() => [0, '']));
    expect(new Set(results.map(({ stdout }) => stdout)).size).toBe(1);
    expect(at.refreshes()).toEqual(['ok']);
  },
);

test.skipIf(!canContain)(
  'containers whose lock is removed while one waits for the answer make one refresh',
  async () => {
    let answer = () => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const arrived = new Promise<void>((resolve) => {
      const run = async () => {
        resolve();
        await answered;
      };
      at.sandbox.control.fault('token', { kind: 'run', run });
    });
    const first = inContainer('one', ['token']);
    await arrived;
    const locks = path.join(at.home.folder, 'config', 'locks');
    await rm(locks, { recursive: true });
    const second = inContainer('two', ['token']);
    // The second has the new lock, and sees the mark of the first.
    await expect.poll(() => readdir(locks).catch(() => [])).not.toEqual([]);
    answer();
    expect(await first).toMatchObject({ code: 0, stderr: '' });
    expect(await second).toEqual(await first);
    expect(at.refreshes()).toEqual(['ok']);
  },
);
