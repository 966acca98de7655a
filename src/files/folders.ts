import {
  constants,
  existsSync,
  promises as files,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  type Stats,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Context, Machine } from '../context.ts';
import { UsageError } from '../errors.ts';
import { startReplacement } from './whole-files.ts';

type User = Pick<Machine, 'platform' | 'userId'>;

/** Most links to follow, as on Linux. */
const MAX_LINKS = 40;
/**
 * In a user namespace (a rootless container), Linux shows this owner for files of unmapped users, such as
 * `/`.
 */
const UNMAPPED_USER = 65_534;
const WRITABLE_BY_OTHERS = 0o022;
const WRITABLE_BY_EVERYBODY = 0o002;
const STICKY = 0o1000;

interface Step {
  readonly place: string;
  readonly found: Stats;
  readonly parent: Stats;
}

/**
 * Rejects a path through a file, folder or link that another user has put into a folder writable by others,
 * such as `/tmp`: a link could make the program replace a file of that user's choice, and a folder or file
 * would expose what is written. Root and the user are trusted owners. `named`: the option or argument with
 * the path, for the message. Throws `UsageError`. A path that is missing or cannot be inspected is left to
 * the code that opens it.
 */
export function refusePlanted(file: string, named: string, machine: User): void {
  if (machine.platform === 'win32') return;
  const next = 'choose a path in a folder that only you can write to';
  for (const { place, found, parent } of stepsOf(file)) {
    if (isTrusted(found, machine)) continue;
    const kind = kindOf(found);
    if ((parent.mode & WRITABLE_BY_EVERYBODY) !== 0) {
      const how = `another user (${found.uid}) put into a folder that everybody can write to`;
      throw new UsageError(`${named}: ${place} is a ${kind} that ${how}`, { next });
    }
    const isPlanted =
      (parent.mode & WRITABLE_BY_OTHERS) !== 0 || !(isTrusted(parent, machine) || isUnmapped(parent));
    if (kind === 'link' && isPlanted)
      throw new UsageError(`${named}: ${place} is a link of another user (${found.uid})`, { next });
  }
}

/**
 * Returns how another user could replace a file or folder, in words that can follow "since"; undefined if
 * nobody can: the path and each folder on the way to it belong to the user or to root, and nobody else can
 * write to these folders. With the sticky bit, as in `/tmp`, others cannot replace files that they do not
 * own.
 */
export function replaceableBy(file: string, machine: User): string | undefined {
  if (machine.platform === 'win32') return undefined;
  let last: Step | undefined;
  for (const step of stepsOf(file)) {
    last = step;
    const { place, found, parent } = step;
    if ((parent.mode & WRITABLE_BY_OTHERS) !== 0 && (parent.mode & STICKY) === 0)
      return `others can write to the folder ${path.dirname(place)}`;
    if (!isTrusted(found, machine) && !isUnmapped(found))
      return `${place} belongs to another user (${found.uid})`;
  }
  return last && !isTrusted(last.found, machine)
    ? `${last.place} belongs to another user (${last.found.uid})`
    : undefined;
}

/**
 * True if the user may run code from a folder, which is created if it is missing: nobody else can put files
 * there, and all its entries are the user's. V8 checks that cached code fits to its source, not who wrote it.
 */
export function isForCode(folder: string, machine: User & Pick<Machine, 'userHome'>): boolean {
  // Windows protects the user's own folder. Elsewhere, others may have been allowed to write.
  if (machine.platform === 'win32') return path.resolve(folder).startsWith(machine.userHome + path.sep);
  try {
    // Check before creating: never put a folder where others can replace it.
    if (replaceableBy(folder, machine) !== undefined) return false;
    if (!existsSync(folder)) {
      // Others may create it first, even if they cannot replace it later.
      if ((statSync(nearestExisting(folder)).mode & WRITABLE_BY_OTHERS) !== 0) return false;
      makeFolder(folder);
      if (replaceableBy(folder, machine) !== undefined) return false;
    }
    const isOwn = ({ uid, mode }: Stats) => uid === machine.userId && (mode & WRITABLE_BY_OTHERS) === 0;
    return (
      isOwn(statSync(folder)) &&
      readdirSync(folder).every((name) => isOwn(lstatSync(path.join(folder, name))))
    );
  } catch {
    return false;
  }
}

function kindOf(found: Stats): string {
  if (found.isSymbolicLink()) return 'link';
  return found.isDirectory() ? 'folder' : 'file';
}

export function nearestExisting(folder: string): string {
  return existsSync(folder) ? folder : nearestExisting(path.dirname(folder));
}

/** Yields each name on the way to an existing path, following links as the system does. */
function* stepsOf(file: string): Generator<Step> {
  let at = path.parse(path.resolve(file)).root;
  let rest = path.resolve(file).split(path.sep).filter(Boolean);
  let parent = inspect(at);
  for (let links = 0; rest.length > 0 && parent && links < MAX_LINKS; ) {
    const [name = '', ...others] = rest;
    const place = path.join(at, name);
    const found = inspect(place);
    if (!found) return;
    yield { place, found, parent };
    if (found.isSymbolicLink()) {
      links++;
      const target = path.resolve(at, readlinkSync(place));
      at = path.parse(target).root;
      rest = [...target.split(path.sep).filter(Boolean), ...others];
      parent = inspect(at);
    } else {
      at = place;
      rest = others;
      parent = found;
    }
  }
}

function isTrusted({ uid }: Stats, { userId }: User): boolean {
  return uid === 0 || uid === userId;
}

function isUnmapped({ uid }: Stats): boolean {
  return uid === UNMAPPED_USER;
}

