import type { Context } from '../../context.ts';
import type { EventKey } from '../event-key.ts';
import type { Journal, Outcome } from './journal.ts';
import { type OpenedJournal, openJournal } from './open.ts';

const CHECK = 3_600_000;

/**
 * A journal that forgets what is older than `keep` (milliseconds) while it is used: once half of its ids are, it is opened
 * again, which writes it anew. Deliveries wait for that: about 3 s where ten million ids stay.
 */
export class KeptJournal {
  readonly #context: Context;
  readonly #keep: number | undefined;
  #current: Promise<Journal>;
  readonly #timer: NodeJS.Timeout;
  #fail: (error: unknown) => void = () => {};
  /** Rejects when the journal can no longer be used; never resolves. */
  readonly failed: Promise<never>;

  private constructor(journal: Journal, keep: number | undefined, context: Context) {
    this.#context = context;
    this.#keep = keep;
    this.#current = Promise.resolve(journal);
    this.failed = new Promise((_resolve, reject) => {
      this.#fail = reject;
    });
    this.failed.catch(() => undefined);
    journal.failed.catch(this.#fail);
    this.#timer = setInterval(() => void this.renew().catch(this.#fail), CHECK);
    this.#timer.unref();
  }

  static async open(
    file: string,
    keep: number | undefined,
    context: Context,
  ): Promise<{ kept: KeptJournal; opened: OpenedJournal }> {
    const opened = await openJournal(file, { keep }, context);
    return { kept: new KeptJournal(opened.journal, keep, context), opened };
  }

  async once(key: EventKey, hand: () => Promise<boolean>): Promise<Outcome> {
    for (;;) {
      const current = this.#current;
      const journal = await current;
      // One that was opened anew meanwhile is closed by now.
      if (current === this.#current) return await journal.once(key, hand);
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await (await this.#current.catch(() => undefined))?.close();
  }

  /** Writes the journal anew if half of it has expired. */
  async renew(): Promise<void> {
    if (this.#keep === undefined) return;
    const journal = await this.#current;
    const oldest = Math.floor((this.#context.clock.now() - this.#keep) / 1000);
    const expired = journal.expiredBy(oldest);
    if (expired === 0 || expired < journal.size / 2) return;
    this.#current = this.#reopened(journal);
    await this.#current;
  }

  async #reopened(journal: Journal): Promise<Journal> {
    await journal.close();
    const { journal: renewed } = await openJournal(journal.path, { keep: this.#keep }, this.#context);
    renewed.failed.catch(this.#fail);
    return renewed;
  }
}
