import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { homedir } from 'node:os';
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

test.skipIf(!available('root') || !available('namespaces (unshare)'))(
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