function inspect(place: string): Stats | undefined {
  try {
    return lstatSync(place);
  } catch {
    return undefined;
  }
}

/**
 * Returns the absolute path of the settings folder: `HOOKTRAIL_CONFIG_DIR`, or the platform's usual place
 * (XDG base directories, Application Support, AppData).
 */
export function configFolder({ environment, machine }: Pick<Context, 'environment' | 'machine'>): string {
  const own = environment['HOOKTRAIL_CONFIG_DIR'];
  const home = homeFolder({ environment, machine });
  // Variables from a file of Docker or systemd are not expanded by a shell.
  if (own) return path.resolve(own.replace(/^~(?=\/|$)/, home));
  if (machine.platform === 'win32') {
    const roaming = environment['APPDATA'] || path.join(machine.userHome, 'AppData', 'Roaming');
    return path.join(roaming, 'hooktrail');
  }
  if (machine.platform === 'darwin') return path.join(home, 'Library', 'Application Support', 'hooktrail');
  const xdg = environment['XDG_CONFIG_HOME'];
  return path.join(xdg && path.isAbsolute(xdg) ? xdg : path.join(home, '.config'), 'hooktrail');
}

export function homeFolder({ environment, machine }: Pick<Context, 'environment' | 'machine'>): string {
  return environment['HOME'] || machine.userHome;
}

/**
 * Returns the absolute path of the cache folder: inside `HOOKTRAIL_CONFIG_DIR` if that is set, else the
 * platform's usual place (XDG base directories, Library/Caches, Local AppData).
 */
export function cacheFolder({ environment, machine }: Pick<Context, 'environment' | 'machine'>): string {
  if (environment['HOOKTRAIL_CONFIG_DIR']) return path.join(configFolder({ environment, machine }), 'cache');
  if (machine.platform === 'win32') {
    const local = environment['LOCALAPPDATA'] || path.join(machine.userHome, 'AppData', 'Local');
    return path.join(local, 'hooktrail', 'cache');
  }
  const home = homeFolder({ environment, machine });
  if (machine.platform === 'darwin') return path.join(home, 'Library', 'Caches', 'hooktrail');
  const xdg = environment['XDG_CACHE_HOME'];
  // The XDG specification requires ignoring relative paths.
  return path.join(xdg && path.isAbsolute(xdg) ? xdg : path.join(home, '.cache'), 'hooktrail');
}

/**
 * Creates a folder and its missing ancestors, with `mode` or accessible to the user only. Leaves an existing
 * folder unchanged. Throws the system's error. This replaces Node's `recursive` option, which never returns
 * on a file system that refuses new names with ENOENT, such as /proc.
 */
export function makeFolder(folder: string, mode = 0o700): void {
  try {
    mkdirSync(folder, { mode });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' && statSync(folder).isDirectory()) return;
    const parent = path.dirname(folder);
    // The parent of a missing drive is the drive itself.
    if (code !== 'ENOENT' || parent === folder || existsSync(parent)) throw error;
    makeFolder(parent, mode);
    makeFolder(folder, mode);
  }
}

/**
 * Creates a folder named by this program, as `makeFolder` does, and refuses a link in its place or in that of
 * its parent: others who can write to the containing folder could choose its target. Throws the system's
 * error.
 */
export function makeOwnFolder(folder: string, mode?: number): void {
  makeFolder(folder, mode);
  for (const place of [path.dirname(folder), folder])
    if (lstatSync(place).isSymbolicLink())
      throw Object.assign(new Error(`${place} is a link`), { code: 'ELOOP', syscall: 'mkdir', path: place });
}

/**
 * Creates a folder in the common `/tmp` that nobody else can read or write, and the folders `names` below it,
 * for users without a writable home. Throws the system's error, or an `Error` if another user has put
 * something there.
 */
export async function ownFolderInTmp(
  { sharedFolder, userId }: Pick<Machine, 'sharedFolder' | 'userId'>,
  ...names: string[]
): Promise<string> {
  let folder = sharedFolder;
  for (const name of [`hooktrail-${userId}`, ...names]) {
    folder = path.join(folder, name);
    await files.mkdir(folder, { mode: 0o700 }).catch((error) => {
      if (error.code !== 'EEXIST') throw error;
    });
    const found = await files.lstat(folder);
    if (!found.isDirectory() || found.uid !== userId || (found.mode & 0o077) !== 0)
      throw new Error(`${folder} is not a folder that only this user can use`);
  }
  return folder;
}

/** Throws the system's error if the user may not create this file, or a temporary file next to it. */
export async function checkWritable(file: string, { platform }: Pick<Machine, 'platform'>): Promise<void> {
  await files.access(path.dirname(file), constants.W_OK | constants.X_OK);
  if (platform !== 'win32') return;
  // On Windows `access` checks only the read-only attribute, which has no meaning for folders, and not the
  // access list.
  const replacement = await startReplacement(file, 0o600);
  await replacement.abandon();
}

export async function temporaryFolder(prefix: string): Promise<{ path: string; remove(): Promise<void> }> {
  const folder = await files.mkdtemp(path.join(tmpdir(), prefix));
  return { path: folder, remove: () => files.rm(folder, { recursive: true, force: true }) };
}

/** Opens a new temporary file and removes it at once: only this process has it, and it ends with it. */
export async function openRemovedFile(): Promise<files.FileHandle> {
  const folder = await temporaryFolder('hooktrail-');
  try {
    return await files.open(path.join(folder.path, 'removed'), 'wx+', 0o600);
  } finally {
    await folder.remove();
  }
}
