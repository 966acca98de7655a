import type { Context } from '../../context.ts';
import type { EventKey } from '../event-key.ts';
import { JournalError } from './error.ts';
import type { JournalLog } from './log.ts';
import { Kind, keyRecord } from './record.ts';

/** `accepted`: handed over now. `duplicate`: somebody handed it over before. `refused`: the handler did not take it. */
export type Outcome = 'accepted' | 'duplicate' | 'refused';

const ASK_AGAIN = 20;
const CLAIM_PATIENCE = 60_000;

/**
 * Which events the handler has, on disk; and, among all processes that have the journal open, who hands over what.
 *
 * One file, and nothing but whole records appended to it with single writes: the order in which they lie there is the
 * same for everybody. A process that is alone keeps its claims in memory and writes one record an event, when the handler
 * has it. A process that joins says so in the file and waits until each of the others has welcomed it. To welcome is to
 * publish one's claims, and from then on to write a claim before each event is handed over and to read what others wrote
 * before relying on it: of several claims on an event the first in the file holds. So a joiner touches no event before
 * everyone knows of it, and nobody can be between "not journaled" and "handed over" without a claim that the joiner has
 * read. A member that dies is found dead by its process number and start time; then its claims are void for everybody.
 * What it had handed over and not journaled is handed over again: nobody was told that it had been accepted.
 */
export class Journal {
  readonly #log: JournalLog;
  readonly #context: Pick<Context, 'clock' | 'signal'>;
  /** Deliveries under way in this process; a second copy waits for the first one's outcome. */
  readonly #running = new Map<string, Promise<Outcome>>();
  /** Events between "not journaled" and "journaled", with whether the claim on them lies in the file. */
  readonly #handing = new Map<string, { readonly key: EventKey; claimed: boolean }>();

  /** The context's signal ends waits for other processes; what this one hands over is finished. */
  constructor(log: JournalLog, context: Pick<Context, 'clock' | 'signal'>) {
    this.#log = log;
    this.#context = context;
    log.publish = (firstOther) => this.#publish(firstOther);
  }

  get path(): string {
    return this.#log.path;
  }

  /** Ids that are known. */
  get size(): number {
    return this.#log.state.ids.size;
  }

  /** Rejects with a `JournalError` when the journal can no longer be trusted; never resolves. */
  get failed(): Promise<never> {
    return this.#log.failed;
  }

  /** Ids that were journaled before a time, in seconds since the epoch, to the hour. */
  expiredBy(oldest: number): number {
    return this.#log.state.expiredBy(oldest);
  }

  has(key: EventKey): boolean {
    return this.#log.state.ids.has(key);
  }

  /**
   * Hands an event over by `hand` unless it has been before, in this process or any other, and journals it. Ends with
   * `accepted` or `duplicate` only when the id is on the disk. `hand` returns whether the handler took the event; what it
   * throws is thrown. Throws `JournalError` when the event could not be claimed or journaled.
   */
  async once(key: EventKey, hand: () => Promise<boolean>): Promise<Outcome> {
    if (this.#log.failure) throw this.#log.failure;
    const text = key.toString('latin1');
    const first = this.#running.get(text);
    if (first) {
      const outcome = await first;
      return outcome === 'accepted' ? 'duplicate' : outcome;
    }
    const running = this.#once(key, text, hand);
    this.#running.set(text, running);
    try {
      return await running;
    } finally {
      this.#running.delete(text);
    }
  }

  /** Waits for what is under way, says goodbye and closes the file. */
  async close(): Promise<void> {
    await Promise.allSettled(this.#running.values());
    await this.#log.close();
  }

  async #once(key: EventKey, text: string, hand: () => Promise<boolean>): Promise<Outcome> {
    const { state } = this.#log;
    let taken = false;
    try {
      if (!state.ids.has(key)) {
        // Alone, the check and the claim are one step: nothing runs in between.
        if (!this.#log.shared) this.#handing.set(text, { key, claimed: false });
        else await this.#claim(key, text);
      }
      if (state.ids.has(key)) {
        taken = true;
        await this.#log.settle();
        return 'duplicate';
      }
      if (!(await hand())) return 'refused';
      const seconds = Math.floor(this.#context.clock.now() / 1000);
      await this.#log.append(keyRecord(Kind.done, key, seconds), true);
      state.add(key, 0, seconds);
      taken = true;
      return 'accepted';
    } finally {
      const claimed = this.#handing.get(text)?.claimed ?? false;
      this.#handing.delete(text);
      if (claimed && !taken) this.#release(key);
    }
  }

  /** Waits until the event is this process's to hand over, or has been handed over. */
  async #claim(key: EventKey, text: string): Promise<void> {
    const { state, self } = this.#log;
    const deadline = this.#context.clock.now() + CLAIM_PATIENCE;
    for (;;) {
      // Noted before it is decided: who joins meanwhile has to learn of this claim as of any other.
      this.#handing.set(text, { key, claimed: true });
      await this.#log.append(keyRecord(Kind.claimed, key, self.number), false);
      if (state.ids.has(key)) return;
      if (!this.#log.shared || state.claims.get(text) === self.number) return;
      this.#handing.delete(text);
      await this.#settled(text, deadline);
      if (state.ids.has(key)) return;
    }
  }

  /** Waits until nobody has a claim on the event any more. */
  async #settled(text: string, deadline: number): Promise<void> {
    const { clock, signal } = this.#context;
    while (this.#log.state.claims.has(text)) {
      if (clock.now() > deadline) {
        throw new JournalError('another process has been handing this event over for a minute', {
          isFatal: false,
        });
      }
      await clock.sleep(ASK_AGAIN, signal);
      this.#log.look();
      await this.#log.lookAtOthers();
    }
  }

  /** A claim that cannot be released (a full disk) stays until this process ends. */
  #release(key: EventKey): void {
    this.#log.append(keyRecord(Kind.released, key, this.#log.self.number), false).catch(() => undefined);
  }

  /** The claims of this process as records. Nobody else has any when the first other process joins. */
  #publish(firstOther: boolean): Buffer[] {
    const { state, self } = this.#log;
    if (firstOther) state.claims.clear();
    return [...this.#handing].map(([text, handing]) => {
      handing.claimed = true;
      if (firstOther) state.claims.set(text, self.number);
      return keyRecord(Kind.claimed, handing.key, self.number);
    });
  }
}
