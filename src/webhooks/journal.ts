import fs from 'node:fs';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Context, Machine } from '../context.ts';
import { type ErrorParts, ServiceError, UsageError } from '../errors.ts';
import { configFolder, makeFolder, refusePlanted } from '../files/folders.ts';
import { replaceFile, syncFolder, UnsyncedError } from '../files/whole-files.ts';
import { LockedError, type TakenLock, takeLock, UnusableLockError } from '../lock/lock.ts';
import type { EventKey } from './delivery.ts';

/*
 * A journal is a text file. A line is the key of an event that the handler has accepted, and the seconds since the epoch
 * at which it did: `0f8fad5bd9cb469fa16570867728950e 1795176000`. Lines that begin with `#` say when a process opened
 * the journal; each changes the file's size, from which an earlier holder learns that it has lost the journal.
 */

type JournalContext = Pick<Context, 'clock' | 'machine' | 'signal'>;

/** `accepted`: forwarded now. `duplicate`: forwarded before. `refused`: the handler did not accept it. */
export type Outcome = 'accepted' | 'duplicate' | 'refused';

interface JournalOptions {
  /** Milliseconds after which ids are forgotten; absent: never. */
  readonly keep?: number | undefined;
  /** Milliseconds to wait for another process that has the journal; absent: 60 s. */
  readonly patience?: number | undefined;
  /** Called once, with the journal's real path, before a wait for another process that has the journal. */
  readonly onWait?: ((error: LockedError, path: string) => void) | undefined;
}

const PATIENCE_MS = 60_000;
/** The interval at which the file and the age of ids are checked while nothing is delivered. */
const WATCH_INTERVAL_MS = 500;

interface WaitingRecord {
  readonly key: EventKey;
  readonly seconds: number;
  resolve(): void;
  reject(error: unknown): void;
}

/**
 * Records on disk which events the handler has accepted. A journal has one writer, which holds a lock beside the file
 * while it is open. An id counts as known only when its line is on the disk, so acknowledged events survive a crash and
 * a power failure. A process that lost the lock because it was suspended notices that the file was changed before it
 * forwards or acknowledges anything more.
 */
export class Journal {
  /** Lines that were neither a record nor a comment when the journal was opened. */
  readonly damaged: number;
  /** Rejects with a `JournalError` once the journal can no longer be trusted; never resolves. */
  readonly failed: Promise<never>;
  readonly #context: JournalContext;
  readonly #keep: number | undefined;
  readonly #lock: TakenLock;
  #file: JournalFile;
  readonly #ids: Map<EventKey, number>;
  /** The time at which ids were last forgotten. */
  #forgotAt: number;
  /** Deliveries in progress; a second copy waits for the first one's outcome. */
  readonly #running = new Map<EventKey, Promise<Outcome>>();
  /** Records for the next write. Those that arrive during a write share the next one. */
  #waiting: WaitingRecord[] = [];
  #writing: Promise<void> | undefined;
  #failure: JournalError | undefined;
  #fail: (error: JournalError) => void = () => {};
  readonly #timer: NodeJS.Timeout;

