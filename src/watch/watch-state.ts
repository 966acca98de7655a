import { faultText, type HooktrailError, UsageError, unusableFile } from '../errors.ts';
import { readRegularFile, replaceFile } from '../files/whole-files.ts';
import { type EventFilters, isTypedFilters, type TypedFilters } from '../filters/event-filters.ts';
import type { Reporter } from '../terminal/reporter.ts';
import { type Instant, parseInstant } from '../time/instant.ts';
import type { FollowerState } from './watch-follower.ts';

/**
 * Identifies the watch that a state belongs to: another watch would skip events that only this one printed.
 */
interface WatchIdentity {
  /** The event service's base URL. */
  readonly service: string;
  readonly filters: TypedFilters;
}

interface Saved extends WatchIdentity, Omit<FollowerState, 'start'> {
  readonly format: 'hooktrail-watch';
  readonly version: 1;
  readonly start: string;
}

/**
 * The file that keeps the state of a watch. `file` is the user's name for it; `place` is its path without
 * links.
 */
export class WatchStateFile {
  readonly #file: string;
  readonly #place: string;
  readonly #identity: WatchIdentity;

  constructor(file: string, place: string, baseUrl: URL, filters: EventFilters) {
    this.#file = file;
    this.#place = place;
    this.#identity = { service: baseUrl.href, filters: withoutTimes(filters.typed()) };
  }

  /**
   * Reads the state; undefined if there is no file, or an empty one as `mktemp` makes it, with a warning:
   * events may have come since somebody emptied it. Throws `UsageError` if the file is not a state, is
   * damaged, or belongs to another watch.
   */
  read(reporter: Reporter): FollowerState | undefined {
    const file = this.#file;
    let text: string;
    try {
      text = readRegularFile(this.#place).toString();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw new UsageError(`--state: ${file} cannot be read: ${faultText(error)}`, { cause: error });
    }
    if (text === '') return void reporter.warning(`--state: ${file} is empty: the watch begins anew`);
    const saved = parseState(text);
    if (!saved) {
      throw new UsageError(`--state: ${file} is not the state of a watch, or is damaged`, {
        next: 'choose another file, or remove this one to start over',
      });
    }
    const { service, watermark, printed } = saved;
    const filters = withoutTimes(saved.filters);
    if (JSON.stringify({ service, filters }) !== JSON.stringify(this.#identity)) {
      throw new UsageError(`--state: ${file} belongs to another watch`, {
        details: [`there: ${identityText({ service, filters })}`, `here: ${identityText(this.#identity)}`],
        next: 'choose another file, or give the same filters',
      });
    }
    return { start: parseInstant(saved.start) as Instant, watermark, printed };
  }

  /**
   * Replaces the file, durably. Throws `ServiceError` if the disk is full, `UsageError` where else it cannot
   * be written.
   */
  async save(state: FollowerState): Promise<void> {
    const place = { ...state, start: state.start.text };
    const saved: Saved = { format: 'hooktrail-watch', version: 1, ...this.#identity, ...place };
    try {
      await replaceFile(this.#place, `${JSON.stringify(saved)}\n`);
    } catch (error) {
      throw unwritableState(this.#file, error as NodeJS.ErrnoException);
    }
  }
}

/** The error for a state that cannot be written, by the user's name for its file. */
export function unwritableState(file: string, fault: NodeJS.ErrnoException): HooktrailError {
  const message = `--state: ${file} cannot be written: ${faultText(fault)}`;
  return unusableFile(message, 'name a file in a folder that exists and can be written', fault);
}

/** The filters decide which events a watch prints. It begins where the state says, and any run may end it. */
function withoutTimes({ after: _, before: __, ...others }: TypedFilters): TypedFilters {
  return others;
}

function parseState(text: string): Saved | undefined {
  try {
    const saved = JSON.parse(text) as Saved;
    const isSound =
      saved.format === 'hooktrail-watch' &&
      saved.version === 1 &&
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

function identityText({ service, filters }: WatchIdentity): string {
  const flags = Object.entries(filters).flatMap(([name, value]) =>
    [value].flat().map((one) => `--${name} ${one}`),
  );
  return [service, ...flags].join(' ');
}
