import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const execute = promisify(execFile);
const root = path.resolve(import.meta.dirname, '../..');

test('nothing in the project is unused', async () => {
  const { stdout } = await execute('npx', ['knip', '--no-progress'], { cwd: root }).catch((failed) => failed);
  expect(stdout.trim()).toBe('');
}, 120_000);
