import { appendFileSync, closeSync, openSync } from 'node:fs';
import { UsageError } from '../../errors.ts';
import { readRegularFile, replaceFile } from '../../files/whole-files.ts';
import { type Instant, parseInstant } from '../../time/instant.ts';
import type { EventFilters } from '../event-filters.ts';
import type { FollowerState, WatchedItem } from './watch-follower.ts';

/** Identifies the watch that a state belongs to: another watch would skip events that only this one printed. */
export interface WatchIdentity {
  /** The event service's base URL. */
  readonly service: string;
  readonly filters: Readonly<Record<string, string | readonly string[]>>;
}

/** The filters decide which events a watch prints; the state decides where it begins. */
export function watchIdentity(baseUrl: URL, filters: EventFilters): WatchIdentity {
  const { after: _, ...others } = filters.typed();
  return { service: baseUrl.href, filters: others };
}

interface Saved extends WatchIdentity {
  readonly format: 'hooktrail-watch';
  readonly version: 1;
  readonly start: string;
  readonly watermark: number;
  readonly printed: readonly (readonly [key: number, createdBefore: number])[];
}

/**
 * Reads the state from a file; undefined if there is no file. Throws `UsageError` if the file is not a state, is
 * damaged, or belongs to another watch.
 */
export async function readWatchState(
  file: string,
  identity: WatchIdentity,
): Promise<FollowerState | undefined> {
  let text: string;
  try {
    text = readRegularFile(file).toString();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw new UsageError(`--state: ${file} cannot be read: ${message}`, { cause: error });
  }
  const saved = parsed(text);
  if (!saved) {
    throw new UsageError(`--state: ${file} is not the state of a watch, or is damaged`, {
      next: 'choose another file, or remove this one to start over',
    });
  }
  const [there, here] = [saved, identity].map(({ service, filters }) => JSON.stringify({ service, filters }));
  if (there !== here) {
    throw new UsageError(`--state: ${file} belongs to another watch`, {
      details: [`there: ${words(saved)}`, `here: ${words(identity)}`],
      next: 'choose another file, or give the same filters',
    });
  }
  return { start: parseInstant(saved.start) as Instant, watermark: saved.watermark, printed: saved.printed };
}

/**
 * The file that keeps the state of a watch: the state on the first line, and below it the events printed since. These
 * are appended right after each printing, so that only the events being printed at a kill are repeated.
 */
export class WatchStateFile {
  readonly #file: string;
  readonly #identity: WatchIdentity;
  #descriptor: number | undefined;

  constructor(file: string, identity: WatchIdentity) {
    this.#file = file;
    this.#identity = identity;
  }

  /** Replaces the file, durably. Throws `UsageError` where it cannot be written. */
  async save({ start, watermark, printed }: FollowerState): Promise<void> {
    const { service, filters } = this.#identity;
    const saved: Saved = {
      format: 'hooktrail-watch',
      version: 1,
      service,
      filters,
      start: start.text,
      watermark,
      printed,
    };
    await this.#tried(async () => {
      this.close();
      await replaceFile(this.#file, `${JSON.stringify(saved)}\n`);
      this.#descriptor = openSync(this.#file, 'a');
    });
  }

  /** Appends events that were printed. */
  async append(items: readonly Pick<WatchedItem, 'key' | 'createdBefore'>[]): Promise<void> {
    const lines = items.map(({ key, createdBefore }) => `[${key},${createdBefore}]\n`).join('');
    await this.#tried(async () => {
      appendFileSync(this.#descriptor as number, lines);
    });
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  async #tried(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      throw new UsageError(`--state: ${this.#file} cannot be written: ${(error as Error).message}`, {
        cause: error,
      });
    }
  }
}

function parsed(text: string): Saved | undefined {
  try {
    const [first = '', ...lines] = text.split('\n');
    const whole = JSON.parse(first) as Saved;
    // A kill may have cut the last line: its event is printed again.
    const since = lines.slice(0, -1).map((line) => JSON.parse(line) as [number, number]);
    const saved: Saved = { ...whole, printed: [...whole.printed, ...since] };
    const isSound =
      saved.format === 'hooktrail-watch' &&
      saved.version === 1 &&
      Number.isFinite(saved.watermark) &&
      parseInstant(saved.start) !== undefined &&
      Array.isArray(saved.printed) &&
      saved.printed.every((pair) => pair.length === 2 && pair.every(Number.isFinite));
    return isSound ? saved : undefined;
  } catch {
    return undefined;
  }
}

function words({ service, filters }: WatchIdentity): string {
  const flags = Object.entries(filters).flatMap(([name, value]) =>
    [value].flat().map((one) => `--${name} ${one}`),
  );
  return [service, ...flags].join(' ');
}
