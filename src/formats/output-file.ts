import { rmSync, type Stats } from 'node:fs';
import { access, constants, open, stat } from 'node:fs/promises';
import type { Context } from '../context.ts';
import { faultText, ServiceError, UsageError, unusableFile } from '../errors.ts';
import { refusePlanted } from '../files/folders.ts';
import { followLinks, type Replacement, startReplacement } from '../files/whole-files.ts';
import { type OutputKind, outputOf } from '../streams.ts';

/**
 * Runs `work` with its standard output written to `file` byte for byte, unlike a redirection in Windows
 * PowerShell. The file is replaced when the work is done; after a failure or interrupt the old one stays.
 * Pipes and devices are written directly. `-` and `/dev/stdout`, which may be a file others append to, are
 * standard output itself. Throws `UsageError` first if the file cannot be written.
 */
export async function writingTo<T>(
  file: string,
  context: Context,
  work: (context: Context) => Promise<T>,
  name = '--output-file',
): Promise<T> {
  if (file === '-' || file === '/dev/stdout') return await work(context);
  const { temporary, handle, kind = 'file', finish, abandon } = await openTarget(file, name, context);
  // A second interrupt ends the process at once.
  const forget = context.atExit?.(() => temporary && rmSync(temporary, { force: true }));
  const stdout = outputOf(
    handle.fd,
    kind,
    () => handle.createWriteStream(),
    () => undefined,
  );
  try {
    const result = await work({ ...context, stdout });
    context.signal.throwIfAborted();
    await finish().catch((error) => {
      throw new ServiceError(`${name}: ${file} cannot be written: ${faultText(error)}`, {
        next: 'free some space, or name another file',
        cause: error,
      });
    });
    return result;
  } finally {
    await abandon();
    forget?.();
  }
}

type Target = Omit<Replacement, 'temporary'> & { readonly temporary?: string; readonly kind?: OutputKind };

async function openTarget(file: string, name: string, { machine }: Context): Promise<Target> {
  refusePlanted(file, name, machine);
  const found = await stat(file).catch(() => undefined);
  if (found?.isDirectory())
    throw new UsageError(`${name}: ${file} is a folder`, { next: 'name a file in it' });
  try {
    if (found) await access(file, constants.W_OK);
    return found && !found.isFile() ? await openDevice(file, found) : await openFile(file, found);
  } catch (error) {
    const fault = error as NodeJS.ErrnoException;
    const why = fault.code === 'ENOENT' ? 'its folder does not exist' : faultText(fault);
    const next = 'name a file in a folder that exists and can be written';
    throw unusableFile(`${name}: ${file} cannot be written: ${why}`, next, fault);
  }
}

/** Same modes as a redirection: an existing file keeps its mode, a new one follows the umask. */
async function openFile(file: string, found: Stats | undefined): Promise<Target> {
  // Replace the target of a link, not the link.
  const replacement = await startReplacement(await followLinks(file), 0o666);
  if (found) await replacement.handle.chmod(found.mode & 0o777).catch(() => undefined);
  return replacement;
}

/** Uses the given name, since the link that bash makes of `>(command)` does not resolve to a path. */
async function openDevice(file: string, found: Stats): Promise<Target> {
  const handle = await open(file, 'w');
  const close = () => handle.close();
  // A signal cannot interrupt a synchronous write that waits for a pipe's reader.
  return { handle, kind: found.isFIFO() ? 'pipe' : 'file', finish: close, abandon: close };
}
