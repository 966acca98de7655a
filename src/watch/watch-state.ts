import type { Context } from '../context.ts';
import { faultText, type HooktrailError, UsageError, unusableFile } from '../errors.ts';
import { makeOwnFolder, refusePlanted } from '../files/folders.ts';
import { followLinks, readRegularFile, replaceFile } from '../files/whole-files.ts';
import { type EventFilters, isTypedFilters, type TypedFilters } from '../filters/event-filters.ts';
import { LockedError, takeLock, whileHeld } from '../lock/lock.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { type Instant, parseInstant } from '../time/instant.ts';
import type { FollowerState } from './watch-follower.ts';

/** Identifies the watch of a state: any other watch would skip events that only this one printed. */
interface WatchIdentity {
  readonly command: string;
  readonly service: string;
  readonly filters: TypedFilters;
}

interface Saved extends WatchIdentity, Omit<FollowerState, 'start'> {
  readonly format: 'hooktrail-watch';
  readonly version: 1;
  readonly start: string;
  readonly kept?: unknown;
}

export interface WatchKind<Kept> {
  readonly command: string;
  /** True for valid data kept in addition to the place. */
  readonly isKept: (value: unknown) => value is Kept;
}

export interface WatchState<Kept> extends FollowerState {
  readonly kept: Kept;
}

/** Printing events needs only the place. */
export const EVENT_WATCH: WatchKind<undefined> = {
  command: 'events watch',
  isKept: (value): value is undefined => value === undefined,
};

export class WatchStateFile<Kept> {
  readonly #file: string;
  readonly #place: string;
  readonly #kind: WatchKind<Kept>;
  readonly #identity: WatchIdentity;

  constructor(file: string, place: string, baseUrl: URL, filters: EventFilters, kind: WatchKind<Kept>) {
    this.#file = file;
    this.#place = place;
    this.#kind = kind;
    const { command } = kind;
    this.#identity = { command, service: baseUrl.href, filters: withoutTimes(filters.typed()) };
  }

  /**
   * Reads the state; undefined if there is no file. Warns of an empty file, as `mktemp` makes it: events may
   * have come since somebody emptied it. Throws `UsageError` if the file is not a state, is damaged, or
   * belongs to another watch.
   */
  read(reporter: Reporter): WatchState<Kept> | undefined {
    const file = this.#file;
    let text: string;
    try {
      text = readRegularFile(this.#place).toString();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw new UsageError(`--state: ${file} cannot be read: ${faultText(error)}`, { cause: error });
    }
    if (text === '')
      return void reporter.warning(`--state: ${file} is empty: the watch begins anew`, {
        kind: 'incomplete',
      });
    const saved = parseState(text);
    if (!saved) throw notAState(file);
    const { command, service, watermark, printed, kept } = saved;
    const there = { command, service, filters: withoutTimes(saved.filters) };
    if (JSON.stringify(there) !== JSON.stringify(this.#identity)) {
      throw new UsageError(`--state: ${file} belongs to another watch`, {
        details: [`there: ${identityText(there)}`, `here: ${identityText(this.#identity)}`],
        next: 'choose another file, or give the same filters',
      });
    }
    if (!this.#kind.isKept(kept)) throw notAState(file);
    return { start: parseInstant(saved.start) as Instant, watermark, printed, kept };
  }

  /**
   * Replaces the file, durably. Throws `ServiceError` if the disk is full, otherwise `UsageError` if it
   * cannot be written.
   */
  async save(state: WatchState<Kept>): Promise<void> {
    const place = { ...state, start: state.start.text };
    const saved: Saved = { format: 'hooktrail-watch', version: 1, ...this.#identity, ...place };
    try {
      await replaceFile(this.#place, `${JSON.stringify(saved)}\n`);
    } catch (error) {
      throw unwritableState(this.#file, error as NodeJS.ErrnoException);
    }
  }
}

function notAState(file: string): UsageError {
  return new UsageError(`--state: ${file} is not the state of a watch, or is damaged`, {
    next: 'choose another file, or remove this one to start over',
  });
}

function unwritableState(file: string, fault: NodeJS.ErrnoException): HooktrailError {
  const message = `--state: ${file} cannot be written: ${faultText(fault)}`;
  return unusableFile(message, 'name a file in a folder that exists and can be written', fault);
}

/** Times do not identify a watch: it begins at the saved place, and any run may end it. */
function withoutTimes({ after: _, before: __, ...others }: TypedFilters): TypedFilters {
  return others;
}

function parseState(text: string): Saved | undefined {
  try {
    const saved = JSON.parse(text) as Saved;
    const isSound =
      saved.format === 'hooktrail-watch' &&
      saved.version === 1 &&
      typeof saved.command === 'string' &&
      typeof saved.service === 'string' &&
      isTypedFilters(saved.filters) &&
      Number.isFinite(saved.watermark) &&
      parseInstant(saved.start) !== undefined &&
      saved.printed.every((pair) => pair.length === 2 && pair.every(Number.isFinite));
    return isSound ? saved : undefined;
  } catch {
    return undefined;
  }
}

function identityText({ command, service, filters }: WatchIdentity): string {
  const flags = Object.entries(filters).flatMap(([name, value]) =>
    [value].flat().map((one) => `--${name} ${one}`),
  );
  return [`${command} at ${service}`, ...flags].join(' ');
}

/**
 * Does some work while no other watch can use the same state. `place`: path of the state with links resolved;
 * undefined without a state. Throws `UsageError` if another watch uses it.
 */
export async function whileStateIsHeld<Held extends { readonly context: Context }>(
  file: string | undefined,
  call: Held,
  work: (held: Held, place: string | undefined) => Promise<void>,
): Promise<void> {
  const { context } = call;
  if (file === undefined) return await work(call, undefined);
  refusePlanted(file, '--state', context.machine);
  const place = await followLinks(file);
  const folder = `${place}.lock`;
  refusePlanted(folder, '--state', context.machine);
  makeLockFolder(folder, file);
  const only = { patience: 0, subject: `the watch of ${file}`, folder };
  const lock = await takeLock(`watch ${place}`, context, only).catch((error) => {
    if (!(error instanceof LockedError)) throw error;
    throw new UsageError(`--state: another watch uses ${file}`, {
      details: error.holder ? [`process ${error.holder}`] : [],
      next: 'end it, or choose another file',
      cause: error,
    });
  });
  try {
    await work({ ...call, context: whileHeld(context, lock) }, place);
  } finally {
    await lock.release();
  }
}

/** Throws the error that writing the state would. */
function makeLockFolder(folder: string, state: string): void {
  try {
    makeOwnFolder(folder);
  } catch (error) {
    throw unwritableState(state, error as NodeJS.ErrnoException);
  }
}
