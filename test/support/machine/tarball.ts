import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { inject } from 'vitest';

const execute = promisify(execFile);

/** The package as it would be published, packed from this run's build. */
export interface Tarball extends AsyncDisposable {
  readonly file: string;
  /** Bytes of the packed file. */
  readonly size: number;
  /** Paths inside the package. */
  readonly contents: readonly string[];
}

export async function pack(): Promise<Tarball> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'hooktrail-pack-'));
  // The build exists already; the scripts would build again.
  const { stdout } = await execute(
    'npm',
    ['pack', '--json', '--ignore-scripts', `--pack-destination=${folder}`],
    { cwd: path.resolve(path.dirname(inject('program')), '..') },
  );
  const parsed = JSON.parse(stdout);
  // npm 12 prints an object by package name, npm 11 an array.
  const [packed] = Array.isArray(parsed) ? parsed : Object.values(parsed);
  return {
    file: path.join(folder, packed.filename),
    size: packed.size,
    contents: packed.files.map((file: { path: string }) => file.path),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

export interface Installed extends AsyncDisposable {
  readonly folder: string;
  /** The installed program. */
  readonly program: string;
  /** The names of the installed packages. */
  readonly packages: readonly string[];
}

/** Installs the packed file into an empty folder, as `npx` does, without running any package's scripts. */
export async function install(tarball: Tarball, npm: readonly string[] = ['npm']): Promise<Installed> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'hooktrail-installed-'));
  const [command = 'npm', ...first] = npm;
  await execute(
    command,
    [...first, 'install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefix', folder, tarball.file],
    { cwd: folder },
  );
  const { stdout } = await execute('npm', ['ls', '--all', '--parseable', '--prefix', folder], {
    cwd: folder,
  });
  return {
    folder,
    program: path.join(folder, 'node_modules', 'hooktrail', 'bin', 'hooktrail.js'),
    packages: stdout
      .trim()
      .split('\n')
      .slice(1)
      .map((line) => path.relative(path.join(folder, 'node_modules'), line)),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}
