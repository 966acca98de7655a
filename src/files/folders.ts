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

type User = Pick<Machine, 'platform' | 'userId'>;

/** The maximum number of links to follow, as on Linux. */
const MOST_LINKS = 40;
/**
 * Inside a user namespace (a rootless container), Linux shows what belongs to nobody in it, such as `/`, as
 * this user's.
 */
const UNMAPPED_USER = 65_534;
const WRITABLE_BY_OTHERS = 0o022;
const WRITABLE_BY_EVERYBODY = 0o002;
const STICKY = 0o1000;

interface Step {
  readonly place: string;
  readonly found: Stats;
  /** The folder that holds `place`. */
  readonly parent: Stats;
}

/**
 * Refuses a path through something that another user has put into a folder that others can write to, such as
 * `/tmp`, or through that user's link: a link could make the program replace a file of that user's choice,
 * and a folder or file would show them what is written. Root and the user are trusted owners. `named` is the
 * option or argument that gave the path, for the message. Throws `UsageError`. A path that is missing or
 * cannot be inspected is left to the code that opens it.
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
 * Returns how another user could put something else in the place of a file or folder, in words that can
 * follow "since", and undefined if nobody can: each folder on the way to it, and the path itself, belongs to
 * the user or to root, and nobody else can write to a folder. In one with the sticky bit, such as `/tmp`,
 * others cannot replace what they do not own.
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
 * Returns whether the user may run code from a folder, which is created if it is missing: nobody else can put
 * files there now, and those in its folders are the user's. V8 checks that cached code fits to its source,
 * not who wrote it.
 */
export function isForCode(folder: string, machine: User & Pick<Machine, 'userHome'>): boolean {
  // Windows protects the user's own folder. Elsewhere, others may have been allowed to write.
  if (machine.platform === 'win32') return path.resolve(folder).startsWith(machine.userHome + path.sep);
  try {
    // Asked before anything is made: what others can replace gets no folder of ours.
    if (replaceableBy(folder, machine) !== undefined) return false;
    if (!existsSync(folder)) {
      // Others may put it there first, even where they cannot replace it later.
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

/** The folder, or its nearest ancestor that exists. */
export function nearestExisting(folder: string): string {
  return existsSync(folder) ? folder : nearestExisting(path.dirname(folder));
}

/** Yields each name on the way to a path that exists, and follows links as the system does. */
function* stepsOf(file: string): Generator<Step> {
  let at = path.parse(path.resolve(file)).root;
  let rest = path.resolve(file).split(path.sep).filter(Boolean);
  let parent = inspect(at);
  for (let links = 0; rest.length > 0 && parent && links < MOST_LINKS; ) {
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
 * The absolute path of the settings folder: `HOOKTRAIL_CONFIG_DIR`, or the platform's usual place (XDG base
 * directories, Application Support, AppData).
 */
export function configFolder({ environment, machine }: Pick<Context, 'environment' | 'machine'>): string {
  const own = environment['HOOKTRAIL_CONFIG_DIR'];
  const home = homeFolder({ environment, machine });
  // No shell has expanded a variable that comes from a file of Docker or systemd.
  if (own) return path.resolve(own.replace(/^~(?=\/|$)/, home));
  if (machine.platform === 'win32') {
    const roaming = environment['APPDATA'] || path.join(machine.userHome, 'AppData', 'Roaming');
    return path.join(roaming, 'hooktrail');
  }
  if (machine.platform === 'darwin') return path.join(home, 'Library', 'Application Support', 'hooktrail');
  const xdg = environment['XDG_CONFIG_HOME'];
  // The XDG specification says to ignore relative paths.
  return path.join(xdg && path.isAbsolute(xdg) ? xdg : path.join(home, '.config'), 'hooktrail');
}

/** The user's home, as `~` means it. */
export function homeFolder({ environment, machine }: Pick<Context, 'environment' | 'machine'>): string {
  return environment['HOME'] || machine.userHome;
}

/**
 * The absolute path of the folder for caches: inside `HOOKTRAIL_CONFIG_DIR` if that is set, else the
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
  // The XDG specification says to ignore relative paths.
  return path.join(xdg && path.isAbsolute(xdg) ? xdg : path.join(home, '.cache'), 'hooktrail');
}

/**
 * The file for what a service listed last for a profile. Several services may share a host, each below a path
 * of its own.
 */
export function serviceCacheFile(
  name: string,
  { profile, baseUrl }: { readonly profile: string; readonly baseUrl: URL },
  context: Pick<Context, 'environment' | 'machine'>,
): string {
  const service = encodeURIComponent(`${baseUrl.host}${baseUrl.pathname.replace(/\/$/, '')}`);
  return path.join(cacheFolder(context), `${name}-${profile}-${service}.json`);
}

/**
 * Creates a folder and its missing ancestors, with `mode` or accessible to the user only. Leaves an existing
 * folder as it is. Throws the system's error. This replaces Node's `recursive` option, which never returns on
 * a file system that refuses new names with ENOENT, as /proc does.
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
 * Creates a folder that this program names, as `makeFolder` does, and refuses a link in its place or in that
 * of its parent: others may write to the folder that holds them, and choose where a link leads. Throws the
 * system's error.
 */
export function makeOwnFolder(folder: string, mode?: number): void {
  makeFolder(folder, mode);
  for (const place of [path.dirname(folder), folder])
    if (lstatSync(place).isSymbolicLink())
      throw Object.assign(new Error(`${place} is a link`), { code: 'ELOOP', syscall: 'mkdir', path: place });
}

/**
 * Creates a folder in the common `/tmp` that nobody else can read or write, and the folders `names` below it:
 * a place for users without a writable home. Throws the system's error, or an `Error` if another user has put
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

/** Throws the system's error if the user may not create this file, or a temporary file beside it. */
export async function checkWritable(file: string, { platform }: Pick<Machine, 'platform'>): Promise<void> {
  await files.access(path.dirname(file), constants.W_OK | constants.X_OK);
  if (platform !== 'win32') return;
  // There `access` looks only at the read-only attribute, which has no meaning for folders, and not at the
  // access list.
  const { randomUUID } = await import('node:crypto');
  const temporary = `${file}.${randomUUID()}.tmp`;
  await (await files.open(temporary, 'wx')).close();
  await files.rm(temporary, { force: true });
}

/** Creates an empty folder that nobody else can read. */
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
