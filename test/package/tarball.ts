import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { inject } from 'vitest';

const execute = promisify(execFile);

/** The package as it would be published, packed from this run's build. */
export async function pack() {
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
    /** Bytes of the packed file. */
    size: packed.size as number,
    /** Paths inside the package. */
    contents: packed.files.map((file: { path: string }) => file.path) as string[],
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

export type Tarball = Awaited<ReturnType<typeof pack>>;

/** Installs the packed file into an empty folder, as `npx` does, without running any package's scripts. */
export async function install(tarball: Tarball, npm: readonly string[] = ['npm']) {
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
    /** The installed program. */
    program: path.join(folder, 'node_modules', 'hooktrail', 'bin', 'hooktrail.js'),
    /** The names of the installed packages. */
    packages: stdout
      .trim()
      .split('\n')
      .slice(1)
      .map((line) => path.relative(path.join(folder, 'node_modules'), line)),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}

export type Installed = Awaited<ReturnType<typeof install>>;
