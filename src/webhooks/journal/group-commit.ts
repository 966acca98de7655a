import type { JournalFile } from './file.ts';

interface Waiting {
  readonly record: Buffer;
  readonly durable: boolean;
  resolve(): void;
  reject(error: unknown): void;
}

export interface CommitHooks {
  /** Called after a write; one that failed may have left some of its bytes. */
  written(bytes: number, failed: boolean): void;
  /** Right before a sync of the whole file: what lies in it now will be on the disk. */
  syncing(): void;
}

/**
 * Appends records in groups: what comes in while one group is written and synced makes up the next, so that the more is
 * going on, the more records share one trip to the disk.
 */
export class GroupCommit {
  readonly #file: JournalFile;
  readonly #hooks: CommitHooks;
  #waiting: Waiting[] = [];
  #running: Promise<void> | undefined;

  constructor(file: JournalFile, hooks: CommitHooks) {
    this.#file = file;
    this.#hooks = hooks;
  }

  get busy(): boolean {
    return this.#running !== undefined;
  }

  /** Resolves when the record is in the file, with `durable` when it is on the disk. An empty record only syncs. */
  add(record: Buffer, durable: boolean): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ record, durable, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  /** Resolves when everything added so far has ended, well or not. */
  async idle(): Promise<void> {
    while (this.#running) await this.#running;
  }

  async #run(): Promise<void> {
    // Records of one turn of the event loop belong together.
    await new Promise<void>((resolve) => setImmediate(resolve));
    while (this.#waiting.length > 0) {
      const group = this.#waiting;
      this.#waiting = [];
      try {
        await this.#commit(group);
        for (const { resolve } of group) resolve();
      } catch (error) {
        for (const { reject } of group) reject(error);
      }
    }
    this.#running = undefined;
  }

  async #commit(group: readonly Waiting[]): Promise<void> {
    const [only] = group;
    const bytes = group.length === 1 && only ? only.record : Buffer.concat(group.map(({ record }) => record));
    const durable = group.some((waiting) => waiting.durable);
    try {
      await this.#file.append(bytes, durable);
    } catch (error) {
      this.#hooks.written(0, true);
      throw error;
    }
    this.#hooks.written(bytes.length, false);
    // An empty record asks for what others have written.
    if (!group.some(({ record }) => record.length === 0)) return;
    this.#hooks.syncing();
    await this.#file.sync();
  }
}
