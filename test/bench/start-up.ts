import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { type Command, compare } from './measure.ts';
import { program } from './sandbox-process.ts';
import { signIn } from './signed-in.ts';
import { printTable } from './table.ts';

const ROUNDS = 15;
const nothing = 'node -e 0';

/** What a user waits for before a command does anything, as ratios to a Node that does nothing. */
export async function benchStartUp(): Promise<void> {
  await using signedIn = await signIn('--events', '1000');
  const ours = (...args: string[]): Command => ({
    file: process.execPath,
    args: [program, ...args],
    env: signedIn.env,
  });
  const results = await compare(
    {
      [nothing]: { file: process.execPath, args: ['-e', '0'] },
      'hooktrail --version': ours('--version'),
      'hooktrail --help': ours('--help'),
      'hooktrail events search --help': ours('events', 'search', '--help'),
      [`hooktrail events search --limit 1 (${signedIn.store})`]: ours('events', 'search', '--limit', '1'),
      ...(await others()),
    },
    ROUNDS,
  );
  const base = results[nothing]?.seconds as number;
  printTable(
    `start-up with Node ${process.versions.node} (medians of ${ROUNDS})`,
    ['command', 'ms', 'times `node -e 0`', 'fastest ms', 'times'],
    Object.entries(results).map(([name, { seconds, runs }]) => [
      name,
      (seconds * 1000).toFixed(0),
      (seconds / base).toFixed(2),
      (Math.min(...runs) * 1000).toFixed(0),
      (Math.min(...runs) / Math.min(...(results[nothing]?.runs ?? []))).toFixed(2),
    ]),
  );
}

/** Two well-known Node programs from npm, and GitHub's `gh`, which is compiled, where it is installed. */
async function others(): Promise<Record<string, Command>> {
  const folder = path.resolve(import.meta.dirname, '../../node_modules/.cache/hooktrail-bench');
  const bin = (name: string) => path.join(folder, 'node_modules', name, 'package.json');
  const names = ['eslint', 'newman'];
  if (!names.every((name) => existsSync(bin(name)))) {
    await mkdir(folder, { recursive: true });
    await promisify(execFile)('npm', [
      'install',
      '--prefix',
      folder,
      '--ignore-scripts',
      '--no-audit',
      ...names,
    ]);
  }
  const commands: Record<string, Command> = {};
  for (const name of names) {
    for (const flag of ['--version', '--help']) {
      commands[`${name} ${flag}`] = {
        file: process.execPath,
        args: [path.join(folder, 'node_modules', '.bin', name), flag],
      };
    }
  }
  if (existsSync('/usr/bin/gh')) {
    for (const flag of ['--version', '--help'])
      commands[`gh ${flag}`] = { file: '/usr/bin/gh', args: [flag] };
  }
  return commands;
}
