import type { Context } from '../context.ts';
import { UsageError } from '../errors.ts';
import { LockedError } from '../lock/lock.ts';
import type { EventKey } from './event-key.ts';
import type { ForwardRetry } from './forward.ts';
import { createHandler, type Handler, type HandlerAnswer, type OutgoingEvent } from './forward.ts';
import { type Journal, type Outcome, openJournal } from './journal.ts';
import { JournalError, realJournalPath } from './journal-file.ts';
import {
  findListener,
  forwardToListener,
  isJournalWanted,
  type ListenerAddress,
} from './listener-address.ts';

export interface DestinationOptions {
  /** The journal's file. */
  readonly journal: string;
  readonly forwardTo: URL;
  readonly forwardTimeout: number;
  readonly retry: ForwardRetry;
}

export interface Forwarded {
  readonly outcome: Outcome;
  /** The reason why the handler did not accept the event. */
  readonly reason?: string | undefined;
}

type Way = { readonly journal: Journal } | { readonly client: Handler; readonly listener: ListenerAddress };

const PATIENCE = 60_000;
const ASK_AGAIN = 200;
const LOOK_INTERVAL = 1_000;
/** Milliseconds that a waiting listener gets to open the journal. */
const YIELD = 5_000;
const NO_EVENT: OutgoingEvent = { body: Buffer.alloc(0) };

/**
 * Forwards events that must reach the handler once. While a listener has the journal, it gets the events and treats
 * them as deliveries; otherwise they go through the journal to the handler. When the listener ends, this process opens
 * the journal and forwards the rest.
 */
export class Destination {
  readonly #options: DestinationOptions;
  readonly #context: Context;
  readonly #handler: Handler;
  #way: Promise<Way> | undefined;
  #lookAgain = 0;

  constructor(options: DestinationOptions, context: Context) {
    this.#options = options;
    this.#handler = createHandler(options.forwardTo, options.forwardTimeout, context);
    this.#context = context;
  }

  /** Forwards an event unless that was done before. Rejects if the journal cannot be opened or used. */
  async forward(key: EventKey, event: OutgoingEvent): Promise<Forwarded> {
    for (;;) {
      this.#way ??= this.#find();
      const current = this.#way;
      const way = await current;
      // Another delivery may have changed the destination meanwhile.
      if (this.#way !== current) continue;
      if ('journal' in way && this.#isWanted(way.journal)) {
        this.#way = this.#yield(way.journal);
        continue;
      }
      const result =
        'journal' in way
          ? await this.#throughJournal(way.journal, key, event)
          : await this.#throughListener(way, event);
      if (result) return result;
      if (this.#way === current) this.#way = undefined;
    }
  }

  /** Ends every attempt in progress. */
  async abandon(): Promise<void> {
    await this.#handler.close();
    const way = await this.#way?.catch(() => undefined);
    if (way && 'client' in way) await way.client.close();
  }

  async close(): Promise<void> {
    await this.abandon();
    const way = await this.#way?.catch(() => undefined);
    if (way && 'journal' in way) await way.journal.close();
  }

  /** Returns whether a listener is waiting for the journal. Checks the disk once per second. */
  #isWanted({ path }: Journal): boolean {
    const now = this.#context.clock.now();
    if (now < this.#lookAgain) return false;
    this.#lookAgain = now + LOOK_INTERVAL;
    return isJournalWanted(path);
  }

  /**
   * Gives the journal up to the listener that waits for it, then finds that listener, or opens the journal again if the
   * listener is gone.
   */
  async #yield(journal: Journal): Promise<Way> {
    const { clock, signal } = this.#context;
    await journal.close();
    const deadline = clock.now() + YIELD;
    while (isJournalWanted(journal.path)) {
      if (clock.now() >= deadline) {
        // A listener that was killed while it waited left the request behind.
        this.#lookAgain = Number.POSITIVE_INFINITY;
        break;
      }
      await clock.sleep(ASK_AGAIN, signal);
    }
    return await this.#find();
  }

  async #throughJournal(journal: Journal, key: EventKey, event: OutgoingEvent): Promise<Forwarded> {
    let reason: string | undefined;
    const outcome = await journal.once(key, async () => {
      reason = await this.#options.retry.forward(() => this.#handler.forward(event));
      return reason === undefined;
    });
    return { outcome, reason };
  }

  /** Resolves to undefined if the listener is no longer there. */
  async #throughListener(
    { client, listener }: Extract<Way, { client: Handler }>,
    event: OutgoingEvent,
  ): Promise<Forwarded | undefined> {
    let outcome: Outcome | undefined;
    const reason = await this.#options.retry.forward(async (): Promise<HandlerAnswer> => {
      const answer = await forwardToListener(client, listener, event);
      outcome = answer?.outcome === 'ready' ? undefined : answer?.outcome;
      return outcome === 'refused' ? (answer?.answer ?? REFUSED) : { status: 200 };
    });
    if (outcome) return { outcome, reason };
    await client.close();
    return undefined;
  }

  /**
   * Opens the journal, or finds the listener that has it. Throws `JournalError` if neither succeeds within a minute.
   */
  async #find(): Promise<Way> {
    const { journal: file } = this.#options;
    const { clock, machine, signal } = this.#context;
    const deadline = clock.now() + PATIENCE;
    for (;;) {
      let holder: string | undefined;
      try {
        return { journal: await openJournal(file, { patience: 0 }, this.#context) };
      } catch (error) {
        if (!(error instanceof LockedError)) throw error;
        holder = error.holder;
      }
      const listener = findListener(realJournalPath(file), machine);
      const way = listener && (await this.#reach(listener));
      if (way) return way;
      if (clock.now() >= deadline) {
        const name = holder === undefined ? '' : ` (${holder})`;
        throw new JournalError(`another hooktrail process${name} has the journal ${file}`, {
          next: 'run the command again when that process has ended',
        });
      }
      await clock.sleep(ASK_AGAIN, signal);
    }
  }

  async #reach(listener: ListenerAddress): Promise<Way | undefined> {
    const { forwardTo, forwardTimeout, journal } = this.#options;
    // The empty environment keeps proxies out: both processes run on this machine.
    const client = createHandler(new URL(listener.url), forwardTimeout, { environment: {} });
    if (!(await forwardToListener(client, listener, NO_EVENT))) {
      await client.close();
      return undefined;
    }
    if (listener.forwardTo === forwardTo.href) return { client, listener };
    await client.close();
    const goesTo =
      listener.forwardTo === null ? 'forwards to no handler' : `forwards to ${listener.forwardTo}`;
    throw new UsageError(
      `--forward-to: a running \`webhooks listen\` has the journal ${journal} and ${goesTo}, not to ${forwardTo.href}`,
      { next: 'name the same handler, stop the listener, or choose another journal' },
    );
  }
}

/** The answer for an event that the listener could not journal. */
const REFUSED: HandlerAnswer = { failure: 'the listener could not accept the event' };
