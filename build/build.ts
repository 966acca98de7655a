import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { type OutputOptions, rolldown } from 'rolldown';
import { describeCommands } from '../src/cli/command-description.ts';
import { buildProgram } from '../src/cli/program.ts';
import type { Context } from '../src/context.ts';
import { version } from '../src/version.ts';
import { manualPage } from './manual-page.ts';
import config from './rolldown.config.ts';

const root = path.resolve(import.meta.dirname, '..');

/** The program's entry. What it loads is there when it is. */
const ENTRY = 'start.cjs';
/** Says what the build is of: the version has the commit, and the next build the names of these chunks. */
const RECORD = 'build.json';

interface BuildRecord {
  /** Absent where the sources are no checkout. */
  readonly commit?: string;
  /** Files in `chunks`, as paths from there. */
  readonly chunks: readonly string[];
}

/**
 * Builds the program into a folder in which the last build may be running: chunks come first, beside those of
 * the last build, then the entry is replaced by one rename. Chunks of the build before the last go; if
 * `isAlone`, as in a package, those of the last one too.
 */
export async function build(folder: string, more: OutputOptions = {}, isAlone = false): Promise<void> {
  const commit = await commitOf(root);
  const files = await bundledFiles(commit, more);
  const chunks = [...files.keys()].flatMap((file) => (file.startsWith('chunks/') ? [file.slice(7)] : []));
  const record: BuildRecord = { ...(commit ? { commit } : {}), chunks: chunks.sort() };
  const last = await readRecord(folder);
  for (const [file, content] of files) if (file !== ENTRY) await writeWhole(path.join(folder, file), content);
  await writeWhole(path.join(folder, RECORD), `${JSON.stringify(record)}\n`);
  await writeWhole(path.join(folder, ENTRY), files.get(ENTRY) as Buffer);
  const kept = isAlone ? [] : (last?.chunks ?? []);
  await removeOthers(path.join(folder, 'chunks'), [...record.chunks, ...kept]);
}

/** The files of the program by their names, with the manual page. */
async function bundledFiles(
  commit: string | undefined,
  more: OutputOptions,
): Promise<ReadonlyMap<string, Buffer>> {
  const { output, ...input } = config as { output: OutputOptions };
  const define = { HOOKTRAIL_COMMIT: JSON.stringify(commit ?? '') };
  const bundle = await rolldown({ ...input, cwd: root, transform: { define } });
  const generated = await bundle.generate({ ...output, ...more });
  await bundle.close();
  const files = generated.output.map((file): [string, Buffer] => [
    file.fileName,
    Buffer.from(file.type === 'chunk' ? file.code : (file.source as string)),
  ]);
  // No command runs, so the declarations need no real context.
  const program = buildProgram({} as Context, async () => 0);
  const manual = manualPage(program, await describeCommands(program), version);
  return new Map([...files, ['hooktrail.1', Buffer.from(manual)]]);
}

/**
 * The commit that is checked out, with `.modified` where files differ from it; undefined where the folder is
 * no checkout.
 */
async function commitOf(folder: string): Promise<string | undefined> {
  const git = async (...args: string[]) =>
    (await promisify(execFile)('git', ['-C', folder, ...args])).stdout.trim();
  try {
    // A package may lie in somebody else's checkout.
    if ((await git('rev-parse', '--show-prefix')) !== '') return undefined;
    const commit = await git('rev-parse', '--short=8', 'HEAD');
    const isModified = (await git('status', '--porcelain', '--untracked-files=no')) !== '';
    return isModified ? `${commit}.modified` : commit;
  } catch {
    return undefined;
  }
}

async function readRecord(folder: string): Promise<BuildRecord | undefined> {
  try {
    return JSON.parse(await readFile(path.join(folder, RECORD), 'utf8'));
  } catch {
    return undefined;
  }
}

/** Writes a file that is whole at any moment, and leaves one alone that has this content. */
async function writeWhole(file: string, content: Buffer | string): Promise<void> {
  const wanted = Buffer.from(content);
  if ((await readFile(file).catch(() => undefined))?.equals(wanted)) return;
  await mkdir(path.dirname(file), { recursive: true });
  const temporary = `${file}.${process.pid}.tmp`;
  await writeFile(temporary, wanted);
  await rename(temporary, file);
}

async function removeOthers(folder: string, kept: readonly string[]): Promise<void> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  for (const entry of entries) {
    const file = path.join(entry.parentPath, entry.name);
    const name = path.relative(folder, file).split(path.sep).join('/');
    if (entry.isFile() && !kept.includes(name)) await rm(file, { force: true });
  }
}

// `npm run build`. Tests import the function for their own builds.
if (process.argv[1] === import.meta.filename)
  await build(path.join(root, 'dist'), {}, process.argv.includes('--alone'));
