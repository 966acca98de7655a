import { execFile } from 'node:child_process';
import { cp, mkdtemp } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { pack } from '../package/tarball.ts';
import { clock } from '../support/clock.ts';
import { available } from '../support/machine/requirement.ts';
import { startSandbox } from '../support/sandbox.ts';
import { sampleOf } from '../support/seed.ts';
import { blocksOf, readPages } from './pages.ts';

export const execute = promisify(execFile);
export const page = (await readPages()).find(({ file }) => file === 'docs/team.md')!;
export const blockWith = (kind: string, words: string) =>
  blocksOf(page, kind).find((text) => text.includes(words)) ?? `exit 99 # no ${kind} with ${words}`;

/** The platforms of the page whose lines are run. */
export const PLATFORMS = sampleOf('platforms', 1, ['Docker', 'GitHub', 'systemd']);
export const mayHaveRoots = available('root') && available('namespaces (unshare)');
export const NAME = 'hooktrail-0.1.0.tgz';
export const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
export const npm = `${path.dirname(process.execPath)}:${process.env['PATH']}`;

/** A folder with the package, packed anew, named and with its check sum as the page has it. */
export async function packageFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'team-'));
  await using tarball = await pack();
  await cp(tarball.file, path.join(folder, NAME));
  const [line = 'exit 99'] = blockWith('sh', 'npm pack').match(/^sha256sum .*$/m) ?? [];
  await execute('sh', ['-ec', line], { cwd: folder });
  return folder;
}

/** Tests have a clock of their own. */
export const realTime = () => Math.floor(performance.timeOrigin + performance.now());

/** A sandbox in real time, since the programs of a fresh root folder have no other. */
export async function startTeamSandbox(options: Parameters<typeof startSandbox>[0] = {}) {
  clock.set(realTime());
  clock.run();
  return await startSandbox({ events: 300, autoApprove: true, ...options });
}

type Sandbox = Awaited<ReturnType<typeof startTeamSandbox>>;

/** The page's lines with the sandbox's addresses. */
export function withAddresses(text: string, { settings }: Sandbox, clientId = settings.clientId): string {
  return text
    .replaceAll('https://id.example.com', settings.authUrl)
    .replaceAll('https://events.example.com/v1', settings.baseUrl)
    .replaceAll('my-company', clientId)
    .replaceAll('acme', settings.vendor);
}

export const freshRoot = path.join(import.meta.dirname, 'fresh-root.sh');

/** Runs lines as root in a root folder of their own, which the first call makes. */
export async function inRoot(folder: string, lines: string, env: Readonly<Record<string, string>> = {}) {
  const words = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  return await execute(
    freshRoot,
    [folder, '0:0', 'env', '-i', `PATH=${PATH}`, 'HOME=/root', ...words, 'bash', '-ec', lines],
    { env: { NODE: process.execPath, PATH: npm }, timeout: 60_000 },
  );
}
