import type { KeepItems } from '../event-filters.ts';
import type { IdentifiedItems } from '../page.ts';
import type { Manifest, Part } from './export-manifest.ts';
import { keysOf, PartFile } from './export-part.ts';
import type { SliceSink, SliceToRead } from './export-slices.ts';

export interface PartToRead extends SliceToRead {
  readonly index: number;
}

interface Open {
  readonly file: PartFile;
  readonly index: number;
  /** Keys of events that the neighbouring files hold. */
  readonly newer: ReadonlySet<number>;
  readonly older: ReadonlySet<number>;
  readonly keys: Set<number>;
  /** True if an older slice of the same query needs the keys. */
  readonly isOverlapped: boolean;
}

const NONE: ReadonlySet<number> = new Set();

/** Called when a part lies whole on the disk. */
export type OnPart = (index: number, part: Part) => Promise<void>;

/**
 * Writes slices to their files. Slices of one query reach a second into the next older one: what the newer slice's file
 * holds is left out of the older's.
 */
export class ExportSink implements SliceSink<PartToRead> {
  readonly #directory: string;
  readonly #parts: () => Manifest['parts'];
  readonly #onPart: OnPart;
  readonly #onEvents: (change: number) => void;
  /** Keeps the events to write of those that the service found. */
  readonly #keep: KeepItems | undefined;
  #open: Open | undefined;
  /** The keys of the slice that was read last. */
  #last: { index: number; keys: ReadonlySet<number> } = { index: -1, keys: NONE };

  constructor(
    directory: string,
    parts: () => Manifest['parts'],
    onPart: OnPart,
    onEvents: (change: number) => void,
    keep?: KeepItems,
  ) {
    this.#keep = keep;
    this.#directory = directory;
    this.#parts = parts;
    this.#onPart = onPart;
    this.#onEvents = onEvents;
  }

  async begin({ index }: PartToRead): Promise<void> {
    await this.abandon();
    const newer = this.#last.index === index - 1 ? this.#last.keys : await this.#keysOf(index - 1, index);
    // There already where a part is read once more.
    const older = await this.#keysOf(index + 1, index);
    const file = await PartFile.create(this.#directory, this.#parts()[index] as Part);
    this.#open = {
      file,
      index,
      newer,
      older,
      keys: new Set(),
      isOverlapped: this.#isOneQuery(index, index + 1),
    };
  }

  async take(items: IdentifiedItems): Promise<void> {
    const { file, newer, older, keys, isOverlapped } = this.#open as Open;
    const fresh = items.without(newer).without(older);
    const due = this.#keep?.(fresh) ?? fresh;
    if (isOverlapped) for (const key of due.keys) keys.add(key);
    await file.add(due);
    this.#onEvents(due.count);
  }

  async end(counted: number | null): Promise<void> {
    const { file, index, keys } = this.#open as Open;
    const written = await file.commit();
    this.#open = undefined;
    this.#last = { index, keys };
    await this.#onPart(index, { ...(this.#parts()[index] as Part), ...written, counted });
  }

  /** Drops the part that is under way. */
  async abandon(): Promise<void> {
    if (!this.#open) return;
    const { file } = this.#open;
    this.#open = undefined;
    this.#onEvents(-file.events);
    await file.discard();
  }

  async #keysOf(index: number, neighbour: number): Promise<ReadonlySet<number>> {
    const part = this.#parts()[index];
    // An update reads again what settled parts hold: there it is taken out afterwards.
    const isOwn = part?.settled === this.#parts()[neighbour]?.settled;
    const excludes = part?.sha256 && (isOwn || !part.settled) && this.#isOneQuery(index, neighbour);
    return excludes ? keysOf(this.#directory, part) : NONE;
  }

  #isOneQuery(a: number, b: number): boolean {
    return this.#parts()[a]?.query === this.#parts()[b]?.query;
  }
}