  constructor(
    { file, ids, damaged }: JournalContent,
    lock: TakenLock,
    keep: number | undefined,
    context: JournalContext,
  ) {
    this.#file = file;
    this.#ids = ids;
    this.damaged = damaged;
    this.#lock = lock;
    this.#keep = keep;
    this.#context = context;
    this.#forgotAt = context.clock.now();
    this.failed = new Promise((_resolve, reject) => {
      this.#fail = reject;
    });
    this.failed.catch(() => undefined);
    lock.lost.addEventListener('abort', () => this.#end(this.#lost()), { once: true });
    this.#timer = setInterval(() => void this.#watch(), WATCH_INTERVAL_MS);
    this.#timer.unref();
  }

  get path(): string {
    return this.#file.path;
  }

  /** Tells its file from every other one on this machine. */
  get identity(): string {
    return this.#file.identity;
  }

  /** The number of known ids. */
  get size(): number {
    return this.#ids.size;
  }

  has(key: EventKey): boolean {
    return this.#ids.has(key);
  }

  /**
   * Forwards an event with `forward`, unless that was done before, and journals it. Resolves to `accepted` or
   * `duplicate` only when the id is on the disk. `forward` returns whether the handler accepted the event; its errors
   * are rethrown. Throws `JournalError` if the event could not be journaled.
   */
  async once(key: EventKey, forward: () => Promise<boolean>): Promise<Outcome> {
    const first = this.#running.get(key);
    if (first) {
      const outcome = await first;
      return outcome === 'accepted' ? 'duplicate' : outcome;
    }
    const running = this.#once(key, forward);
    this.#running.set(key, running);
    try {
      return await running;
    } finally {
      this.#running.delete(key);
    }
  }

  /**
   * Waits for deliveries in progress, closes the file and releases the journal for the next process. `beforeRelease`
   * runs while the journal is still this process's.
   */
  async close(beforeRelease?: () => Promise<void> | undefined): Promise<void> {
    clearInterval(this.#timer);
    await Promise.allSettled(this.#running.values());
    while (this.#writing) await this.#writing;
    await beforeRelease?.();
    this.#file.close();
    await this.#lock.release();
  }

  /** Forgets ids that are older than `keep`, at most once per half of that time. Deliveries wait meanwhile. */
  async forget(): Promise<void> {
    const now = this.#context.clock.now();
    if (this.#keep === undefined || now - this.#forgotAt < this.#keep / 2) return;
    this.#forgotAt = now;
    while (this.#writing) await this.#writing;
    dropBefore(this.#ids, secondsOf(now - this.#keep));
    this.#writing = this.#compact();
    await this.#writing;
  }

  async #once(key: EventKey, forward: () => Promise<boolean>): Promise<Outcome> {
    this.#check();
    if (this.#ids.has(key)) return 'duplicate';
    if (!(await forward())) return 'refused';
    const seconds = secondsOf(this.#context.clock.now());
    await new Promise<void>((resolve, reject) => {
      this.#waiting.push({ key, seconds, resolve, reject });
      this.#writing ??= this.#write();
    });
    return 'accepted';
  }

  async #write(): Promise<void> {
    // Records of one turn of the event loop share a write.
    await setImmediate();
    while (this.#waiting.length > 0) {
      const group = this.#waiting;
      this.#waiting = [];
      try {
        if (this.#failure) throw this.#failure;
        await this.#file.append(group.map(({ key, seconds }) => recordLine(key, seconds)).join(''));
        for (const { key, seconds } of group) this.#ids.set(key, seconds);
        for (const { resolve } of group) resolve();
      } catch (error) {
        if (error instanceof JournalError && error.isFatal) this.#end(error);
        for (const { reject } of group) reject(error);
      }
    }
    this.#writing = undefined;
  }

  async #compact(): Promise<void> {
    try {
      this.#file.check();
      this.#file = await compacted(this.#file, this.#ids, this.#context);
    } catch (error) {
      this.#end(error);
    }
    this.#writing = this.#waiting.length > 0 ? this.#write() : undefined;
  }

  async #watch(): Promise<void> {
    if (this.#failure || this.#writing) return;
    try {
      this.#check();
      await this.forget();
    } catch (error) {
      this.#end(error);
    }
  }

  #check(): void {
    if (this.#failure) throw this.#failure;
    // The size changes while a record is written, and the write checks it at the end.
    if (this.#writing) return;
    try {
      this.#file.check();
    } catch (error) {
      this.#end(error);
      throw error;
    }
  }

  #lost(): JournalError {
    return new JournalError(`another hooktrail process took over the journal ${this.path}`, {
      next: 'start the command again; this happens to a process that was suspended for a long time',
    });
  }

  #end(error: unknown): void {
    this.#failure ??=
      error instanceof JournalError
        ? error
        : new JournalError(`the journal ${this.path} failed: ${(error as Error).message}`, { cause: error });
    this.#fail(this.#failure);
  }
}

/**
 * Opens a journal. Throws a `UsageError` that names the flag if the file cannot be used, `LockedError` if another process
 * keeps it.
 */
export async function openJournal(
  file: string,
  { keep, patience = PATIENCE_MS, onWait }: JournalOptions,
  context: JournalContext,
): Promise<Journal> {
  const { machine } = context;
  const real = realJournalPath(file, machine);
  const place = { folder: `${real}.lock`, subject: `the journal ${real}` };
  try {
    journalExists(real, machine);
    checkLockFolder(place.folder, machine);
    makeFolder(place.folder);
    const lock = await takeLock('journal', context, { ...place, patience: 0 }).catch((error) => {
      if (!(error instanceof LockedError) || patience === 0) throw error;
      onWait?.(error, real);
      return takeLock('journal', context, { ...place, patience });
    });
    try {
      return new Journal(await openContent(real, keep, context), lock, keep, context);
    } catch (error) {
      await lock.release();
      throw error;
    }
  } catch (error) {
    // The folder may be read-only, or the disk full.
    if (error instanceof UnusableLockError) throw unusableJournal(real, error.cause ?? error);
    throw error instanceof Error && 'syscall' in error ? unusableJournal(real, error) : error;
  }
}

/**
 * Returns the path of a profile's default journal, and creates its folder. Throws `UsageError` if the folder cannot be
 * created.
 */
export function defaultJournal(profile: string, context: Pick<Context, 'environment' | 'machine'>): string {
  const folder = path.join(configFolder(context), 'webhooks');
  try {
    makeFolder(folder);
  } catch (error) {
    throw new UsageError(`cannot create a journal in ${folder}: ${(error as Error).message}`, {
      next: 'make the folder writable, or choose a file elsewhere with --journal',
      cause: error,
    });
  }
  return path.join(folder, `${profile}.journal`);
}

/** The journal can no longer be trusted, or cannot be written: nothing may be acknowledged. */
export class JournalError extends ServiceError {
  /** False if the next attempt may succeed, as on a disk that was full. */
  readonly isFatal: boolean;

  constructor(message: string, parts: ErrorParts & { readonly isFatal?: boolean } = {}) {
    super(message, parts);
    this.isFatal = parts.isFatal ?? true;
  }
}

const FIRST_WORDS = '# hooktrail journal';
const RECORD_START = /^[0-9a-f]{32} \d/;
const KEY = /^[0-9a-f]{32}$/;
const SECONDS = /^\d{1,12}$/;
const RECORD_BYTES = 44;
/** With digits for any time to come. */
const LONGEST_RECORD_BYTES = 46;
const CHUNK_BYTES = 4 * 1024 * 1024;
const [NEWLINE, SPACE, HASH] = [0x0a, 0x20, 0x23];

function recordLine(key: EventKey, seconds: number): string {
  return `${key} ${seconds}\n`;
}

function openedLine({ clock, machine }: Pick<Context, 'clock' | 'machine'>): string {
  return `${FIRST_WORDS}, opened ${new Date(clock.now()).toISOString()} by process ${machine.pid}\n`;
}

function secondsOf(milliseconds: number): number {
  return Math.max(0, Math.floor(milliseconds / 1000));
}

interface Records {
  /** The keys, and the seconds at which each was journaled. */
  readonly ids: Map<EventKey, number>;
  /** Lines that are neither a record nor a comment. */
  readonly damaged: number;
  /** The offset after the last whole line. */
  readonly end: number;
}

/**
 * Reads a journal. A record is looked for at the end of its line, since a write that a full disk cut short stands before
 * the record that was written next.
 */
async function readRecords(fd: number): Promise<Records> {
  const ids = new Map<EventKey, number>();
  let damaged = 0;
  let end = 0;
  let rest: Buffer = Buffer.alloc(0);
  for (let position = 0; ; ) {
    const { bytesRead, buffer } = await read(fd, Buffer.allocUnsafe(CHUNK_BYTES), 0, CHUNK_BYTES, position);
    if (bytesRead === 0) return { ids, damaged, end };
    const bytes = Buffer.concat([rest, buffer.subarray(0, bytesRead)]);
    const offset = position - rest.length;
    position += bytesRead;
    let start = 0;
    for (let stop = bytes.indexOf(NEWLINE); stop !== -1; stop = bytes.indexOf(NEWLINE, start)) {
      const from = Math.max(start, stop - LONGEST_RECORD_BYTES);
      // Until the year 2286 the seconds have ten digits.
      const isUsual = bytes[stop - 11] === SPACE;
      const space = isUsual ? stop - 11 : from + bytes.subarray(from, stop).lastIndexOf(SPACE);
      // A string that is cut out of a longer one would keep that one in memory.
      const key = space < from + 32 ? '' : bytes.toString('latin1', space - 32, space);
      const seconds = bytes.toString('latin1', space + 1, stop);
      if (KEY.test(key) && SECONDS.test(seconds)) ids.set(key, Number(seconds));
      else if (stop > start && bytes[start] !== HASH) damaged++;
      start = stop + 1;
      end = offset + start;
    }
    rest = bytes.subarray(Math.max(start, bytes.length - LONGEST_RECORD_BYTES));
  }
}

/** Returns the ids that are now in a journal; none if there is no journal. Changes nothing. */
export async function readIds(file: string, machine: Machine): Promise<ReadonlyMap<EventKey, number>> {
  if (!journalExists(file, machine)) return new Map();
  const fd = openChecked(realJournalPath(file, machine), fs.constants.O_RDONLY, machine);
  try {
    return (await readRecords(fd)).ids;
  } finally {
    fs.closeSync(fd);
  }
}

/** A journal's open file and its content. */
interface JournalContent extends Omit<Records, 'end'> {
  readonly file: JournalFile;
}

/**
 * Opens the file of a journal for the holder of its lock: creates it if it is missing, cuts off a torn end, forgets what
 * is older than `keep` milliseconds, and syncs what a process that crashed may have left in the system's cache.
 */
async function openContent(
  real: string,
  keep: number | undefined,
  context: Pick<Context, 'clock' | 'machine'>,
): Promise<JournalContent> {
  const { clock, machine } = context;
  let file = JournalFile.open(real, machine);
  try {
    const { ids, damaged, end } = await file.read();
    if (file.size > end) file.cut(end);
    if (keep !== undefined) dropBefore(ids, secondsOf(clock.now() - keep));
    file = await compacted(file, ids, context);
    await file.append(openedLine(context));
    await file.sync();
    if (end === 0) await syncFolder(path.dirname(real));
    return { file, ids, damaged };
  } catch (error) {
    file.close();
    // The disk was already full.
    throw error instanceof JournalError ? unusableJournal(real, error.cause ?? error) : error;
  }
}

function dropBefore(ids: Map<EventKey, number>, oldest: number): void {
  for (const [key, seconds] of ids) if (seconds < oldest) ids.delete(key);
}

/** Bytes below which rewriting the file is not worth it. */
const WORTH_REWRITING_BYTES = 64 * 1024;

/**
 * Returns the file, rewritten with only these ids if more than a quarter of it is anything else. Without room for
 * another, the old one stays.
 */
async function compacted(
  file: JournalFile,
  ids: ReadonlyMap<EventKey, number>,
  context: Pick<Context, 'clock' | 'machine'>,
): Promise<JournalFile> {
  const waste = file.size - ids.size * RECORD_BYTES;
  if (waste <= WORTH_REWRITING_BYTES || waste <= file.size / 4) return file;
  let content = openedLine(context);
  for (const [key, seconds] of ids) content += recordLine(key, seconds);
  try {
    await replaceFile(file.path, content);
  } catch (error) {
    if (error instanceof UnsyncedError) throw error;
    return file;
  }
  file.close();
  return JournalFile.open(file.path, context.machine);
}

const write = promisify(fs.write);
const read = promisify(fs.read);
const fdatasync = promisify(fs.fdatasync);

/** The file of a journal, which only this process writes. It notices when another program changes the file. */
class JournalFile {
  readonly path: string;
  readonly identity: string;
  readonly #fd: number;
  /** True if a write is on the disk when it returns. */
  readonly #syncs: boolean;
  /** The size up to which this process has written or read the file. */
  #size: number;
  #closed = false;

  private constructor(file: string, fd: number, syncs: boolean) {
    this.path = file;
    this.#fd = fd;
    this.#syncs = syncs;
    const found = fs.fstatSync(fd);
    this.identity = identityOf(found);
    this.#size = found.size;
  }

  /** Opens the file, and creates it if it is missing. Throws a `UsageError` that names the flag. */
  static open(file: string, machine: Machine): JournalFile {
    const { O_RDWR, O_CREAT, O_APPEND, O_DSYNC } = fs.constants;
    // With O_DSYNC a write is on the disk when it returns, in half the time of a write and a sync. On Windows the flag
    // is missing; on macOS the data may still be in the drive's cache.
    const syncs = machine.platform === 'linux';
    const fd = openChecked(file, O_RDWR | O_CREAT | O_APPEND | (syncs ? O_DSYNC : 0), machine);
    return new JournalFile(file, fd, syncs);
  }

  get size(): number {
    return this.#size;
  }

  read(): Promise<Records> {
    return readRecords(this.#fd);
  }

  /** Appends to the file; the text is on the disk when this resolves. Throws `JournalError`. */
  async append(text: string): Promise<void> {
    const bytes = Buffer.from(text);
    try {
      // On a full disk a write may be cut short before the next one fails.
      for (let written = 0; written < bytes.length; ) {
        const { bytesWritten } = await write(this.#fd, bytes, written, bytes.length - written, null);
        written += bytesWritten;
        this.#size += bytesWritten;
      }
      if (!this.#syncs) await fdatasync(this.#fd);
    } catch (error) {
      const message = `the journal ${this.path} cannot be written: ${(error as Error).message}`;
      const isFull = ['ENOSPC', 'EDQUOT', 'EFBIG'].includes((error as NodeJS.ErrnoException).code ?? '');
      // A disk that failed may also have lost earlier writes: nothing can be promised any more.
      if (!isFull) throw new JournalError(message, { cause: error });
      const next = 'free some space; deliveries are refused until then, and the service sends them again';
      throw new JournalError(message, { cause: error, isFatal: false, next });
    }
    this.check();
  }

  /** Syncs the whole file to the disk, including records of an earlier process. */
  async sync(): Promise<void> {
    await fdatasync(this.#fd);
  }

  /** Throws `JournalError` if the path now leads to another file, or another program wrote to this one. */
  check(): void {
    const found = fs.statSync(this.path, { throwIfNoEntry: false });
    if (found === undefined || identityOf(found) !== this.identity) {
      throw new JournalError(
        `the journal ${this.path} was ${found ? 'replaced' : 'removed'} while it was in use`,
        { next: 'do not change the file while hooktrail runs; --keep removes old ids' },
      );
    }
    if (found.size === this.#size) return;
    throw new JournalError(`another program changed the journal ${this.path} while it was in use`, {
      next: 'do not change the file while hooktrail runs; start the command again to continue with the intact records',
    });
  }

  /** Cuts the file off at an offset. */
  cut(size: number): void {
    fs.ftruncateSync(this.#fd, size);
    this.#size = size;
  }

  close(): void {
    if (!this.#closed) fs.closeSync(this.#fd);
    this.#closed = true;
  }
}

export function identityOf({ dev, ino }: fs.Stats): string {
  return `${dev}/${ino}`;
}

/**
 * Returns true if the file is a journal, even an empty one. Throws a `UsageError` that names the flag if it is
 * something else, or belongs to another user.
 */
export function journalExists(file: string, machine: Machine): boolean {
  if (!fs.existsSync(file)) return false;
  const fd = openChecked(realJournalPath(file, machine), fs.constants.O_RDONLY, machine);
  try {
    const start = Buffer.alloc(64);
    const text = start.toString('latin1', 0, fs.readSync(fd, start, 0, start.length, 0));
    // The process that made the file may have been killed while it wrote the first line.
    if (FIRST_WORDS.startsWith(text.slice(0, FIRST_WORDS.length)) || RECORD_START.test(text)) return true;
  } finally {
    fs.closeSync(fd);
  }
  throw new UsageError(`--journal: ${file} is not a journal of hooktrail`, {
    next: 'choose another file; this one is left as it is',
  });
}

/**
 * Opens a file of the user without waiting for anything, as the writer of a FIFO, and without following a link. Throws a
 * `UsageError` that names the flag if it is no regular file, or another user's.
 */
function openChecked(file: string, flags: number, machine: Machine): number {
  const { O_NONBLOCK = 0, O_NOFOLLOW = 0 } = fs.constants;
  let fd: number | undefined;
  try {
    fd = fs.openSync(file, flags | O_NONBLOCK | O_NOFOLLOW, 0o600);
    const found = fs.fstatSync(fd);
    if (!found.isFile()) throw new Error('it is not a regular file');
    refuseForeign(file, found, machine);
    return fd;
  } catch (error) {
    if (fd !== undefined) fs.closeSync(fd);
    throw error instanceof UsageError ? error : unusableJournal(file, error);
  }
}

/** Another user could have written it so that events count as accepted, and could remove it at any time. */
function refuseForeign(file: string, { uid }: fs.Stats, { platform, userId }: Machine): void {
  if (platform === 'win32' || uid === userId || uid === 0) return;
  throw new UsageError(`--journal: ${file} belongs to another user (${uid})`, {
    next: 'run the command as that user, whose listener can also recover by itself (`hooktrail webhooks listen --recover`), or choose another file',
  });
}

/** Refuses a folder beside the journal that is another user's, or no folder. */
function checkLockFolder(folder: string, machine: Machine): void {
  refusePlanted(folder, '--journal', machine);
  const found = fs.lstatSync(folder, { throwIfNoEntry: false });
  if (!found) return;
  refuseForeign(folder, found, machine);
  if (!found.isDirectory()) throw unusableJournal(folder, new Error('it is not a folder'));
}

/**
 * Returns the journal's path without links, so that all processes lock the same one. Throws a `UsageError` that names
 * the flag.
 */
export function realJournalPath(file: string, machine: Machine): string {
  refusePlanted(file, '--journal', machine);
  const whole = path.resolve(file);
  try {
    if (fs.existsSync(whole)) return fs.realpathSync(whole);
    return path.join(fs.realpathSync(path.dirname(whole)), path.basename(whole));
  } catch (error) {
    throw unusableJournal(whole, error);
  }
}

function unusableJournal(file: string, error: unknown): UsageError {
  return new UsageError(`--journal: ${file} cannot be used: ${(error as Error).message}`, {
    cause: error,
    next: 'choose a file in a folder that exists and is writable',
  });
}
